package quarantine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestArgumentsAreKeysAndValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`field=/a,max=3`:                        "/a|3",
		`field=,max=`:                           "|",
		`max="1,2",field=/x`:                    "/x|1,2",
		`field="/a,b\"c",max=a:b=c`:             `/a,b"c|a:b=c`,
		`field={"a":[1,2],"b":"}"},max=[1,"]"]`: `{"a":[1,2],"b":"}"}|[1,"]"]`,
		`field={open,max=[1`:                    `{open|[1`,
		`field=""`:                              "|",
	} {
		a, err := parseArguments(text, "field", "max")
		require.NoError(t, err, text)
		require.Equal(t, want, a.get("field")+"|"+a.get("max"), text)
	}
	for text, want := range map[string]string{
		`field`:            `there should be key=value, with the keys field and max`,
		`field=1,`:         `end in a comma`,
		`field=1,,max=2`:   `there should be key=value`,
		`fild=/a`:          `"fild" is no argument; the arguments are field and max`,
		`field=1,field=2`:  `field is given twice`,
		`field="abc`:       `field: a value that begins with a quotation mark is a JSON string`,
		`field="abc"d`:     `field: a value that begins with a quotation mark is a JSON string`,
		"\x1b[31m=1":       `\x1b[31m`,
		"field=\"\n\",a=1": `is none: "\n"`,
	} {
		_, err := parseArguments(text, "field", "max")
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "\x1b")
	}
}

func TestArgumentsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("a,:\"{}[]\\ =\n1\u202e")))).Draw(t, "value")
		value = strings.ToValidUTF8(value, "")
		a := arguments{{"field", value}, {"max", value}}
		read, err := parseArguments(a.String(), "field", "max")
		require.NoError(t, err, a.String())
		require.Equal(t, a, read)
		require.NotContains(t, a.String(), "\u202e")
		require.NotContains(t, a.String(), "\n")
	})
}
