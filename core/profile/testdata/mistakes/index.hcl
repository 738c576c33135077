profile "index" {
  extension = "ext.bwrap"
  input "repo" {
    type = directory
  }
  config {
    path = input["repo"]
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
