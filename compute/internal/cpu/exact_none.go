//go:build (!amd64 && !arm64) || noasm

package cpu

func simdSplitDense[T Float]([]T, float64, *exactSplit) (rows int) { return 0 }
