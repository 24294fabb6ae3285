package msl

// Chunks cuts kernel text into functions, structs and macros.
func Chunks(text string) []string {
	var list []string
	for _, c := range split(text) {
		list = append(list, c.text)
	}
	return list
}
