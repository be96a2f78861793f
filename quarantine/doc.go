// Package quarantine looks into dead letters: it diagnoses what is wrong with a body and how its delivery failed, mends
// bodies by named repairs, and drives campaigns that send many back. It does no I/O of its own but for repairs that run a
// command, and for the store that a campaign is driven on, or from which retention drops bodies.
package quarantine
