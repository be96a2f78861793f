package claudesim

import (
	"errors"
	"io"
	"net/http"
)

// adminHandler serves the controls. A page in a browser cannot use them across origins.
func (s *Server) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sim/meter", func(w http.ResponseWriter, _ *http.Request) {
		sendJSON(w, http.StatusOK, s.Meter())
	})
	mux.HandleFunc("GET /sim/calls", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/jsonl")
		for _, c := range s.Calls() {
			if _, err := w.Write(append(encode(c), '\n')); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("POST /sim/reset", func(w http.ResponseWriter, _ *http.Request) {
		s.Reset()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /sim/profile", s.changeProfile)
	return http.NewCrossOriginProtection().Handler(mux)
}

// changeProfile takes a profile as YAML in the body, or the name of a built-in one in the query.
func (s *Server) changeProfile(w http.ResponseWriter, req *http.Request) {
	p, err := profileOf(req)
	if err == nil {
		err = s.SetProfile(p)
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	answer := map[string]any{"error": err.Error()}
	var pe *ProfileError
	if errors.As(err, &pe) && pe.Line > 0 {
		answer["line"], answer["column"] = pe.Line, pe.Column
	}
	sendJSON(w, http.StatusBadRequest, answer)
}

func profileOf(req *http.Request) (*Profile, error) {
	if name := req.URL.Query().Get("name"); name != "" {
		return BuiltinProfile(name)
	}
	const largest = 1 << 20
	data, err := io.ReadAll(io.LimitReader(req.Body, largest))
	if err != nil {
		return nil, err
	}
	return ParseProfile(data)
}

func sendJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(v)) // a client that has gone needs no answer
}
