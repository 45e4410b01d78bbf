// SPDX-License-Identifier: Apache-2.0
#pragma once
// Untrusted JSON text of any size, parsed into a flat tape: nine bytes per value besides the text of its
// strings, so that 100 MB of "[0,0,0,…" take less than 1 GiB. Nesting beyond `max_depth` is refused
// immediately; NaN and infinities are not JSON.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/api.h"

namespace mge {

class JsonDocument;

// A place in a document; cheap to copy, alive as long as the document.
class MGE_API JsonValue {
public:
    enum class Kind : uint8_t { null, boolean, integer, number, string, key, array, object };
    class Iterator;
    struct Range;

    Kind kind() const;
    bool is_null() const { return kind() == Kind::null; }
    bool is_object() const { return kind() == Kind::object; }
    bool is_array() const { return kind() == Kind::array; }
    bool is_text() const { return kind() == Kind::string; }

    // ModelError that contains `what` if the value has another type. Numbers are finite.
    double number(const char* what) const;
    int64_t integer(const char* what) const;
    bool boolean(const char* what) const;
    std::string_view text(const char* what) const;
    // The elements of an array; members of an object, with key().
    Range items(const char* what) const;
    Range members(const char* what) const;
    size_t size() const;  // number of elements of an array or object, counted on each call

    // The first member of an object with a name; nullopt if absent.
    std::optional<JsonValue> find(std::string_view key) const;
    JsonValue at(const char* key) const;  // ModelError when it is absent
    std::string_view key() const;         // name of a member of an object

private:
    friend class JsonDocument;
    friend class Iterator;
    JsonValue(const JsonDocument* document, size_t at) : document_(document), at_(at) {}
    size_t next() const;  // tape index behind this value
    Range inside() const;
    [[noreturn]] void refuse(const char* what, const char* expected) const;
    const JsonDocument* document_;
    size_t at_;
};

class MGE_API JsonDocument {
public:
    // `label` names the text in errors. ModelError with the place of the fault.
    static JsonDocument parse(std::span<const std::byte> text, std::string label, int max_depth = 64);

    JsonValue root() const { return {this, 0}; }
    const std::string& label() const { return label_; }

private:
    friend class JsonValue;
    friend struct TapeBuilder;
    using Kind = JsonValue::Kind;
    void push(Kind kind, uint64_t payload) {
        kinds_.push_back(kind);
        payloads_.push_back(payload);
    }
    void push_text(Kind kind, std::string_view text);
    std::string_view text_at(size_t at) const;

    std::string label_;
    std::deque<Kind> kinds_;
    // Bits of a number; address of a string, which follows its length; of an array or object the tape index
    // behind its last element.
    std::deque<uint64_t> payloads_;
    std::vector<std::unique_ptr<char[]>> chunks_;
    size_t used_ = 0, capacity_ = 0;  // in the last chunk
};

class JsonValue::Iterator {
public:
    Iterator(JsonValue value, bool keyed) : value_(value), keyed_(keyed) {}
    JsonValue operator*() const { return {value_.document_, value_.at_ + (keyed_ ? 1 : 0)}; }
    Iterator& operator++() {
        value_.at_ = (**this).next();
        return *this;
    }
    bool operator!=(const Iterator& other) const { return value_.at_ != other.value_.at_; }

private:
    JsonValue value_;
    bool keyed_;
};

struct JsonValue::Range {
    Iterator first, last;
    Iterator begin() const { return first; }
    Iterator end() const { return last; }
};

}  // namespace mge
