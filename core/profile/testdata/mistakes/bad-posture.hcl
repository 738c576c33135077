profile "bad-posture" {
  extension = "ext.bwrap"
  network {
    posture = "allow"
    mode    = "strict"
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
