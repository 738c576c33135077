package apitype

// ProfileList answers a list of profiles.
type ProfileList struct {
	Profiles List[ProfileInfo] `json:"profiles"`
}

// ProfileInfo describes a profile. Of one that is not valid only Profile and
// Failure are told.
type ProfileInfo struct {
	Profile       string `json:"profile"`
	Description   string `json:"description,omitempty"`
	ProfileDigest string `json:"profile_digest,omitempty"`
	Extension     string `json:"extension,omitempty"`
	// ExtensionVersion constrains the version, as "~> 0.1"; absent where any
	// will do.
	ExtensionVersion   string          `json:"extension_version,omitempty"`
	Inputs             List[InputInfo] `json:"inputs"`
	TTLDefaultSeconds  int64           `json:"ttl_default_seconds,omitempty"`
	TTLMaxSeconds      int64           `json:"ttl_max_seconds,omitempty"`
	ExecTimeoutSeconds int64           `json:"exec_timeout_max_seconds,omitempty"`
	Network            *Network        `json:"network,omitempty"`
	Failure            *Failure        `json:"failure,omitempty"`
}

// InputInfo describes an input of a profile.
type InputInfo struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required"`
	// Default is absent where the input is required.
	Default *string `json:"default,omitempty"`
}

// ExtensionList answers a list of extensions.
type ExtensionList struct {
	Extensions List[ExtensionInfo] `json:"extensions"`
}

// ExtensionInfo describes an extension. Of one that does not start only
// Extension and Failure are told, and Digest where its file could be read.
type ExtensionInfo struct {
	Extension        string       `json:"extension"`
	ExtensionVersion string       `json:"extension_version,omitempty"`
	Digest           string       `json:"digest,omitempty"`
	Capabilities     List[string] `json:"capabilities"`
	Failure          *Failure     `json:"failure,omitempty"`
}
