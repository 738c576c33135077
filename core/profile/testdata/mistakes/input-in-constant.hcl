profile "input-in-constant" {
  extension = "ext.bwrap"
  input "repo" {
    type = directory
  }
  ttl {
    default = input.repo
    max     = "24h"
  }
}
