package quarantine

import "github.com/siding-dev/siding"

// Subject is what is looked into: a dead letter with what was recorded of it.
type Subject struct {
	Message siding.Message // with its body
	Calls   []siding.Call  // oldest first; may be empty
	// Answer is the raw answer of the latest call that has one, where it was not accepted; nil: none.
	Answer []byte
}

// Facts are what a recipe knows of its records. The zero value knows nothing: then only what holds for every body is
// looked at.
type Facts struct {
	// InputSchema and OutputSchema are JSON Schemas; nil: none.
	InputSchema, OutputSchema []byte
	// Model is the model's name, and ContextTokens its context window, MaxInputTokens the recipe's own limit, MaxOutput
	// the model's longest answer, MaxTokens the recipe's, all in tokens; 0: not known.
	Model                                               string
	ContextTokens, MaxInputTokens, MaxOutput, MaxTokens int64
	// Tokens estimates the tokens of a text: likely as many, and never more than most; nil: not known.
	Tokens func(text string) (likely, most int64)
	// Images are the JSON Pointers of the fields that name image files, and ImageRoot the folder of these.
	Images    []string
	ImageRoot string
	// Check says what would be found wrong with a message before a call is made for it; nil: well-formed JSON is
	// enough for a message whose content type is JSON.
	Check func(m siding.Message) *siding.Failure
	// Settings tells whether the recipe heeds request settings (see [Request]): only one that asks a model does.
	Settings bool
}

// Finding is one thing that is wrong, or worth knowing, with a dead letter.
type Finding struct {
	// Check is the name of the check that found it, Code what it found: short and stable, for instance invalid-utf8 or
	// trailing-comma.
	Check string `json:"check"`
	Code  string `json:"code"`
	// Text says it in words, scrubbed: what is wrong, and with which value.
	Text string `json:"text"`
	// Pointer is the JSON Pointer of the field concerned; nil: not of one field, or the body cannot be taken apart. The empty
	// pointer is the whole body.
	Pointer *string `json:"pointer"`
	// Offset is the place in the body in bytes, from 0; Line and Column the same place, from 1, the column in bytes. nil and
	// 0: no place.
	Offset *int64 `json:"offset"`
	Line   int64  `json:"line,omitempty"`
	Column int64  `json:"column,omitempty"`
	// Fault is false for what is only worth knowing, such as the largest field of a body that is not too large.
	Fault bool `json:"fault"`
	// Repairs fit: each as --repair takes it.
	Repairs []string `json:"repairs"`
}
