profile "template-directive" {
  extension = "ext.bwrap"
  config {
    motd = "%{ if true }x%{ endif }"
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
