//go:build linux && (amd64 || arm64)

package cuda

import "strings"

// token is a piece of kernel text: an identifier or number, an attribute [[...]], or one byte of punctuation.
type token struct {
	text string
	at   int // where it starts
}

func (t token) end() int        { return t.at + len(t.text) }
func (t token) attribute() bool { return strings.HasPrefix(t.text, "[[") }
func (t token) word() bool      { return wordByte(t.text[0]) }

// lex cuts text into tokens. Comments, strings and preprocessor lines are left out.
func lex(text string) []token {
	var list []token
	for i := 0; i < len(text); {
		n := 1
		switch rest := text[i:]; {
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\n' || rest[0] == '\r':
			i++
			continue
		case strings.HasPrefix(rest, "//"):
			i += lineLength(rest)
			continue
		case rest[0] == '#' && startsLine(text, i):
			i += directiveLength(rest)
			continue
		case strings.HasPrefix(rest, "/*"):
			i += until(rest, 2, "*/")
			continue
		case rest[0] == '"' || rest[0] == '\'':
			i += quotedLength(rest)
			continue
		case strings.HasPrefix(rest, "[["):
			n = until(rest, 2, "]]")
		case wordByte(rest[0]):
			for n < len(rest) && wordByte(rest[n]) {
				n++
			}
		}
		list = append(list, token{text[i : i+n], i})
		i += n
	}
	return list
}

func lineLength(rest string) int {
	if n := strings.IndexByte(rest, '\n'); n >= 0 {
		return n
	}
	return len(rest)
}

// directiveLength is that of a preprocessor line and those that continue it.
func directiveLength(rest string) int {
	n := lineLength(rest)
	for n < len(rest) && rest[n-1] == '\\' {
		n += 1 + lineLength(rest[n+1:])
	}
	return n
}

func quotedLength(rest string) int {
	for n := 1; n < len(rest); n++ {
		switch rest[n] {
		case '\\':
			n++
		case rest[0]:
			return n + 1
		}
	}
	return len(rest)
}

// until is the length of rest up to and with end, looked for from an index on.
func until(rest string, from int, end string) int {
	if n := strings.Index(rest[from:], end); n >= 0 {
		return from + n + len(end)
	}
	return len(rest)
}

// startsLine says whether only spaces precede text[i] on its line.
func startsLine(text string, i int) bool {
	line := text[strings.LastIndexByte(text[:i], '\n')+1 : i]
	return strings.TrimLeft(line, " \t") == ""
}

func wordByte(c byte) bool {
	return '0' <= c && c <= '9' || c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
