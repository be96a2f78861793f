package siding

// ReviewPrompt counts the answers that do not fit the output schema among the causes of dead letters, and tells whether
// they are so many that the prompt is worth a look: above 1 % of the messages that ended, done or set aside.
func ReviewPrompt(causes []CauseCount, ended int64) (mismatches int64, review bool) {
	for _, c := range causes {
		if c.Cause == CauseSchemaMismatch {
			mismatches += c.Count
		}
	}
	return mismatches, mismatches*100 > ended
}
