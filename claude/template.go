package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode/utf8"

	"github.com/siding-dev/siding"
)

// The functions that the parsed template is rewritten to call. Go's own rule for a missing field ("<no value>", or an
// error also where the template asks whether it is there) is not what a prompt needs.
const (
	funcField = "_field" // _field VALUE NAME…: the field, nil when it is missing or null
	funcNeed  = "_need"  // _need TEXT VALUE: the value; an error naming TEXT when it is nil
	funcPrint = "_print" // _print TEXT VALUE: the same, and an error when it is an object or a list
)

// lenient are the functions that take a missing field as an argument.
var lenient = map[string]bool{"opt": true, "and": true, "or": true, "not": true, funcField: true, funcNeed: true, funcPrint: true}

// checkBefore gives the check that a function's arguments go through, or "" for none: what makes text of them needs what
// can be printed.
func checkBefore(cmd *parse.CommandNode) string {
	id, ok := cmd.Args[0].(*parse.IdentifierNode)
	switch {
	case ok && lenient[id.Ident]:
		return ""
	case ok && formatting[id.Ident]:
		return funcPrint
	}
	return funcNeed
}

var formatting = map[string]bool{"print": true, "printf": true, "println": true, "html": true, "js": true, "urlquery": true}

// missingError is the template's complaint about the record; its text says which field.
type missingError struct{ text string }

func (e *missingError) Error() string { return e.text }

var errTooLong = errors.New("the rendered prompt is too long")

// compilePrompt parses a prompt template. The error has the line.
func compilePrompt(text string) (*template.Template, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("it is empty")
	}
	if !utf8.ValidString(text) {
		return nil, errors.New("it is not valid UTF-8")
	}
	t, err := template.New("prompt").Funcs(template.FuncMap{
		"opt": opt, "json": asJSON, funcField: field, funcNeed: need, funcPrint: printed,
	}).Parse(text)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "template: "))
	}
	for _, each := range t.Templates() {
		if each.Tree != nil && each.Root != nil {
			rewriteList(each.Root)
		}
	}
	return t, nil
}

// render fills the template with a record. The text may have at most so many bytes.
func render(t *template.Template, record any, most int) (string, *siding.Failure) {
	out := limitedBuffer{most: most}
	err := t.Execute(&out, record)
	var missing *missingError
	switch {
	case errors.Is(err, errTooLong):
		return "", bodyFault(siding.CauseInputTooLarge, "the rendered prompt is longer than the %d bytes that a request may have", most)
	case errors.As(err, &missing):
		return "", bodyFault(siding.CauseTemplate, "the prompt cannot be made: %s", missing.text)
	case err != nil:
		return "", bodyFault(siding.CauseTemplate, "the prompt cannot be made: %s", cut(execError(err), 1024))
	}
	text := out.String()
	if !utf8.ValidString(text) {
		return "", bodyFault(siding.CauseTemplate, "the prompt cannot be made: the template cuts a character in two")
	}
	return text, nil
}

// execError gives the place and the complaint of the template package, without the rewritten expression between them.
func execError(err error) string {
	text := strings.TrimPrefix(err.Error(), "template: ")
	place, _, ok := strings.Cut(text, ": executing ")
	end := strings.LastIndex(text, ">: ")
	if !ok || end < 0 {
		return text
	}
	return place + ": " + text[end+len(">: "):]
}

// limitedBuffer refuses to grow beyond what a request may have.
type limitedBuffer struct {
	bytes.Buffer
	most int
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}

func opt(v any) any {
	if v == nil {
		return ""
	}
	return v
}

func asJSON(v any) (string, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(buf.String(), "\n"), nil
}

func field(v any, names ...string) (any, error) {
	for i, name := range names {
		if v == nil {
			return nil, nil //nolint:nilnil // nil is the value of a field that is not there
		}
		object, ok := v.(map[string]any)
		if !ok {
			return nil, &missingError{fmt.Sprintf("%s is asked for its field %s, and it is %s", cut(place(names[:i]), shown), cut(name, shown), kindOf(v))}
		}
		v = object[name]
	}
	return v, nil
}

func place(names []string) string {
	if len(names) == 0 {
		return "the value"
	}
	return "." + strings.Join(names, ".")
}

