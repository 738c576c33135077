profile "missing-extension" {
  ttl {
    default = "1h"
    max     = "24h"
  }
}
