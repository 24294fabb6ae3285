//go:build assert

package memory

const poisoned = true
