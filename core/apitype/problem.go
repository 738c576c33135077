package apitype

// ProblemContentType is the media type of a [Problem].
const ProblemContentType = "application/problem+json"

// Problem is a refusal or a failure, in the form of RFC 9457. It is an error.
type Problem struct {
	// Type is a URI that names the kind of problem; Title says it in words.
	Type  string `json:"type"`
	Title string `json:"title"`
	// Status is the HTTP status.
	Status int `json:"status"`
	// Detail is one sentence for a person.
	Detail string `json:"detail"`
	// Code is stable: what a program decides by.
	Code string `json:"code"`
	// Hint says what to type or change.
	Hint string `json:"hint,omitempty"`
	// Pointer is the JSON pointer (RFC 6901) of the field at fault.
	Pointer string `json:"pointer,omitempty"`
	// RequestID finds the request in the log of the service.
	RequestID string `json:"request_id,omitempty"`
}

func (p *Problem) Error() string { return p.Detail }
