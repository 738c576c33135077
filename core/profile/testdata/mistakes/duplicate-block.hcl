profile "duplicate-block" {
  extension = "ext.bwrap"
  ttl {
    default = "1h"
    max     = "24h"
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
