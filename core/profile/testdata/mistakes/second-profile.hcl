profile "second-profile" {
  extension = "ext.bwrap"
  ttl {
    default = "1h"
    max     = "24h"
  }
}

profile "another" {
  extension = "ext.bwrap"
  ttl {
    default = "1h"
    max     = "24h"
  }
}
