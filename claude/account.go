package claude

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/siding-dev/siding"
)

// accountOf names an account without telling anything of its key: whoever reads the name, and does not know the store's
// ID, cannot even try keys out against it. Another key or address is another account.
func accountOf(storeID, key, baseURL string) string {
	mac := hmac.New(sha256.New, []byte(storeID))
	mac.Write([]byte(key + "\n" + strings.TrimRight(baseURL, "/")))
	return hex.EncodeToString(mac.Sum(nil)[:4])
}

// Gates names what fails together with this handler's calls: the account, and the lane, which is the model on that
// account. A worker that is given them ([worker.Config]) starts no call while one of them is held or rests. Without
// [Config.StoreID] the account has no name, so that it is not watched.
//
// [worker.Config]: https://pkg.go.dev/github.com/siding-dev/siding/worker#Config
func (h *Handler) Gates() siding.GateKeys {
	return siding.GateKeys{
		Account: siding.GateKey{Scope: siding.ScopeAccount, Name: h.account},
		Lane:    siding.GateKey{Scope: siding.ScopeLane, Name: h.lane},
	}
}

// Lane names what fails together: handler, model and account, for instance claude/claude-haiku-4-5@1f2e3d4c. Without
// [Config.StoreID] the account is not in it.
func (h *Handler) Lane() string { return h.lane }

func (h *Handler) nameGates() {
	h.lane = "claude/" + h.c.Model
	if h.c.StoreID != "" {
		hex := accountOf(h.c.StoreID, h.c.APIKey, h.c.BaseURL)
		h.account = "claude/" + hex
		h.lane += "@" + hex
	}
}
