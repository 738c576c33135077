profile "number-out-of-range" {
  extension = "ext.bwrap"
  config {
    size = 1e600000000
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
