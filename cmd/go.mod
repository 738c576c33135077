module github.com/tegwick/sand-boxer/cmd

go 1.26.0

require (
	github.com/tegwick/sand-boxer/core v0.0.0
	github.com/tegwick/sand-boxer/sdk v0.0.0
)

require (
	github.com/fatih/color v1.13.0 // indirect
	github.com/hashicorp/go-hclog v1.6.3 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/mattn/go-colorable v0.1.12 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	github.com/spf13/cobra v1.10.2 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
	golang.org/x/sys v0.50.0 // indirect
)

replace github.com/tegwick/sand-boxer/core => ../core

replace github.com/tegwick/sand-boxer/sdk => ../sdk
