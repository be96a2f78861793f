package claudesim

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"strings"
)

// An ordered is a JSON object that keeps the order of its members, so that a generated answer has the properties in
// the order of its schema, as the service's answers have.
type ordered struct {
	keys   []string
	values map[string]any
}

func newOrdered() *ordered { return &ordered{values: map[string]any{}} }

func (o *ordered) has(key string) bool { _, ok := o.values[key]; return ok }
func (o *ordered) get(key string) any  { return o.values[key] }

func (o *ordered) set(key string, value any) {
	if !o.has(key) {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

// MarshalJSON writes the members in order.
func (o *ordered) MarshalJSON() ([]byte, error) {
	var buf bytes.Buffer
	buf.WriteByte('{')
	for i, key := range o.keys {
		if i > 0 {
			buf.WriteByte(',')
		}
		buf.Write(encode(key))
		buf.WriteByte(':')
		buf.Write(encode(o.values[key]))
	}
	buf.WriteByte('}')
	return buf.Bytes(), nil
}

// parseOrdered reads JSON into nil, bool, json.Number, string, []any and *ordered; nil also for what is no JSON.
// The depth of what comes in has been bounded by checkJSON.
func parseOrdered(raw []byte) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	v, err := readOrdered(dec)
	if err != nil {
		return nil
	}
	return v
}

func readOrdered(dec *json.Decoder) (any, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('{'):
		o := newOrdered()
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			value, err := readOrdered(dec)
			if err != nil {
				return nil, err
			}
			o.set(key.(string), value) //nolint:forcetypeassert // the decoder lets nothing but a string stand here
		}
		_, err = dec.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			value, err := readOrdered(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = dec.Token()
		return list, err
	}
	return tok, nil
}

// resolve follows a reference inside a schema: "#", or a JSON Pointer after "#".
func resolve(root *ordered, ref string) (any, bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	var at any = root
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		o, ok := at.(*ordered)
		if !ok || !o.has(step) {
			return nil, false
		}
		at = o.get(step)
	}
	return at, true
}

// typesOf lists the types that a schema names; empty when it names none.
func typesOf(schema *ordered) []string {
	switch t := schema.get("type").(type) {
	case string:
		return []string{t}
	case []any:
		var list []string
		for _, v := range t {
			if s, ok := v.(string); ok {
				list = append(list, s)
			}
		}
		return list
	}
	return nil
}

func number(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

func checksum(data []byte) uint32 { return crc32.ChecksumIEEE(data) }
