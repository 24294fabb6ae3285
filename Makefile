# make help lists the targets. Each sets up what it needs, or says what is missing and how to get it.
GO ?= go
CXX ?= g++
# SA1019: compute has all of arrow-go's identifiers, the deprecated ones too.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.7.0 -checks inherit,-SA1019
TARGETS = linux/amd64 linux/arm64 darwin/arm64 darwin/amd64 windows/amd64
FUZZTIME ?= 5s
BENCH ?= .
# The emulator is a device like any other; no size is too small for it here.
ON_EMULATOR = BROADHEAD_DEVICE=emulator BROADHEAD_CROSSOVER=0

# make's own default for CXX is g++ too, but is not in the environment of what it runs
export CXX

.DEFAULT_GOAL := help
.PHONY: help demo demo-emulator doctor compiler emulator test golden arrowgo-tests bench peers oracle race fuzz lint vet cross arm64

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## real data through the engine: no GPU and no C compiler needed
	@CGO_ENABLED=0 $(GO) run ./examples/demo

demo-emulator: emulator ## the demo on an emulated Metal device (Linux, needs g++)
	@$(ON_EMULATOR) $(GO) run -tags emulator ./examples/demo

doctor: ## devices, drivers, compilers and crossovers of this machine
	@$(GO) run ./bench doctor

# The first word is the program; CXX may hold flags as well. On macOS Metal itself is tested.
compiler:
	@if [ "$$($(GO) env GOOS)" = linux ] && ! command -v $(firstword $(CXX)) >/dev/null; then \
		echo "The tests run GPU kernels on an emulator that is built with a C++ compiler, and there is no '$(firstword $(CXX))'." >&2; \
		echo "Install one (apt-get install g++), or name yours: make test CXX=clang++" >&2; \
		exit 1; \
	fi

emulator: compiler ## build the Metal emulator, once, into the user's cache folder
	@if [ "$$($(GO) env GOOS)" = linux ]; then $(GO) run ./gpu/metal/emulator/build; fi

test: emulator ## all tests
	$(GO) test -timeout 20m ./...
	$(GO) test -timeout 20m -tags noasm,noemulator ./compute/...
	$(GO) test -timeout 20m -short -tags assert ./memory/... ./compute
	$(ON_EMULATOR) $(GO) test -timeout 20m -short ./compute
	cd bench/peers && $(GO) test ./race ./report ./work

golden: ## the pyarrow cases; GOLDEN=dir for those of another folder
	@GOLDEN='$(GOLDEN)' $(GO) run ./compute/golden/run

arrowgo-tests: ## arrow-go's own tests against this module
	@$(GO) run ./compute/internal/arrowgotests

bench: ## Go benchmarks, in the form benchstat reads; BENCH=Sum for some
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

peers: ## race arrow-go, DuckDB, Polars and the memory (needs a C compiler, and node for Polars); PEERS='-rows 1e5' for some
	@cd bench/peers && $(GO) run . $(PEERS)

oracle: ## clang judges the kernels' text, DarwinKit's bindings the messages to Metal (needs clang-19)
	BROADHEAD_TEST_ORACLE=1 $(GO) test -timeout 20m ./internal/oracle ./internal/darwincheck

race: compiler ## the concurrent parts under the race detector (needs cgo)
	CGO_ENABLED=1 $(GO) test -race -timeout 20m ./memory/... ./gpu
	CGO_ENABLED=1 $(GO) test -race -short -timeout 20m ./compute ./compute/internal/...

fuzz: ## every fuzz target for FUZZTIME (5s)
	@set -e; grep -rl --include='*_test.go' '^func Fuzz' . | while read -r file; do \
		sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$$file" | while read -r name; do \
			echo "$$name in $$(dirname "$$file")"; \
			$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")" </dev/null; \
		done; \
	done

lint: vet ## gofmt, go vet for every target, staticcheck
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not gofmt'd:"; echo "$$unformatted"; exit 1; fi
	$(GO) run $(STATICCHECK) ./...

vet:
	@set -e; for t in $(TARGETS); do echo "go vet for $$t"; \
		CGO_ENABLED=0 GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) vet ./...; \
	done
	$(GO) vet -tags emulator,assert,noasm,nogpu ./...

cross: vet ## build and vet for every platform without cgo
	@set -e; for t in $(TARGETS); do echo "go build for $$t"; \
		CGO_ENABLED=0 GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) build ./...; \
	done

arm64: ## tests on linux/arm64, under qemu elsewhere; EMULATOR=1 for those of GPU kernels too, PACKAGES=... for some
	@GO='$(GO)' EMULATOR='$(EMULATOR)' PACKAGES='$(PACKAGES)' .ci/arm64
