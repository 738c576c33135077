profile "shell-variable-constant" {
  extension = "ext.bwrap"
  description = "for ${USER}"
  ttl {
    default = "1h"
    max     = "24h"
  }
}
