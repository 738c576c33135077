profile "function-call" {
  extension = "ext.bwrap"
  config {
    token = file("/etc/shadow")
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
