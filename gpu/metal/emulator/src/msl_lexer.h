#pragma once
#include <string>
#include <vector>

namespace emu {

struct Token {
    enum Kind { kName, kNumber, kString, kPunctuation, kDirective };
    std::string text;
    size_t position; // byte offset in the source
    Kind kind;
    bool is(const char* s) const { return text == s; }
};

// Comments are dropped; `[[` and `]]` are tokens; a preprocessor line is one token.
std::vector<Token> lex(const std::string& source);

int line_at(const std::string& source, size_t position);

} // namespace emu
