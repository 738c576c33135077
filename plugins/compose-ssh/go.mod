module github.com/tegwick/sand-boxer/plugins/compose-ssh

go 1.26.0
