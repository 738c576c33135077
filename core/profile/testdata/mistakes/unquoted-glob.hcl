profile "unquoted-glob" {
  extension = "ext.bwrap"
  input "repo" {
    type = directory
  }
  workspace {
    source  = input.repo
    exclude = [*.log]
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
