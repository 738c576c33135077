module github.com/tegwick/sand-boxer/plugins/bwrap

go 1.26.0

require github.com/tegwick/sand-boxer/sdk v0.0.0

require (
	github.com/google/go-cmp v0.7.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
)

replace github.com/tegwick/sand-boxer/sdk => ../../sdk
