profile "subtraction" {
  extension = "ext.bwrap"
  config {
    fine  = -1
    wrong = 3 - 1
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
