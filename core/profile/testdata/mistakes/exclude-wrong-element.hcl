profile "exclude-wrong-element" {
  extension = "ext.bwrap"
  input "repo" {
    type = directory
  }
  workspace {
    source  = input.repo
    exclude = ["", input.repo]
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
