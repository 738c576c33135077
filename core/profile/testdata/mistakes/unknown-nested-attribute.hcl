profile "unknown-nested-attribute" {
  extension = "ext.bwrap"
  ttl {
    default = "1h"
    maximum = "24h"
  }
}
