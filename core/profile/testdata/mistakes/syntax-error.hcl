profile "syntax-error" {
  extension = "ext.bwrap"
  description = "unfinished
  ttl {
    default = "1h"
    max     = "24h"
  }
}
