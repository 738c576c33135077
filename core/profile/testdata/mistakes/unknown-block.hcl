profile "unknown-block" {
  extension = "ext.bwrap"
  netwrok {
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
