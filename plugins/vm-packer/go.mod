module github.com/tegwick/sand-boxer/plugins/vm-packer

go 1.26.0
