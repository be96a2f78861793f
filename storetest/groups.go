package storetest

func groups() []group {
	return []group{
		{name: "enqueue", cases: enqueueCases()},
		{name: "lease", cases: leaseCases()},
		{name: "settle", cases: settleCases()},
		{name: "gate", cases: gateCases()},
		{name: "streak", cases: streakCases()},
		{name: "process", cases: processCases(), apart: true},
		{name: "clock", cases: clockCases(), apart: true},
		{name: "journal", cases: journalCases()},
		{name: "money", cases: moneyCases()},
		{name: "manifest", cases: manifestCases()},
		{name: "digest", cases: digestCases()},
		{name: "operator", cases: operatorCases()},
		{name: "overview", cases: overviewCases(), apart: true},
		{name: "race", cases: raceCases()},
		{name: "fault", cases: faultCases()},
	}
}
