// MSL text to C++ text. Macros and templates of include/metal_stdlib do most of it;
// rewritten here is what they cannot express: variables in threadgroup memory and the
// table of parameters of each kernel. Rules that g++ does not know are checked too.
#include "kernel.h"
#include "msl_lexer.h"
#include <unordered_map>
#include <unordered_set>

namespace emu {

namespace {

struct KernelParameter {
    std::string type, name, attribute, argument, space;
    bool pointer = false, reference = false, read_only = false;
};

struct KernelDeclaration {
    std::string name;
    std::vector<KernelParameter> parameters;
};

// Attributes of kernel parameters with the expression that gives their value.
const std::unordered_map<std::string, const char*>& builtin_values() {
    static const auto& m = *new std::unordered_map<std::string, const char*>{
        {"thread_position_in_grid", "__c->position_in_grid"},
        {"thread_position_in_threadgroup", "__c->position_in_threadgroup"},
        {"threadgroup_position_in_grid", "__c->threadgroup_position"},
        {"threads_per_threadgroup", "__c->threads_per_threadgroup"},
        {"dispatch_threads_per_threadgroup", "__c->threads_per_threadgroup"},
        {"threadgroups_per_grid", "__c->threadgroups_per_grid"},
        {"threads_per_grid", "__c->threads_per_grid"},
        {"thread_index_in_threadgroup", "(__mtl_u3{__c->index_in_threadgroup, 0, 0})"},
        {"thread_index_in_simdgroup", "(__mtl_u3{__c->lane, 0, 0})"},
        {"simdgroup_index_in_threadgroup", "(__mtl_u3{__c->simdgroup, 0, 0})"},
        {"simdgroups_per_threadgroup", "(__mtl_u3{__c->simdgroups, 0, 0})"},
        {"threads_per_simdgroup", "(__mtl_u3{__c->simd_width, 0, 0})"},
        {"thread_execution_width", "(__mtl_u3{__c->simd_width, 0, 0})"},
    };
    return m;
}

const std::unordered_set<std::string>& forbidden_words() {
    static const auto& s = *new std::unordered_set<std::string>{
        "double",       "new",  "delete", "throw",  "try",          "catch", "virtual",  "typeid",
        "dynamic_cast", "goto", "asm",    "printf", "thread_local", "std",   "__int128",
    };
    return s;
}

class Rewriter {
  public:
    Rewriter(const std::string& source, bool wide, std::string* log)
        : source_(source), wide_(wide), log_(log), t_(lex(source)) {}

    std::string run() {
        for (size_t i = 0; i < t_.size(); i++)
            i = step(i);
        copy_to(source_.size());
        return "#include <metal_types>\n#line 1 \"program_source\"\n" + out_ + thunks();
    }

  private:
    const std::string& source_;
    bool wide_;
    std::string* log_;
    std::vector<Token> t_;
    std::string out_;
    size_t copied_ = 0;
    std::vector<KernelDeclaration> kernels_;
    int braces_ = 0, parens_ = 0;
    bool in_kernel_ = false;
    size_t statement_ = 0; // first token of the current statement at file scope
    bool statement_judged_ = false;
    unsigned next_id_ = 0;

    bool at(size_t i, const char* s) const { return i < t_.size() && t_[i].is(s); }

    void copy_to(size_t position) {
        out_.append(source_, copied_, position - copied_);
        copied_ = position;
    }

    void error(const Token& at, const std::string& message) {
        *log_ +=
            "program_source:" + std::to_string(line_at(source_, at.position)) + ": error: " + message + "\n";
    }

    // Handles the token at i; returns the last token handled.
    size_t step(size_t i) {
        const Token& t = t_[i];
        bool allowed = wide_ && t.is("double");
        if (t.kind == Token::kName && forbidden_words().count(t.text) && !allowed)
            error(t, "'" + t.text + "' is not supported in Metal");
        if (t.is("long") && at(i + 1, "long"))
            error(t, "'long long' is not supported in Metal");
        if (braces_ == 0 && parens_ == 0)
            file_scope(i);
        count_brackets(i);
        if (t.is("threadgroup") && parens_ == 0 && braces_ > 0)
            return threadgroup_variable(i);
        if (braces_ == 0 && t.is("kernel"))
            return kernel_declaration(i);
        return i;
    }

    void count_brackets(size_t i) {
        const Token& t = t_[i];
        if (t.is("{"))
            braces_++;
        if (t.is("(") || t.is("[["))
            parens_++;
        if (t.is(")") || t.is("]]"))
            parens_--;
        if (t.is("}") && --braces_ == 0) {
            in_kernel_ = false;
            begin_statement(i + 1);
        }
    }

