//go:build !assert

package memory

const poisoned = false
