profile "attribute-for-block" {
  extension = "ext.bwrap"
  network = "deny"
  ttl {
    default = "1h"
    max     = "24h"
  }
}
