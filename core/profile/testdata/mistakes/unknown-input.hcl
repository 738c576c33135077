profile "unknown-input" {
  extension = "ext.bwrap"
  input "repo" {
    type = directory
  }
  workspace {
    source = input.rep
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
