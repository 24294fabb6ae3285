package msl_test

import (
	"testing"

	"github.com/broadhead-go/broadhead/msl"
)

func TestNamesAreUnique(t *testing.T) {
	keys := msl.Keys(mapKeys()...)
	names := map[string]msl.Key{}
	size := 0
	for _, k := range keys {
		name, text, err := msl.Text(k)
		if err != nil {
			t.Fatal(err)
		}
		if old, ok := names[name]; ok {
			t.Errorf("%s names both %+v and %+v", name, old, k)
		}
		names[name] = k
		size += len(text)
	}
	t.Logf("%d kernels, %d bytes", len(keys), size)
}