    // Variables at file scope must be constant: a statement that reaches `;`, `=` or `[`
    // without a parenthesis or a word that makes it something else is a variable.
    void file_scope(size_t i) {
        const Token& t = t_[i];
        if (t.kind == Token::kDirective) {
            begin_statement(i + 1);
            return;
        }
        bool ends = t.is(";");
        if (!statement_judged_ && (ends || t.is("=") || t.is("["))) {
            static const auto& other = *new std::unordered_set<std::string>{
                "struct", "class", "union",    "enum",          "using",    "typedef", "namespace",
                "(",      "{",     "template", "static_assert", "operator", "constant"};
            bool variable = i > statement_;
            for (size_t k = statement_; k < i && variable; k++)
                variable = !other.count(t_[k].text);
            if (variable)
                error(t_[statement_], "program scope variable must reside in constant address space");
            statement_judged_ = true;
        }
        if (ends)
            begin_statement(i + 1);
    }

    void begin_statement(size_t first) {
        statement_ = first;
        statement_judged_ = false;
    }

    // `threadgroup T a[N], b;` declares shared storage: a becomes a reference into the
    // threadgroup's memory. `threadgroup T* p = ...` is a plain pointer.
    size_t threadgroup_variable(size_t i) {
        size_t end = i + 1;
        int nested = 0; // in template arguments or a dimension
        bool pointer = false;
        for (; end < t_.size() && !at(end, ";") && !at(end, "=") && !at(end, "{"); end++) {
            nested += at(end, "<") + at(end, "[") - at(end, ">") - at(end, "]");
            pointer |= nested == 0 && (at(end, "*") || at(end, "&"));
        }
        if (pointer)
            return i;
        if (!at(end, ";")) {
            error(t_[i], "variables in threadgroup memory cannot have an initializer");
            return i;
        }
        if (!in_kernel_)
            error(t_[i], "variables in threadgroup memory can only be declared in a kernel function");
        declare_shared(i, end);
        return end;
    }

    // The declarators of [begin + 1, end): a type, then names with dimensions.
    void declare_shared(size_t begin, size_t end) {
        size_t name = begin + 1;
        int angles = 0;
        for (size_t q = begin + 1; q < end; q++) {
            if (at(q, "<"))
                angles++;
            else if (at(q, ">"))
                angles--;
            else if (angles == 0 && (at(q, "[") || at(q, "[[") || at(q, ",")))
                break;
            else if (angles == 0 && t_[q].kind == Token::kName)
                name = q;
        }
        std::string type;
        for (size_t q = begin + 1; q < name; q++)
            type += t_[q].text + " ";
        copy_to(t_[begin].position);
        std::string alias = "__mtl_shared_" + std::to_string(next_id_++);
        out_ += "typedef " + type + alias + "; ";
        for (size_t q = name; q < end; q++) {
            std::string variable = t_[q].text, dimensions;
            int square = 0;
            for (q++; q < end && (square > 0 || !at(q, ",")); q++) {
                square += at(q, "[") - at(q, "]");
                dimensions += t_[q].text;
            }
            shared_reference(alias, variable, dimensions);
        }
        copied_ = t_[end].position + 1;
    }

    void shared_reference(const std::string& alias, const std::string& name, const std::string& dimensions) {
        std::string object = alias + dimensions;
        std::string memory = "__mtl_threadgroup_memory(" + std::to_string(next_id_++) + ", sizeof(" + object +
                             "), alignof(" + alias + "), \"" + name + "\"); ";
        if (dimensions.empty())
            out_ += alias + "& " + name + " = *(" + alias + "*)" + memory;
        else
            out_ +=
                alias + " (&" + name + ")" + dimensions + " = *(" + alias + "(*)" + dimensions + ")" + memory;
    }

    // `kernel void name(`, with attributes before or after `kernel`, or `[[kernel]] void name(`.
    size_t kernel_declaration(size_t i) {
        size_t q = i + 1;
        if (at(q, "]]"))
            q++;
        while (at(q, "[[")) {
            while (q < t_.size() && !at(q, "]]"))
                q++;
            q++;
        }
        if (!at(q, "void") || !at(q + 2, "(")) {
            error(t_[i], "kernel must have void return type");
            return i;
        }
        KernelDeclaration k;
        k.name = t_[q + 1].text;
        drop_attributes(q + 3);
        size_t end = q + 3;
        for (auto& tokens : split_parameters(&end)) {
            if (!tokens.empty())
                k.parameters.push_back(parameter(tokens));
        }
        kernels_.push_back(k);
        in_kernel_ = true;
        return i;
    }

    // Leaves the attributes of the parameters out of the C++ text: `[[threadgroup(0)]]`
    // contains a macro.
    void drop_attributes(size_t q) {
        for (int depth = 1; q < t_.size() && depth > 0; q++) {
            depth += at(q, "(") - at(q, ")");
            if (at(q, "[["))
                copy_to(t_[q].position);
            if (at(q, "]]"))
                copied_ = t_[q].position + 2;
        }
    }

