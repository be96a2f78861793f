package storetest

import "testing"

func runModel(t *testing.T, h Harness) { t.Helper() }
