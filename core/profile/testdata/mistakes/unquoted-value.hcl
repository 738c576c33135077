profile "unquoted-value" {
  extension = "ext.bwrap"
  network {
    mode = enforce
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