func need(text string, v any) (any, error) {
	if v == nil {
		return nil, &missingError{fmt.Sprintf("%s is missing or null in the record; use {{opt %s}} if it may be", text, text)}
	}
	return v, nil
}

func printed(text string, v any) (any, error) {
	switch v.(type) {
	case map[string]any, []any:
		return nil, &missingError{fmt.Sprintf("%s is %s; use {{json %s}} to print it", text, kindOf(v), text)}
	}
	return need(text, v)
}

func kindOf(v any) string {
	switch v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a text"
	case json.Number:
		return "a number"
	case bool:
		return "true or false"
	}
	return fmt.Sprintf("a %T", v)
}

func rewriteList(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			text := n.Pipe.String()
			rewritePipe(n.Pipe)
			if len(n.Pipe.Decl) == 0 {
				n.Pipe.Cmds = append(n.Pipe.Cmds, call(n.Pos, funcPrint, literal(n.Pos, text)))
			}
		case *parse.IfNode:
			rewriteBranch(&n.BranchNode)
		case *parse.WithNode:
			rewriteBranch(&n.BranchNode)
		case *parse.RangeNode:
			rewriteBranch(&n.BranchNode)
		case *parse.TemplateNode:
			if n.Pipe != nil {
				rewritePipe(n.Pipe)
			}
		}
	}
}

func rewriteBranch(n *parse.BranchNode) {
	rewritePipe(n.Pipe)
	rewriteList(n.List)
	rewriteList(n.ElseList)
}

// rewritePipe puts a lookup in the place of every field, and a check before every function that needs a value.
func rewritePipe(p *parse.PipeNode) {
	var cmds []*parse.CommandNode
	for i, cmd := range p.Cmds {
		text := cmd.String()
		check := checkBefore(cmd)
		for j, arg := range cmd.Args {
			name := arg.String()
			value, changed := rewriteValue(arg)
			if !changed {
				continue
			}
			if check != "" && j > 0 {
				value = nested(arg.Position(), call(arg.Position(), check, literal(arg.Position(), name), value))
			}
			cmd.Args[j] = value
		}
		cmds = append(cmds, cmd)
		if i+1 < len(p.Cmds) {
			if check := checkBefore(p.Cmds[i+1]); check != "" {
				cmds = append(cmds, call(cmd.Pos, check, literal(cmd.Pos, text)))
			}
		}
	}
	p.Cmds = cmds
}

// rewriteValue gives the node that looks a value up. false: the node is a literal or a function.
func rewriteValue(n parse.Node) (parse.Node, bool) {
	pos := n.Position()
	switch n := n.(type) {
	case *parse.DotNode:
		return n, true
	case *parse.VariableNode:
		root := &parse.VariableNode{NodeType: parse.NodeVariable, Pos: pos, Ident: n.Ident[:1]}
		return fieldOf(root, n.Ident[1:]), true
	case *parse.FieldNode:
		return fieldOf(&parse.DotNode{NodeType: parse.NodeDot, Pos: pos}, n.Ident), true
	case *parse.ChainNode:
		inner, _ := rewriteValue(n.Node)
		return fieldOf(inner, n.Field), true
	case *parse.PipeNode:
		rewritePipe(n)
		return n, true
	}
	return n, false
}

func fieldOf(root parse.Node, names []string) parse.Node {
	if len(names) == 0 {
		return root
	}
	args := []parse.Node{root}
	for _, name := range names {
		args = append(args, literal(root.Position(), name))
	}
	return nested(root.Position(), call(root.Position(), funcField, args...))
}

func call(pos parse.Pos, name string, args ...parse.Node) *parse.CommandNode {
	id := parse.NewIdentifier(name).SetPos(pos)
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: append([]parse.Node{id}, args...)}
}

func nested(pos parse.Pos, cmd *parse.CommandNode) *parse.PipeNode {
	return &parse.PipeNode{NodeType: parse.NodePipe, Pos: pos, Cmds: []*parse.CommandNode{cmd}}
}

func literal(pos parse.Pos, text string) *parse.StringNode {
	return &parse.StringNode{NodeType: parse.NodeString, Pos: pos, Quoted: strconv.Quote(text), Text: text}
}
