profile "bad-constraint" {
  extension = "ext.bwrap"
  extension_version = "about 1"
  ttl {
    default = "1h"
    max     = "24h"
  }
}
