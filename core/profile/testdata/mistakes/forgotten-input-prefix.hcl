profile "forgotten-input-prefix" {
  extension = "ext.bwrap"
  input "repo" {
    type = directory
  }
  workspace {
    source = repo
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
