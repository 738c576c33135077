profile "shell-variable" {
  extension = "ext.bwrap"
  config {
    cache = "${HOME}/.cache"
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
