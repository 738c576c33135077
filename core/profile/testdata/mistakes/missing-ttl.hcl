profile "missing-ttl" {
  extension = "ext.bwrap"
}
