package darwincheck

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// kinds are DarwinKit's types of what gpu/metal calls the receivers of its messages. A protocol's methods may be those of
// a protocol that it extends.
var kinds = map[string][]string{
	"NSString class":          {"_StringClass"},
	"MTLCompileOptions class": {"_CompileOptionsClass"},
	"string":                  {"String"},
	"array":                   {"Array"},
	"error":                   {"Error"},
	"options":                 {"CompileOptions"},
	"device":                  {"DeviceObject"},
	"library":                 {"LibraryObject"},
	"pipeline":                {"ComputePipelineStateObject"},
	"event":                   {"SharedEventObject"},
	"queue":                   {"CommandQueueObject"},
	"command buffer":          {"CommandBufferObject"},
	"compute encoder":         {"ComputeCommandEncoderObject", "CommandEncoderObject"},
	"blit encoder":            {"BlitCommandEncoderObject", "CommandEncoderObject"},
}

// newer are the messages that DarwinKit v0.5.0 has no generated binding of.
var newer = map[string]struct {
	encoding string
	macOS    int // that brought it; 0: all that we run on
	source   string
}{
	"respondsToSelector:": {"B@::", 0, "https://developer.apple.com/documentation/objectivec/nsobjectprotocol/responds(to:)"},
	"setMathMode:":        {"v@:q", 15, "https://developer.apple.com/documentation/metal/mtlcompileoptions/mathmode"},
}

// row is a row of gpu/metal's table of messages.
type row struct {
	constant, name, encoding, receiver string
	since                              int
}

// messages reads the table from the source.
func messages(t *testing.T, p *program) []row {
	t.Helper()
	var rows []row
	for _, file := range p.files[module+"/gpu/metal"] {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || spec.Names[0].Name != "selectors" {
				return true
			}
			for _, e := range spec.Values[0].(*ast.CompositeLit).Elts {
				kv := e.(*ast.KeyValueExpr)
				cells := kv.Value.(*ast.CompositeLit).Elts
				require.Len(t, cells, 4)
				text := func(i int) string {
					s, err := strconv.Unquote(cells[i].(*ast.BasicLit).Value)
					require.NoError(t, err)
					return s
				}
				since, err := strconv.Atoi(cells[3].(*ast.BasicLit).Value)
				require.NoError(t, err)
				rows = append(rows, row{kv.Key.(*ast.Ident).Name, text(0), text(1), text(2), since})
			}
			return false
		})
	}
	count, ok := constant.Int64Val(p.constant(module+"/gpu/metal", "selectorCount"))
	require.True(t, ok)
	require.Len(t, rows, int(count), "the table was not read whole")
	return rows
}

// disagreements compares messages, by their receivers, with the bindings of others. It returns how many were compared.
func disagreements(rows []row, known map[binding]string) (compared int, wrong []string) {
	for _, r := range rows {
		_, first := known[binding{kinds[r.receiver][0], r.name}]
		if byHand, ok := newer[r.name]; ok {
			if first || byHand.encoding != r.encoding || byHand.macOS != r.since {
				wrong = append(wrong, fmt.Sprintf("%s: %s, %s, macOS %d, is listed by hand as %+v", r.constant, r.name, r.encoding, r.since, byHand))
			}
			continue
		}
		if r.since != 0 {
			wrong = append(wrong, fmt.Sprintf("%s: %s came with macOS %d and is not listed by hand", r.constant, r.name, r.since))
		}
		want, found := "", false
		for _, kind := range kinds[r.receiver] {
			if e, ok := known[binding{kind, r.name}]; ok {
				want, found = e, true
			}
		}
		switch got := plain(r.encoding); {
		case !found:
			wrong = append(wrong, fmt.Sprintf("%s: DarwinKit's %s has no %s", r.constant, kinds[r.receiver], r.name))
		case got != want:
			wrong = append(wrong, fmt.Sprintf("%s: %s is sent as %s; DarwinKit's is %s", r.constant, r.name, got, want))
		default:
			compared++
		}
	}
	return compared, wrong
}

func TestSelectorsAgreeWithDarwinKit(t *testing.T) {
	p, err := arm64()
	require.NoError(t, err)
	known := p.bindings("/macos/metal", "/macos/foundation")
	require.Greater(t, len(known), 1000)
	rows := messages(t, p)
	compared, wrong := disagreements(rows, known)
	require.Empty(t, wrong)
	require.Equal(t, len(rows), compared+len(newer))

	for _, bad := range []row{
		{"misspelt", "endEncodings", "v@:", "compute encoder", 0},
		{"ofAnother", "commit", "v@:", "queue", 0},
		{"signed", "maxBufferLength", "q@:", "device", 0},
		{"byReference", "dispatchThreadgroups:threadsPerThreadgroup:", "v@:^v^v", "compute encoder", 0},
		{"late", "commit", "v@:", "command buffer", 15},
		{"soon", "setMathMode:", "v@:q", "options", 0},
	} {
		_, wrong := disagreements([]row{bad}, known)
		require.NotEmpty(t, wrong, bad.constant)
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"v@:{MTLSize=QQQ}{MTLSize=QQQ}": "v@:{=QQQ}{=QQQ}",
		"v@:^@^Q{_NSRange=QQ}":          "v@:^^{=QQ}",
		"@@:^vQQ@?":                     "@@:^QQ@?",
		"*@:":                           "^@:",
		"@@:@@^@":                       "@@:@@^",
	} {
		require.Equal(t, want, plain(in))
	}
}

