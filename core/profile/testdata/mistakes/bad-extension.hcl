profile "bad-extension" {
  extension = "profile.bwrap"
  ttl {
    default = "1h"
    max     = "24h"
  }
}
