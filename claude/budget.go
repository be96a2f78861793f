package claude

import (
	"errors"
	"fmt"

	"github.com/siding-dev/siding"
)

// completeBudget refuses a budget that nobody could keep.
func (h *Handler) completeBudget() error {
	switch {
	case h.c.Budget < 0:
		return errors.New("budget: it is negative; give the most that may be spent, or leave it out")
	case h.c.Budget == 0:
		return nil
	}
	if _, priced := h.c.Prices.Worst(h.c.Model, 0, 0, h.c.Clock()); !priced {
		return fmt.Errorf("budget: no price is known for the model %q, so that no budget can be kept; take it out, or use a model with a price",
			siding.Scrub(h.c.Model, 64))
	}
	return nil
}

// overBudget holds the recipe before a call that could exceed the budget.
func (h *Handler) overBudget(spent, worst siding.Money) *siding.Failure {
	return &siding.Failure{
		Outcome: siding.OutcomeHeld, Cause: siding.CauseBudget, Scope: siding.ScopeRecipe, NoCall: true,
		Err: fmt.Errorf("the budget is %v: the calls of this queue have cost up to %v, and the next one could cost up to %v; raise the budget, or leave it at that",
			h.c.Budget, spent, worst),
	}
}