// TestConstantsAgreeWithDarwinKit compares the driver's numbers with Apple's names for them.
func TestConstantsAgreeWithDarwinKit(t *testing.T) {
	p, err := arm64()
	require.NoError(t, err)
	for ours, names := range map[string][]string{
		"familyApple7":       {"GPUFamilyApple7"},
		"dispatchConcurrent": {"DispatchTypeConcurrent"},
		"barrierBuffers":     {"BarrierScopeBuffers"},
		"optionsShared":      {"ResourceStorageModeShared", "ResourceHazardTrackingModeUntracked"},
		"optionsPrivate":     {"ResourceStorageModePrivate", "ResourceHazardTrackingModeUntracked"},
		"statusCompleted":    {"CommandBufferStatusCompleted"},
		"statusError":        {"CommandBufferStatusError"},
		"errorAccessRevoked": {"CommandBufferErrorAccessRevoked"},
		"errorOutOfMemory":   {"CommandBufferErrorOutOfMemory"},
		"errorDeviceRemoved": {"CommandBufferErrorDeviceRemoved"},
	} {
		want := constant.MakeInt64(0)
		for _, name := range names {
			v := p.constant(darwinkit+"/macos/metal", name)
			require.NotNil(t, v, name)
			want = constant.BinaryOp(want, token.OR, v)
		}
		got := p.constant(module+"/gpu/metal", ours)
		require.NotNil(t, got, ours)
		require.True(t, constant.Compare(got, token.EQL, want), "%s is %s, %s is %s", ours, got, names, want)
	}
}

// senders are the functions that send a message: where the selector stands among their arguments, and how many words
// they add to those that follow it.
var senders = map[string]struct{ selector, adds int }{
	"send": {1, 0}, "sendBool": {1, 0}, "withError": {1, 1}, "open": {1, 0}, "sendSizes": {1, 0},
}

// TestCallsPassWhatTheirMessagesTake counts the words of every call's arguments. Struct arguments of sendSizes are whole.
func TestCallsPassWhatTheirMessagesTake(t *testing.T) {
	p, err := arm64()
	require.NoError(t, err)
	table := map[string]row{}
	for _, r := range messages(t, p) {
		table[r.constant] = r
	}
	calls := map[string]int{}
	for _, file := range p.files[module+"/gpu/metal"] {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sender, ok := senders[named(call.Fun)]
			if !ok || len(call.Args) <= sender.selector {
				return true
			}
			r, ok := table[named(call.Args[sender.selector])]
			if !ok || call.Ellipsis != token.NoPos {
				return true
			}
			where := p.set.Position(call.Pos())
			where.Filename = filepath.Base(where.Filename)
			want := words(r.encoding, named(call.Fun) == "sendSizes")
			got := len(call.Args) - sender.selector - 1 + sender.adds
			if got != want {
				t.Errorf("%s: %s gets %d words, not %d", where, r.name, got, want)
			}
			calls[r.constant]++
			return true
		})
	}
	require.Greater(t, len(calls), 40, "the calls were not found")
}

// words counts the words of a message's arguments; whole counts a struct as one.
func words(encoding string, whole bool) int {
	_, args, _ := strings.Cut(plain(encoding), "@:")
	args = strings.ReplaceAll(args, "@?", "@")
	n := 0
	for args != "" {
		if args[0] == '{' {
			end := strings.IndexByte(args, '}')
			if n += end - len("{="); whole {
				n += 1 - (end - len("{="))
			}
			args = args[end+1:]
			continue
		}
		n++
		args = args[1:]
	}
	return n
}

// TestReceiversAreTypes makes sure that the oracle's types are there.
func TestReceiversAreTypes(t *testing.T) {
	p, err := arm64()
	require.NoError(t, err)
	for receiver, names := range kinds {
		for _, name := range names {
			found := false
			for _, path := range []string{"/macos/metal", "/macos/foundation"} {
				_, is := p.types[darwinkit+path].Scope().Lookup(name).(*types.TypeName)
				found = found || is
			}
			require.True(t, found, "%s: DarwinKit has no %s", receiver, name)
		}
	}
}
