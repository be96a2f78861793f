package siding

// The headers by which a message carries settings of its own for its request: the longest answer in tokens, the model,
// and an instruction that is added to the prompt. A producer may set them, and so does the repair request. Handlers that
// ask a model heed them; others do not.
const (
	HeaderMaxTokens   = "siding-max-tokens"
	HeaderModel       = "siding-model"
	HeaderInstruction = "siding-instruction"
)
