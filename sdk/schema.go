package sdk

// Schema describes the config block of a profile. The zero Schema allows an
// empty block only.
type Schema struct {
	Attributes []Attribute
	Blocks     []NestedBlock
}

// Attribute is one argument of a block.
type Attribute struct {
	Name string
	// Type is an HCL type expression, as "string" or "list(string)".
	Type        string
	Required    bool
	Description string
	// Default is the JSON of the value used when the attribute is absent;
	// empty for null. Ignored when Required.
	Default []byte
	// OneOf lists the allowed values of a string; empty allows any.
	OneOf []string
}

// NestedBlock is a block in a block.
type NestedBlock struct {
	Type        string
	Description string
	// Repeated blocks decode to a JSON array, others to an object or null.
	Repeated bool
	Required bool
	Schema   Schema
}

// Severity of a Diagnostic.
type Severity int

// The severities. The zero value is an error, so that a forgotten field fails
// closed.
const (
	SeverityError Severity = iota
	SeverityWarning
)

// Diagnostic is a complaint about a config.
type Diagnostic struct {
	Severity Severity
	// Summary is one short sentence; Detail says what to write instead.
	Summary string
	Detail  string
	// Path leads to the value at fault: attribute and block names, and
	// decimal indexes of repeated blocks. Empty: the whole block.
	Path []string
}
