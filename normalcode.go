package siding

import (
	"strings"
	"unicode"
)

// isCode tells a status or a code of an error, which are words of the fault, from a value: by what stands before it, and
// by its form.
func (n *normalizer) isCode(p string, r rest) bool {
	before := n.last()
	short := len(p) <= 10 && strings.IndexFunc(p, func(c rune) bool { return c > unicode.MaxASCII || c == '_' || c >= 'a' && c <= 'z' && c != 'x' }) < 0
	number := strings.Trim(p, "0123456789") == ""
	next, sign := r.next()
	switch {
	case knownCode(p):
		return true
	case !short:
		return false
	case strong[before] && !otherCodes[n.lastBut(1)], hasSuffixOf(before, codeSuffixes):
		return !number || len(p) <= 5 || n.sign == '-'
	case n.sign == '(' || n.sign == '[':
		// SQL states stand in brackets behind the server's own number.
		return len(p) == 5 && n.kept(before)
	case !number || len(p) > 5:
		return false
	case weak[before]:
		counts := sign == ' ' && next != "" && next == strings.ToLower(next)
		return (len(p) >= 3 || sign != ' ') && !(counts && (n.sign == ':' || len(p) < 3))
	}
	if len(p) != 3 || p[0] < '4' || p[0] > '5' {
		return false
	}
	// A status at the beginning, or of which it is said that it was returned.
	counted := sign == ' ' && next != "" && next == strings.ToLower(next) && !strings.ContainsRune(next, '_') && !reasons[next]
	return (len(n.words) == 0 || answering[before]) && !counted
}

// kept tells whether a word is a code that was kept.
func (n *normalizer) kept(w string) bool {
	return len(w) > 0 && w != value && strings.ContainsAny(w, "0123456789")
}

// knownCode tells the codes of errors that are known by their form.
func knownCode(p string) bool {
	at := strings.IndexAny(p, "0123456789")
	if at < 1 || len(p)-at < 2 || len(p)-at > 6 || strings.Trim(p[at:len(p)-1], "0123456789") != "" {
		return false
	}
	prefix := strings.TrimRight(p[:at], "-_")
	if prefix == "E" {
		return len(p)-at >= 3
	}
	return codePrefixes[prefix]
}

func hasSuffixOf(w string, suffixes []string) bool {
	for _, s := range suffixes {
		if strings.HasSuffix(w, s) {
			return true
		}
	}
	return false
}

// isNaming tells the words that stand before the name of something that is part of the fault.
func isNaming(w string) bool { return naming[w] || hasSuffixOf(w, namingSuffixes) }

// isName tells what can be a key.
func isName(s string) bool {
	return s != "" && len(s) <= 64 && strings.IndexFunc(s, func(r rune) bool { return !isWordRune(r) && r != '-' && r != '.' }) < 0
}

// isBase64 tells letters and digits with the signs between them that only base64 has.
func isBase64(c string) bool {
	padded := strings.TrimRight(c, "=")
	switch {
	case len(c) < 16 || strings.Trim(padded, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") != "":
		return false
	case !strings.ContainsAny(c, "0123456789"):
		return len(c)-len(padded) == 2
	case strings.ContainsAny(c, "+=") && len(c)-len(padded) < 3:
		return true
	}
	return strings.ContainsRune(c, '/') && strings.ToLower(c) != c && strings.ToUpper(c) != c && !isFile(c)
}

func isMail(c string) bool {
	at := strings.IndexByte(c, '@')
	return at > 0 && at < len(c)-1 && !strings.ContainsRune(c, '/')
}

func isWindowsPath(c string) bool {
	if len(c) > 2 && c[1] == ':' && (c[2] == '\\' || c[2] == '/') && unicode.IsLetter(rune(c[0])) {
		return true
	}
	at := strings.IndexByte(c, '\\')
	return at >= 0 && at+1 < len(c) && (c[at+1] == '\\' || isWordRune(rune(c[at+1])))
}

// isAddress tells an IP address, of version 4 or 6, with a port or without.
func isAddress(c string) bool {
	if strings.Trim(c, "0123456789.:") == "" {
		return strings.Count(c, ".") > 1 || strings.Count(c, ":") > 1
	}
	c, _, _ = strings.Cut(c, "%")
	return strings.Count(c, ":") > 1 && strings.Trim(c, "0123456789abcdefABCDEF:.") == ""
}

// isHost tells the name of a host, by its top-level domain or its port.
func isHost(c string) bool {
	host, port, ported := strings.Cut(c, ":")
	if ported && (len(port) < 2 || len(port) > 5 || strings.Trim(port, "0123456789") != "") {
		return false
	}
	if strings.Trim(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz0123456789.-_*") != "" {
		return false
	}
	top := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	switch {
	case host == "localhost", domains[top] && len(top) < len(host):
		return true
	}
	return ported && strings.ContainsAny(host, ".-") && !isFile(host)
}

// isFile tells the name of a file, by its extension; line and column may follow.
func isFile(c string) bool {
	name, _, _ := strings.Cut(c[strings.LastIndexByte(c, '/')+1:], ":")
	dot := strings.LastIndexByte(name, '.')
	return dot > 0 && extensions[strings.ToLower(name[dot+1:])]
}
