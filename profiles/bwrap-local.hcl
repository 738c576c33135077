# A sandbox on this machine: a copy of a repository in a bubblewrap namespace,
# without network. What a command changes is changed in the copy; the repository
# itself is never mounted.
#
#   sandboxer run --profile bwrap-local --input repo=. -- make test
#
# To make a profile of your own, copy this file to NAME.hcl, write the same NAME
# below, and change what you need.
profile "bwrap-local" {
  description = "A copy of a repository in a bubblewrap namespace on this machine, without network."

  # What provides the sandbox, and which versions of it this profile was written
  # for: "~> 0.1" is any version from 0.1 up to, but not including, 1.0.
  extension         = "ext.bwrap"
  extension_version = "~> 0.1"

  # What whoever creates a sandbox gives: --input repo=PATH. An input with a
  # default may be left out.
  #
  # The types are directory, string, number and bool.
  input "repo" {
    type        = directory
    description = "The directory to copy into the workspace."
  }

  # What is copied to /workspace. Without this block the workspace is empty.
  workspace {
    source = input.repo

    # Patterns of what is left out of the copy, as "node_modules".
    exclude = []
  }

  # No packet leaves the sandbox. "enforce" refuses to create one where the
  # machine cannot make sure of that; "best-effort" goes on, and says so in every
  # result.
  network {
    posture = "deny"
    mode    = "enforce"
  }

  # How long a sandbox lives when the request does not say, and how long it can
  # live at most, renewals included. Durations are written as "90s", "30m", "1h"
  # or "2d".
  ttl {
    default = "1h"
    max     = "24h"
  }

  # The longest timeout that a single command may ask for.
  exec {
    timeout_max = "4h"
  }
}
