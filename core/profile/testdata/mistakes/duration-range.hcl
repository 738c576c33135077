profile "duration-range" {
  extension = "ext.bwrap"
  ttl {
    default = "500ms"
    max     = "31d"
  }
  exec {
    timeout_max = "-1h"
  }
}
