profile "escape-sequence" {
  extension = "ext.bwrap"
  network {
    mode = "[2J‮enforce"
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
