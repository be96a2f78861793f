package claudesim

import (
	"time"
)

// stage turns a reply and a fault, which may be nil, into the script of a connection.
func (p *plan) stage(q *request, r *reply, rule *compiledRule, call *Call) *script {
	s := &script{query: q, reply: r, call: call}
	var d Do
	if rule != nil {
		d = rule.Do
		call.Fault = rule.Name
	}
	s.setHeaders(call.RequestID, d.Headers)
	answered := r.answer != nil
	latency := p.latency(q, call.Ordinal, r.usage.Output, !answered)
	abandoned := p.profile.Abandoned != unbilledWord
	switch {
	case d.Fault == faultRefuse:
		s.add(stepReset)
	case d.Fault == faultCut && d.At == "before":
		s.work(p.profile.Latency.Fixed/10, false)
		s.add(stepCut)
	case d.Fault == faultCut && d.At == "after":
		s.work(latency, abandoned)
		s.add(stepCut)
	case d.Fault == faultStall && d.Then != "answer":
		s.stall(d)
	case d.Fault == faultBrokenJSON:
		s.work(latency, abandoned)
		body := r.body(q, call.RequestID)
		s.whole(body[:len(body)/2], len(body)/2)
	case d.Fault == faultErrorBody:
		s.work(latency, abandoned)
		s.status = 200
		body := p.errorOf(d, time.Time{}).errorBody(call.RequestID)
		s.whole(body, len(body))
	default:
		if d.Fault == faultSlow || d.Fault == faultStall {
			s.wait(d.For)
		}
		s.answerWith(p, q, d, latency, abandoned)
	}
	return s
}

// stall holds the connection, and then cuts it. A billed stall is charged at its beginning: the service did its work,
// and the answer got lost.
func (s *script) stall(d Do) {
	s.work(0, false)
	if d.For == 0 {
		s.wait(forever)
	} else {
		s.wait(d.For)
	}
	s.add(stepCut)
}

// answerWith sends the reply, whole or as a stream, cut in the middle where the fault says so.
func (s *script) answerWith(p *plan, q *request, d Do, latency time.Duration, abandoned bool) {
	r := s.reply
	if q.stream && r.answer != nil && r.raw == nil {
		s.stream(p, q, d, abandoned)
		return
	}
	s.work(latency, abandoned)
	body := r.body(q, s.call.RequestID)
	if d.Fault == faultCut {
		s.whole(body, len(body)/2)
		s.add(stepCut)
		return
	}
	s.whole(body, len(body))
	s.fits = r.status == 200 && r.answer != nil && r.answer.fits
}
