// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/json_document.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "libmge/base/error.h"
#include "libmge/base/files/file_limit.h"

namespace mge {

// Receives nlohmann's parser events; its parser does not recurse, so the depth here is the only limit.
struct TapeBuilder {
    using Json = nlohmann::json;
    using Kind = JsonValue::Kind;
    JsonDocument& document;
    int max_depth;
    FileBudget budget;
    std::vector<size_t> open;

    bool add(Kind kind, uint64_t payload) {
        budget.take(sizeof(Kind) + sizeof payload);
        document.push(kind, payload);
        return true;
    }
    bool add_text(Kind kind, const std::string& value) {
        budget.take(sizeof(Kind) + sizeof(uint64_t) + sizeof(uint32_t) + value.size());
        document.push_text(kind, value);
        return true;
    }
    bool null() { return add(Kind::null, 0); }
    bool boolean(bool value) { return add(Kind::boolean, value); }
    bool number_integer(int64_t value) { return add(Kind::integer, uint64_t(value)); }
    bool number_unsigned(uint64_t value) {
        if (value <= uint64_t(INT64_MAX)) return add(Kind::integer, value);
        return number_float(double(value), {});
    }
    bool number_float(double value, const std::string&) {
        return add(Kind::number, std::bit_cast<uint64_t>(value));
    }
    bool string(std::string& value) { return add_text(Kind::string, value); }
    bool key(std::string& value) { return add_text(Kind::key, value); }
    bool binary(Json::binary_t&) { return false; }
    bool start(Kind kind) {
        if (int(open.size()) >= max_depth)
            throw ModelError(text("'", document.label(), "' nests deeper than ", max_depth, " levels"));
        open.push_back(document.kinds_.size());
        return add(kind, 0);
    }
    bool end() {
        document.payloads_[open.back()] = document.kinds_.size();
        open.pop_back();
        return true;
    }
    bool start_object(size_t) { return start(Kind::object); }
    bool start_array(size_t) { return start(Kind::array); }
    bool end_object() { return end(); }
    bool end_array() { return end(); }
    bool parse_error(size_t position, const std::string& token, const Json::exception&) {
        constexpr size_t shown = 40;
        std::string near = token.substr(token.size() - std::min(shown, token.size()));
        for (char& c : near)
            if (c < ' ' || c > '~') c = '?';
        throw ModelError(
            text("'", document.label(), "' is not JSON: byte ", position, ", near '", near, "'"));
    }
};

JsonDocument JsonDocument::parse(std::span<const std::byte> bytes, std::string label, int max_depth) {
    JsonDocument document;
    document.label_ = std::move(label);
    TapeBuilder builder{document, max_depth, FileBudget(document.label_, bytes.size()), {}};
    auto* begin = reinterpret_cast<const char*>(bytes.data());
    nlohmann::json::sax_parse(begin, begin + bytes.size(), &builder);
    return document;
}

void JsonDocument::push_text(Kind kind, std::string_view value) {
    constexpr size_t chunk_bytes = size_t(1) << 20;
    uint32_t length = uint32_t(value.size());
    if (value.size() > UINT32_MAX) throw ModelError(mge::text("'", label_, "' holds a string of 4 GiB"));
    size_t needed = sizeof length + value.size();
    if (capacity_ - used_ < needed) {
        capacity_ = std::max(chunk_bytes, needed);
        chunks_.push_back(std::make_unique_for_overwrite<char[]>(capacity_));
        used_ = 0;
    }
    char* place = chunks_.back().get() + used_;
    std::memcpy(place, &length, sizeof length);
    std::memcpy(place + sizeof length, value.data(), value.size());
    used_ += needed;
    push(kind, std::bit_cast<uint64_t>(place));
}

std::string_view JsonDocument::text_at(size_t at) const {
    auto* place = std::bit_cast<const char*>(payloads_[at]);
    uint32_t length;
    std::memcpy(&length, place, sizeof length);
    return {place + sizeof length, length};
}

JsonValue::Kind JsonValue::kind() const { return document_->kinds_[at_]; }

size_t JsonValue::next() const {
    return is_array() || is_object() ? size_t(document_->payloads_[at_]) : at_ + 1;
}

void JsonValue::refuse(const char* what, const char* expected) const {
    constexpr const char* names[] = {"null",   "a truth value", "a whole number", "a number",
                                     "a text", "a key",         "a list",         "an object"};
    throw ModelError(
        mge::text("'", document_->label(), "': ", what, " must be ", expected, ", got ", names[int(kind())]));
}

double JsonValue::number(const char* what) const {
    if (kind() == Kind::integer) return double(int64_t(document_->payloads_[at_]));
    if (kind() != Kind::number) refuse(what, "a number");
    double value = std::bit_cast<double>(document_->payloads_[at_]);
    if (!std::isfinite(value)) refuse(what, "finite");
    return value;
}

int64_t JsonValue::integer(const char* what) const {
    if (kind() != Kind::integer) refuse(what, "a whole number");
    return int64_t(document_->payloads_[at_]);
}

bool JsonValue::boolean(const char* what) const {
    if (kind() != Kind::boolean) refuse(what, "true or false");
    return document_->payloads_[at_] != 0;
}

std::string_view JsonValue::text(const char* what) const {
    if (kind() != Kind::string) refuse(what, "a text");
    return document_->text_at(at_);
}

JsonValue::Range JsonValue::inside() const {
    bool keyed = is_object();
    return {{{document_, at_ + 1}, keyed}, {{document_, next()}, keyed}};
}
JsonValue::Range JsonValue::items(const char* what) const {
    if (!is_array()) refuse(what, "a list");
    return inside();
}
JsonValue::Range JsonValue::members(const char* what) const {
    if (!is_object()) refuse(what, "an object");
    return inside();
}

size_t JsonValue::size() const {
    size_t n = 0;
    if (is_array() || is_object())
        for ([[maybe_unused]] auto item : inside()) ++n;
    return n;
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
    if (is_object())
        for (auto member : inside())
            if (member.key() == key) return member;
    return std::nullopt;
}

JsonValue JsonValue::at(const char* key) const {
    if (!is_object()) refuse(mge::text("what holds '", key, "'").c_str(), "an object");
    if (auto member = find(key)) return *member;
    throw ModelError(mge::text("'", document_->label(), "': '", key, "' is missing"));
}

std::string_view JsonValue::key() const { return document_->text_at(at_ - 1); }

}  // namespace mge
