package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheAuditTrailHasNoSecrets(t *testing.T) {
	t.Parallel()
	const secret = "hunter2hunter2"
	for _, c := range []struct {
		args []string
		want string // empty: it is enough that the secret is not there
	}{
		{[]string{"redrive", "--repair", "request:max_tokens=2048,instruction=use few tokens: three"},
			"siding redrive --repair 'request:max_tokens=2048,instruction=use few tokens: three'"},
		{[]string{"--store", "postgres://ann:" + secret + "@db/x", "redrive", "--id", "a b"}, "siding redrive --id 'a b'"},
		{[]string{"--store=postgres://ann:" + secret + "@db/x", "--as", "ann", "redrive", "--all"}, "siding redrive --all"},
		{[]string{"dlq", "edit", "x", "--set-header", "x-customer=" + secret}, "siding dlq edit x --set-header 'x-customer=…'"},
		{[]string{"dlq", "edit", "x", "--set-header=x-customer=" + secret}, "siding dlq edit x '--set-header=x-customer=…'"},
		{[]string{"redrive", "--repair", "command:curl https://u:" + secret + "@host/ -H 'Authorization: Bearer " + secret + "'"}, ""},
		{[]string{"redrive", "--where", `.headers["api_key"] == "sk-ant-api03-` + secret + `"`}, ""},
		{[]string{"dlq", "discard", "--note", "bad \x1b[31m"}, `siding dlq discard --note 'bad \x1b[31m'`},
	} {
		got := actText(c.args)
		require.NotContains(t, got, secret)
		if c.want != "" {
			require.Equal(t, c.want, got)
		}
	}
}

func TestTheOperatorHasAName(t *testing.T) {
	t.Parallel()
	a := &app{env: map[string]string{"SIDING_OPERATOR": " night shift "}}
	require.Equal(t, "night shift", a.operatorName())
	a.as = "ann"
	require.Equal(t, "ann", a.operatorName())
	require.Contains(t, (&app{}).operatorName(), "@")
}