    std::vector<std::vector<Token>> split_parameters(size_t* position) {
        std::vector<std::vector<Token>> list(1);
        int depth = 1, angles = 0;
        size_t& q = *position;
        for (; q < t_.size(); q++) {
            depth += at(q, "(") - at(q, ")");
            if (depth == 0)
                return list;
            angles += at(q, "<") - at(q, ">");
            if (at(q, ",") && depth == 1 && angles == 0)
                list.emplace_back();
            else
                list.back().push_back(t_[q]);
        }
        error(t_.back(), "unterminated parameter list");
        return list;
    }

    KernelParameter parameter(const std::vector<Token>& tokens) {
        KernelParameter p;
        size_t attribute = 0;
        while (attribute < tokens.size() && !tokens[attribute].is("[["))
            attribute++;
        if (attribute == 0 || attribute + 1 >= tokens.size()) {
            error(tokens[0], "kernel parameter without an attribute (give [[buffer(n)]])");
            return p;
        }
        p.attribute = tokens[attribute + 1].text;
        if (attribute + 3 < tokens.size() && tokens[attribute + 2].is("("))
            p.argument = tokens[attribute + 3].text;
        p.name = tokens[attribute - 1].text;
        for (size_t q = 0; q + 1 < attribute; q++)
            qualifier(tokens[q].text, &p);
        check_parameter(tokens[0], p);
        return p;
    }

    static void qualifier(const std::string& word, KernelParameter* p) {
        if (word == "device" || word == "threadgroup" || word == "thread") {
            p->space = word;
        } else if (word == "constant") {
            p->space = word;
            p->read_only = true;
        } else if (word == "const") {
            p->read_only = true;
        } else if (word == "*") {
            p->pointer = true;
        } else if (word == "&") {
            p->reference = true;
        } else {
            p->type += word + " ";
        }
    }

    void check_parameter(const Token& at, const KernelParameter& p) {
        bool indirect = p.pointer || p.reference;
        if (indirect && p.space.empty())
            error(at, "pointer/reference parameter '" + p.name + "' needs an address space");
        if (p.attribute == "buffer" || p.attribute == "threadgroup") {
            if (!indirect)
                error(at, p.attribute + " parameter '" + p.name + "' must be a pointer or a reference");
            int index = atoi(p.argument.c_str());
            if (p.argument.empty() || !isdigit((unsigned char)p.argument[0]) || index >= kMaxBindings)
                error(at, "'" + p.attribute + "' attribute of '" + p.name + "' needs an index of 0 to 30");
        } else if (!builtin_values().count(p.attribute)) {
            error(at, "attribute '" + p.attribute + "' is not known");
        }
    }

    // For each kernel: the table of its parameters and a function that calls it with
    // the arguments taken from a ThreadContext.
    std::string thunks() {
        const std::string exported = "extern \"C\" __attribute__((visibility(\"default\"))) ";
        std::string text = "\n#line 1 \"metalemu_thunks\"\n", names;
        for (auto& k : kernels_) {
            std::string table, call;
            for (auto& p : k.parameters) {
                call += (call.empty() ? "" : ", ") + argument(p);
                table += table_row(p);
            }
            text += exported + "const __mtl_parameter __mtl_table_" + k.name + "[] = {" + table +
                    "{-1, 0, 0, 0, 0}};\n" + exported +
                    "__attribute__((no_sanitize(\"thread\"))) void __mtl_run_" + k.name +
                    "(const __mtl_context* __c) { " + k.name + "(" + call + "); }\n";
            names += "\"" + k.name + "\", ";
        }
        return text + exported + "const char* const __mtl_kernels[] = {" + names + "0};\n";
    }

    static bool is_memory(const KernelParameter& p) {
        return p.attribute == "buffer" || p.attribute == "threadgroup";
    }

    static std::string qualified_type(const KernelParameter& p) {
        return (p.read_only ? "const " : "") + p.type;
    }

    static std::string argument(const KernelParameter& p) {
        if (is_memory(p)) {
            const char* list = p.attribute == "buffer" ? "__c->buffers[" : "__c->threadgroup_memory[";
            return (p.reference ? "*(" : "(") + qualified_type(p) + "*)" + list + p.argument + "]";
        }
        auto value = builtin_values().find(p.attribute);
        return value == builtin_values().end() ? "0"
                                               : "__mtl_convert<" + p.type + ">::of(" + value->second + ")";
    }

    static std::string table_row(const KernelParameter& p) {
        if (!is_memory(p))
            return "";
        const char* kind = p.attribute == "threadgroup" ? "2" : p.reference ? "1" : "0";
        return std::string("{") + kind + ", " + p.argument + ", sizeof(" + p.type + "), " +
               (p.read_only ? "1" : "0") + ", \"" + p.name + "\"}, ";
    }
};

} // namespace

std::string rewrite_msl(const std::string& source, bool wide, std::string* log) {
    return Rewriter(source, wide, log).run();
}

} // namespace emu
