package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStatementsAreSentWithTheirSchemaAndNumberedParameters(t *testing.T) {
	t.Parallel()
	ts := texts{schema: "s"}
	for query, want := range map[string]string{
		"SELECT a FROM messages m WHERE b = ? AND c = ?":    `SELECT a FROM "s".messages m WHERE b = $1 AND c = $2`,
		"SELECT ? WHERE (?2 = '' OR x = ?2) LIMIT ?":        "SELECT $1 WHERE ($2 = '' OR x = $2) LIMIT $3",
		"SELECT '?', tick(?, ?)":                            `SELECT '?', "s".tick($1, $2)`,
		"INSERT INTO calls (x) SELECT 1 FROM\n\tspend p":    "INSERT INTO \"s\".calls (x) SELECT 1 FROM\n\t\"s\".spend p",
		"UPDATE messages m SET x = u.x FROM unnest(?) u":    `UPDATE "s".messages m SET x = u.x FROM unnest($1) u`,
		"SELECT 1 FROM campaign_members o JOIN campaigns c": `SELECT 1 FROM "s".campaign_members o JOIN "s".campaigns c`,
		"SELECT x FROM found FOR NO KEY UPDATE OF m":        "SELECT x FROM found FOR NO KEY UPDATE OF m",
	} {
		require.Equal(t, want, ts.of(query))
		require.Equal(t, want, ts.of(query), "the second time too")
	}
}
