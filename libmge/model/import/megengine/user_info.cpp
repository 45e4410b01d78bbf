// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/megengine/user_info.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "libmge/base/error.h"
#include "libmge/base/number_text.h"

namespace mge::megengine {
namespace {

constexpr int deepest = 16;
constexpr size_t longest = 1 << 16;  // longest text; values that share their parts could be much longer

// Thrown for a value that is not plain.
struct NotPlain {};

struct Value {
    enum Kind { plain, list, dictionary } kind = plain;
    std::string text;  // JSON, for a plain value
    std::vector<const Value*> parts;
};

std::string in_quotes(std::string_view s) {
    std::string result = "\"";
    for (unsigned char c : s) {
        if (c == '"' || c == '\\') result += '\\';
        if (c >= ' ')
            result += char(c);
        else
            result += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "?";
    }
    return result + '"';
}

void print(const Value& value, int depth, std::string& out) {
    if (depth > deepest || out.size() > longest) throw NotPlain();
    if (value.kind == Value::plain) {
        out += value.text;
        return;
    }
    bool is_dictionary = value.kind == Value::dictionary;
    out += is_dictionary ? '{' : '[';
    for (size_t i = 0; i < value.parts.size(); ++i) {
        if (i) out += is_dictionary && i % 2 ? ": " : ", ";
        print(*value.parts[i], depth + 1, out);
    }
    out += is_dictionary ? '}' : ']';
}

// The machine that pickles are programs for, without all that makes or calls objects.
class Unpickler {
public:
    explicit Unpickler(std::string_view bytes) : bytes_(bytes) {}

    const Value& run() {
        for (;;) {
            auto code = uint8_t(take(1)[0]);
            if (code == '.') return *pop();
            if (!step_value(code) && !step_container(code) && !step_memory(code)) throw NotPlain();
        }
    }

private:
    std::string_view take(size_t n) {
        if (n > bytes_.size() - at_) throw NotPlain();
        at_ += n;
        return bytes_.substr(at_ - n, n);
    }
    template <class T>
    T number() {
        T value;
        std::memcpy(&value, take(sizeof value).data(), sizeof value);
        return value;
    }
    double big_endian_double() {
        char reversed[8];
        std::ranges::reverse_copy(take(8), reversed);
        double value;
        std::memcpy(&value, reversed, sizeof value);
        return value;
    }

    Value& push(Value value) {
        stack_.push_back(&values_.emplace_back(std::move(value)));
        return values_.back();
    }
    void push(std::string json) { push(Value{Value::plain, std::move(json), {}}); }
    void push_list(size_t from) {
        Value list{Value::list, {}, {stack_.begin() + ptrdiff_t(from), stack_.end()}};
        stack_.resize(from);
        push(std::move(list));
    }
    Value* pop() {
        Value* value = stack_.at(last(1));
        stack_.pop_back();
        return value;
    }
    size_t mark() {
        if (marks_.empty() || marks_.back() > stack_.size()) throw NotPlain();
        size_t at = marks_.back();
        marks_.pop_back();
        return at;
    }
    size_t last(size_t n) const {
        if (n > stack_.size()) throw NotPlain();
        return stack_.size() - n;
    }
    // Moves the values from `from` on into the container below them.
    void append(size_t from, Value::Kind kind) {
        if (from == 0 || from > stack_.size() || stack_[from - 1]->kind != kind) throw NotPlain();
        auto& parts = stack_[from - 1]->parts;
        parts.insert(parts.end(), stack_.begin() + ptrdiff_t(from), stack_.end());
        stack_.resize(from);
    }

    bool step_value(uint8_t code) {
        switch (code) {
            case 'N':
                return push("null"), true;
            case 0x88:
                return push("true"), true;
            case 0x89:
                return push("false"), true;
            case 'K':
                return push(std::to_string(number<uint8_t>())), true;
            case 'M':
                return push(std::to_string(number<uint16_t>())), true;
            case 'J':
                return push(std::to_string(number<int32_t>())), true;
            case 'G':
                return push(text(big_endian_double())), true;
            case 0x8c:
                return push(in_quotes(take(number<uint8_t>()))), true;
            case 'X':
                return push(in_quotes(take(number<uint32_t>()))), true;
            default:
                return false;
        }
    }

    bool step_container(uint8_t code) {
        switch (code) {
            case ']':
            case ')':
                return push_list(stack_.size()), true;
            case '}':
                return push(Value{Value::dictionary, {}, {}}), true;
            case '(':
                return marks_.push_back(stack_.size()), true;
            case 0x85:
            case 0x86:
            case 0x87:
                return push_list(last(size_t(code - 0x84))), true;
            case 't':
                return push_list(mark()), true;
            case 'a':
                return append(last(1), Value::list), true;
            case 'e':
                return append(mark(), Value::list), true;
            case 's':
                return append(last(2), Value::dictionary), true;
            case 'u':
                return append(mark(), Value::dictionary), true;
            default:
                return false;
        }
    }

    bool step_memory(uint8_t code) {
        switch (code) {
            case 0x80:  // version
                return take(1), true;
            case 0x95:  // length of a frame
                return take(8), true;
            case 0x94:
                return remember(uint32_t(memory_.size())), true;
            case 'q':
                return remember(number<uint8_t>()), true;
            case 'r':
                return remember(number<uint32_t>()), true;
            case 'h':
                return recall(number<uint8_t>()), true;
            case 'j':
                return recall(number<uint32_t>()), true;
            default:
                return false;
        }
    }
    void remember(uint32_t place) {
        if (stack_.empty()) throw NotPlain();
        memory_[place] = stack_.back();
    }
    void recall(uint32_t place) {
        auto found = memory_.find(place);
        if (found == memory_.end()) throw NotPlain();
        stack_.push_back(found->second);
    }

    std::string_view bytes_;
    size_t at_ = 0;
    std::deque<Value> values_;  // a list may contain itself, so values do not own each other
    std::vector<Value*> stack_;
    std::vector<size_t> marks_;
    std::map<uint32_t, Value*> memory_;
};

std::optional<std::string> unpickled(std::string_view bytes) {
    try {
        std::string result;
        Unpickler unpickler(bytes);
        print(unpickler.run(), 0, result);
        return result;
    } catch (const NotPlain&) {
        return std::nullopt;
    }
}

}  // namespace

std::string user_info_text(std::string_view pickle) {
    if (pickle.empty()) return {};
    if (pickle[0] == '\x80') {
        if (auto json = unpickled(pickle)) return *json == "null" ? std::string() : *json;
        return text("a pickle of ", counted(pickle.size(), "byte"));
    }
    bool is_text =
        std::ranges::all_of(pickle, [](unsigned char c) { return c >= ' ' || c == '\n' || c == '\t'; });
    return is_text ? std::string(pickle.substr(0, longest)) : counted(pickle.size(), "byte");
}

}  // namespace mge::megengine
