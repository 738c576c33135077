profile "tabs-and-wide-text" {
	extension = "ext.bwrap"
	description = "日本" /* 説明 */ extra = 1
  ttl {
    default = "1h"
    max     = "24h"
  }
}
