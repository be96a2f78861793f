package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/siding-dev/siding"
)

const jsonType = "application/json"

// check looks at a message before anything is done with it. asJSON: it is a JSON record, whatever it says that it is.
// s is what a JSON record must fit, or nil.
func check(m siding.Message, asJSON bool, s *schema) *siding.Failure {
	contentType := m.ContentType
	if contentType == "" || asJSON {
		contentType = jsonType
	}
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil || strings.ContainsFunc(contentType, func(r rune) bool { return r < ' ' || r > '~' }) {
		return recordFault(siding.CauseInvalidRequest, nil, "the message's content type %q is none", cut(contentType, 64))
	}
	if kind == jsonType || strings.HasSuffix(kind, "+json") {
		return checkJSON(m.Body, s)
	}
	return nil
}

func checkJSON(body []byte, s *schema) *siding.Failure {
	if at := invalidUTF8(body); at >= 0 {
		return recordFault(siding.CauseInvalidUTF8, &at, "the record is not valid UTF-8: byte 0x%02x at offset %d", body[at], at)
	}
	var whole json.RawMessage
	if err := json.Unmarshal(body, &whole); err != nil {
		at := int64(len(body))
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) && syntax.Error() != "unexpected end of JSON input" {
			at = max(syntax.Offset-1, 0) // the decoder counts the byte at fault too
		}
		return recordFault(siding.CauseInvalidJSON, &at, "the record is not valid JSON: %v, at offset %d", err, at)
	}
	if s != nil {
		if err := s.fits(body); err != nil {
			return recordFault(siding.CauseSchemaViolation, nil, "the record does not fit the schema: %v", err)
		}
	}
	return nil
}

// recordFault is a permanent failure found in the record, without a call.
func recordFault(cause siding.Cause, at *int64, format string, args ...any) *siding.Failure {
	return &siding.Failure{Outcome: siding.OutcomePermanent, Cause: cause, FaultOffset: at, NoCall: true, Err: fmt.Errorf(format, args...)}
}

// invalidUTF8 gives the offset of the first byte that is not part of valid UTF-8, or -1.
func invalidUTF8(b []byte) int64 {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return int64(i)
		}
		i += n
	}
	return -1
}
