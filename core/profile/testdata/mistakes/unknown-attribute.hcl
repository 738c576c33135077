profile "unknown-attribute" {
  extension = "ext.bwrap"
  descripton = "typo"
  ttl {
    default = "1h"
    max     = "24h"
  }
}
