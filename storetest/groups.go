package storetest

func groups() []group {
	return []group{
		{name: "enqueue", cases: enqueueCases()},
		{name: "lease", cases: leaseCases()},
		{name: "settle", cases: settleCases()},
		{name: "forward", cases: forwardCases(), apart: true},
		{name: "gate", cases: gateCases()},
		{name: "streak", cases: streakCases()},
		{name: "hold", cases: holdCases(), apart: true},
		{name: "alone", cases: aloneCases(), apart: true},
		{name: "process", cases: processCases(), apart: true},
		{name: "clock", cases: clockCases(), apart: true},
		{name: "journal", cases: journalCases()},
		{name: "budget", cases: budgetCases()},
		{name: "money", cases: moneyCases()},
		{name: "manifest", cases: manifestCases()},
		{name: "digest", cases: digestCases()},
		{name: "operator", cases: operatorCases()},
		{name: "overview", cases: overviewCases(), apart: true},
		{name: "campaign", cases: campaignCases()},
		{name: "enlist", cases: enlistCases()},
		{name: "end in a campaign", cases: campaignEndCases()},
		{name: "race", cases: raceCases()},
		{name: "race of gates", cases: gateRaceCases()},
		{name: "race of campaigns", cases: campaignRaceCases()},
		{name: "race of suspects", cases: aloneRaceCases(), apart: true},
		{name: "fault", cases: faultCases()},
		{name: "fault and race of forwarding", cases: forwardRaceCases(), apart: true},
	}
}
