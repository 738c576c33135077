package apitype

// ExecRequest asks for one argument vector to be run.
type ExecRequest struct {
	Command  List[string] `json:"command" is:"an argument vector" hint:"give each argument its own element, as [\"python3\", \"-V\"]"`
	Consumer Consumer     `json:"consumer"`
	// CredentialRouteRefs are catalog identifiers, never values.
	CredentialRouteRefs List[string] `json:"credential_route_refs" is:"catalog identifiers"`
	// StdinText is null for /dev/null.
	StdinText *string `json:"stdin_text"`
	// TimeoutSeconds and MaxOutputBytes are absent for the defaults.
	TimeoutSeconds *int64 `json:"timeout_seconds,omitempty"`
	MaxOutputBytes *int64 `json:"max_output_bytes,omitempty"`
}

// Encodings of the streams of a result.
const (
	EncodingUTF8   = "utf-8"
	EncodingBase64 = "base64"
)

// ExecResult is how a command ended.
type ExecResult struct {
	ExecID    string   `json:"exec_id"`
	SandboxID string   `json:"sandbox_id"`
	Consumer  Consumer `json:"consumer"`
	Profile   string   `json:"profile"`
	Extension string   `json:"extension"`
	// CommandName is argv[0] alone.
	CommandName string `json:"command_name"`
	Outcome     string `json:"outcome"`
	// ExitCode is null unless Outcome is "exited", Signal unless "signaled".
	ExitCode   *int    `json:"exit_code"`
	Signal     *string `json:"signal"`
	TimedOut   bool    `json:"timed_out"`
	StartedAt  Time    `json:"started_at"`
	DurationMS int64   `json:"duration_ms"`
	Stdout     string  `json:"stdout"`
	Stderr     string  `json:"stderr"`
	// StdoutBytes and StderrBytes count what was produced, not kept.
	StdoutBytes     int64 `json:"stdout_bytes"`
	StderrBytes     int64 `json:"stderr_bytes"`
	StdoutTruncated bool  `json:"stdout_truncated"`
	StderrTruncated bool  `json:"stderr_truncated"`
	// Encoding tells how both streams are written.
	Encoding        string  `json:"encoding"`
	SurvivorsKilled int     `json:"survivors_killed"`
	Workspace       string  `json:"workspace"`
	Network         Network `json:"network"`
	// Failure says why the command did not start; absent otherwise.
	Failure *Failure `json:"failure,omitempty"`
}
