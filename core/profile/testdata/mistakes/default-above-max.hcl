profile "default-above-max" {
  extension = "ext.bwrap"
  ttl {
    default = "2d"
    max     = "24h"
  }
}
