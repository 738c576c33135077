profile "duplicate-attribute" {
  extension = "ext.bwrap"
  extension = "ext.compose-ssh"
  ttl {
    default = "1h"
    max     = "24h"
  }
}
