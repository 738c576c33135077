profile "wrong-type" {
  extension   = ["ext.bwrap"]
  description = 5
  ttl {
    default = "1h"
    max     = "24h"
  }
}
