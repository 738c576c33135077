profile "duplicate-input" {
  extension = "ext.bwrap"
  input "repo" {
    type = directory
  }
  input "repo" {
    type = directory
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
