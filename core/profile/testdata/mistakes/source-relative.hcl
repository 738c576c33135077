profile "source-relative" {
  extension = "ext.bwrap"
  workspace {
    source = "src"
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
