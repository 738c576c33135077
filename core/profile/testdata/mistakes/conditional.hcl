profile "conditional" {
  extension = "ext.bwrap"
  input "debug" {
    type    = bool
    default = false
  }
  config {
    level = input.debug ? "debug" : "info"
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
