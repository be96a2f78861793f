package webhook

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// errPrivate: the address is not one of the public internet.
var errPrivate = errors.New("not an address of the public internet")

// special are the blocks that are not of the public internet (IANA's registries of special-purpose addresses) and that
// netip has no name for, and those that stand for an IPv4 address which nobody could look at.
var special = prefixes(
	"0.0.0.0/8",       // this network
	"100.64.0.0/10",   // shared between a provider and its customers
	"192.0.0.0/24",    // protocol assignments
	"192.0.2.0/24",    // documentation, as the next two
	"198.51.100.0/24", //
	"203.0.113.0/24",  //
	"198.18.0.0/15",   // benchmarks
	"240.0.0.0/4",     // reserved, and broadcast
	"::/96",           // IPv4 in IPv6, long given up
	"64:ff9b::/96",    // IPv4 behind a translator
	"64:ff9b:1::/48",  // the same, for private use
	"100::/64",        // discard
	"2001::/23",       // protocol assignments, with Teredo
	"2001:db8::/32",   // documentation
	"2002::/16",       // IPv4 in 6to4
	"3fff::/20",       // documentation
	"5f00::/16",       // segment routing
	"fec0::/10",       // site-local, long given up
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// isPublic tells whether an address is of the public internet.
func isPublic(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() { // that leaves out loopback, link-local, multicast and unspecified
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// control is asked for each connection with the address that it will go to, after all looking up of names.
func (h *Handler) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q", errPrivate, cut(address, 64))
	}
	if !h.public(at.Addr()) {
		return fmt.Errorf("%s is %w", at.Addr(), errPrivate)
	}
	return nil
}
