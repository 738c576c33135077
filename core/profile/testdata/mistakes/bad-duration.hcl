profile "bad-duration" {
  extension = "ext.bwrap"
  ttl {
    default = "1 hour"
    max     = 3600
  }
}
