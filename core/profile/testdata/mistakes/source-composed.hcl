profile "source-composed" {
  extension = "ext.bwrap"
  input "repo" {
    type = directory
  }
  workspace {
    source = "${input.repo}/src"
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
