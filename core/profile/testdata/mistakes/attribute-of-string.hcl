profile "attribute-of-string" {
  extension = "ext.bwrap"
  input "repo" {
    type = directory
  }
  config {
    path = input.repo.name
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
