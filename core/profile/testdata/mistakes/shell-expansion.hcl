profile "shell-expansion" {
  extension = "ext.bwrap"
  config {
    cache = "${HOME:-/root}/.cache"
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
