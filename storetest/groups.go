package storetest

func groups() []group {
	return []group{
		{"enqueue", enqueueCases()},
		{"lease", leaseCases()},
		{"settle", settleCases()},
		{"process", processCases()},
		{"clock", clockCases()},
		{"journal", journalCases()},
		{"money", moneyCases()},
		{"manifest", manifestCases()},
		{"operator", operatorCases()},
		{"race", raceCases()},
		{"fault", faultCases()},
	}
}
