profile "for-expression" {
  extension = "ext.bwrap"
  config {
    words = [for w in ["a"] : w]
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
