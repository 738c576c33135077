profile "bad-input" {
  extension = "ext.bwrap"
  input "Repo" {
    type = directory
  }
  input "path" {
    type = "directory"
  }
  input "name" {
    type = strng
  }
  input "count" {
    type    = number
    default = "three"
  }
  input "bare" {
    default = "x"
  }
  ttl {
    default = "1h"
    max     = "24h"
  }
}
