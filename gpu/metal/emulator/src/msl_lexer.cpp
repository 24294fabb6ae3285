#include "msl_lexer.h"
#include <cctype>

namespace emu {

namespace {

struct Lexer {
    const std::string& s;
    size_t i = 0;
    bool line_start = true;

    bool starts(const char* two) const { return s.compare(i, 2, two) == 0; }

    // Skips blanks and comments.
    void skip() {
        while (i < s.size()) {
            if (s[i] == '\n') {
                line_start = true;
                i++;
            } else if (isspace((unsigned char)s[i])) {
                i++;
            } else if (starts("//")) {
                while (i < s.size() && s[i] != '\n')
                    i++;
            } else if (starts("/*")) {
                size_t end = s.find("*/", i + 2);
                i = end == std::string::npos ? s.size() : end + 2;
            } else {
                return;
            }
        }
    }

    void directive() {
        while (i < s.size() && (s[i] != '\n' || s[i - 1] == '\\'))
            i++;
    }

    void quoted(char quote) {
        i++;
        while (i < s.size() && s[i] != quote)
            i += s[i] == '\\' ? 2 : 1;
        i = i < s.size() ? i + 1 : s.size();
    }

    void word(bool number) {
        while (i < s.size() && (isalnum((unsigned char)s[i]) || s[i] == '_' || (number && s[i] == '.')))
            i++;
    }

    Token::Kind scan() {
        char c = s[i];
        if (c == '#' && line_start) {
            directive();
            return Token::kDirective;
        }
        line_start = false;
        if (isalpha((unsigned char)c) || c == '_') {
            word(false);
            return Token::kName;
        }
        if (isdigit((unsigned char)c)) {
            word(true);
            return Token::kNumber;
        }
        if (c == '"' || c == '\'') {
            quoted(c);
            return Token::kString;
        }
        i += starts("[[") || starts("]]") ? 2 : 1;
        return Token::kPunctuation;
    }
};

} // namespace

std::vector<Token> lex(const std::string& source) {
    std::vector<Token> tokens;
    Lexer lexer{source};
    for (;;) {
        lexer.skip();
        size_t begin = lexer.i;
        if (begin >= source.size())
            return tokens;
        Token::Kind kind = lexer.scan();
        tokens.push_back({source.substr(begin, lexer.i - begin), begin, kind});
    }
}

int line_at(const std::string& source, size_t position) {
    int line = 1;
    for (size_t i = 0; i < position && i < source.size(); i++)
        line += source[i] == '\n';
    return line;
}

} // namespace emu
