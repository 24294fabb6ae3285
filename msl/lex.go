package msl

import "strings"

// words returns the identifiers of kernel text in order of appearance, comments left out.
func words(text string) []string {
	var list []string
	scan(text, func(token string, word bool) {
		if word {
			list = append(list, token)
		}
	})
	return list
}

// tokens returns the identifiers and operators of an expression.
func tokens(text string) []string {
	var list []string
	scan(text, func(token string, _ bool) { list = append(list, token) })
	return list
}

// substitute replaces identifiers of text by what with returns.
func substitute(text string, with func(word string) string) string {
	var b strings.Builder
	for len(text) > 0 {
		start, end := nextWord(text)
		b.WriteString(text[:start])
		if start < end {
			b.WriteString(with(text[start:end]))
		}
		text = text[end:]
	}
	return b.String()
}

// nextWord finds the first identifier of text, or returns its length twice. A number with its suffix is none.
func nextWord(text string) (start, end int) {
	for start < len(text) && !wordByte(text[start]) {
		start++
	}
	end = start
	for end < len(text) && wordByte(text[end]) {
		end++
	}
	if start < end && digit(text[start]) {
		s, e := nextWord(text[end:])
		return end + s, end + e
	}
	return start, end
}

// scan calls visit for each identifier and each operator of text.
func scan(text string, visit func(token string, word bool)) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case strings.HasPrefix(text[i:], "//"):
			n := strings.IndexByte(text[i:], '\n')
			if n < 0 {
				return
			}
			i += n
		case wordByte(c):
			end := i
			for end < len(text) && wordByte(text[end]) {
				end++
			}
			if !digit(c) {
				visit(text[i:end], true)
			}
			i = end
		case c == ' ' || c == '\n' || c == '\t':
			i++
		default:
			n := 1
			if i+1 < len(text) && pairs[text[i:i+2]] {
				n = 2
			}
			visit(text[i:i+n], false)
			i += n
		}
	}
}

var pairs = map[string]bool{
	"==": true, "!=": true, "<=": true, ">=": true, "&&": true, "||": true, "<<": true, ">>": true,
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func wordByte(c byte) bool {
	return digit(c) || c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
