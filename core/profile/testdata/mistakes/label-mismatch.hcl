profile "other" {
  extension = "ext.bwrap"
  ttl {
    default = "1h"
    max     = "24h"
  }
}
