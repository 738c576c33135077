profile "two-on-a-line" {
  extension = "ext.bwrap"
  network { posture = "deny"  mode = "enforce" }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
