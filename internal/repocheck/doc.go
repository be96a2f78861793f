// Package repocheck has no code, only tests of the repository itself: which package may import which, that the links and
// the commands in the documents are true, and that the README's commands do what it says.
package repocheck
