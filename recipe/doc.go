// Package recipe reads recipe files: what to ask of each record, what a good answer is, and how often to try.
//
// A recipe is YAML, and read strictly: a key that nobody knows, a value of the wrong kind and a setting that this
// version does not have are errors with their line and column ([Errors]), as many at once as can be told apart.
// docs/recipe.md lists every key.
package recipe
