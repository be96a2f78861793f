package postgres

import (
	"fmt"

	"github.com/siding-dev/siding"
)

// checkGates finds gates that cannot be read, and those that speak of messages or leases that there never were. A probe
// whose lease is over breaks no rule: the next request that has the gate in its way forgets it.
func checkGates(c *conn, from, to int64, found *[]siding.Violation) error {
	last, err := c.number("SELECT last_value FROM clock_last")
	if err != nil {
		return err
	}
	var gates []siding.Gate
	err = c.query(func(r *row) error {
		g, err := decodeGate(siding.GateKey{Scope: siding.Scope(r.str(0)), Name: r.str(1)}, r.str(2))
		if err != nil {
			*found = append(*found, siding.Violation{Rule: "gate-unreadable", Text: err.Error()})
			return nil
		}
		gates = append(gates, g)
		return r.err
	}, "SELECT scope, name, gate FROM gates WHERE id BETWEEN ? AND ?", from, to)
	if err != nil {
		return err
	}
	for i := range gates {
		g := &gates[i]
		var members []siding.StreakMember
		for _, s := range g.Streaks {
			members = append(members, s.Members...)
		}
		if p := g.Probe; p != nil {
			if p.Token.Nonce > last {
				members = append(members, siding.StreakMember{}) // a lease from the future is of no message
			} else {
				members = append(members, siding.StreakMember{Message: p.Token.Message, Delivery: 1})
			}
		}
		for _, one := range members {
			had, err := c.number("SELECT deliveries FROM messages WHERE id = ?", one.Message)
			if err != nil {
				return err
			}
			if one.Delivery < 1 || int64(one.Delivery) > had {
				*found = append(*found, siding.Violation{Rule: "gate-of-nothing", Text: fmt.Sprintf(
					"what is known of %s speaks of a delivery that there never was (message %d)", g.Key, one.Message)})
				break
			}
		}
	}
	return nil
}
