profile "undeclared-input" {
  extension = "ext.bwrap"
  workspace {
    source = input.repo
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
