//go:build darwin && !nogpu

package compute

import _ "github.com/broadhead-go/broadhead/gpu/metal" // registers Metal; -tags nogpu leaves it out
