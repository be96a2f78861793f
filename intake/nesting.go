package intake

// maxTyped is the depth down to which nesting tells braces from brackets; deeper it only counts. It keeps a file of
// nothing but brackets within 2 MB.
const maxTyped = 16 << 20

// nesting knows which braces and brackets are open: a bit for each, and no recursion, so that no depth is too deep.
type nesting struct {
	depth  int64
	braces []uint64
}

func (n *nesting) reset() { n.depth, n.braces = 0, n.braces[:0] }

func (n *nesting) push(brace bool) {
	if n.depth < maxTyped {
		word, bit := n.depth/64, uint64(1)<<(n.depth%64)
		if word == int64(len(n.braces)) {
			n.braces = append(n.braces, 0)
		}
		if brace {
			n.braces[word] |= bit
		} else {
			n.braces[word] &^= bit
		}
	}
	n.depth++
}

// pop closes the innermost one. It is false when that is of the other kind, or when nothing is open.
func (n *nesting) pop(brace bool) bool {
	if n.depth == 0 {
		return false
	}
	n.depth--
	if n.depth >= maxTyped {
		return true
	}
	return (n.braces[n.depth/64]>>(n.depth%64)&1 == 1) == brace
}
