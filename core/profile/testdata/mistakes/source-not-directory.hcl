profile "source-not-directory" {
  extension = "ext.bwrap"
  input "repo" {
    type = string
  }
  workspace {
    source = input.repo
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
