package apitype

// FieldError is what is wrong with the form of a request.
type FieldError struct {
	// Pointer is the JSON pointer (RFC 6901) of the field; empty is the
	// whole request.
	Pointer string
	// Message goes on after the pointer, as "must be a string". It never
	// holds the value, which may be a secret in the wrong place.
	Message string
	// Hint says what to write instead; often empty.
	Hint string
}

func (e *FieldError) Error() string {
	if e.Pointer == "" {
		return "the request " + e.Message
	}
	return e.Pointer + " " + e.Message
}
