//go:build !nogpu && (amd64 || arm64)

package main

import "github.com/broadhead-go/broadhead/gpu/metal"

const metalDriver = "metal"

func metalLibs() (metal.Libs, error) { return metal.System() }
