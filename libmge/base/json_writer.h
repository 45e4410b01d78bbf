// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes JSON piece by piece, so that a document of any size is never held as text:
//
//     JsonWriter json(stream);
//     json.object([&] {
//         json.member("name", name);
//         json.list_member("sizes", sizes, [&](int64_t size) { json.value(size); });
//     });

#include <concepts>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/api.h"

namespace mge {

// Invalid UTF-8 is written with replacement characters.
class MGE_API JsonWriter {
public:
    // With `inside_html`, no text can close the enclosing <script> element.
    explicit JsonWriter(std::ostream& stream, bool inside_html = false)
        : stream_(stream), inside_html_(inside_html) {}

    template <class Fn>
    void object(Fn&& members) {
        nest('{', '}', members);
    }
    // item(element) writes one value.
    template <class List, class Fn>
    void list(const List& items, Fn&& item) {
        nest('[', ']', [&] {
            for (auto& element : items) element_begins(), item(element);
        });
    }
    // The caller writes the elements, each behind element_begins().
    template <class Fn>
    void list_of(Fn&& elements) {
        nest('[', ']', elements);
    }
    void element_begins();
    void key(std::string_view name);

    void value(std::string_view text);
    void value(const char* text) { value(std::string_view(text)); }
    void value(const std::string& text) { value(std::string_view(text)); }
    void value(double number);  // null when it is not finite
    template <std::integral T>
    void value(T number) {
        if constexpr (std::is_same_v<T, bool>)
            stream_ << (number ? "true" : "false");
        else
            whole(int64_t(number));
    }
    void value(std::nullopt_t) { stream_ << "null"; }
    template <class T>
    void value(const std::optional<T>& maybe) {
        maybe ? value(*maybe) : value(std::nullopt);
    }
    template <class T>
    void value(const std::vector<T>& items) {
        list(items, [this](auto& item) { this->value(item); });  // "this": avoids a warning of clang
    }
    template <class T>
    void member(std::string_view name, const T& content) {
        key(name);
        value(content);
    }
    template <class Fn>
    void object_member(std::string_view name, Fn&& members) {
        key(name);
        object(members);
    }
    template <class List, class Fn>
    void list_member(std::string_view name, const List& elements, Fn&& item) {
        key(name);
        list(elements, item);
    }
    // members(element) writes the members of an object.
    template <class List, class Fn>
    void objects_member(std::string_view name, const List& elements, Fn&& members) {
        list_member(name, elements, [&](auto& element) { object([&] { members(element); }); });
    }
    void line() { stream_ << '\n'; }  // between elements, for people
    template <class Fn>
    void object_on_line(Fn&& members) {
        line();
        object(members);
    }

private:
    template <class Fn>
    void nest(char open, char close, Fn&& inside) {
        stream_ << open;
        is_first_ = true;
        inside();
        is_first_ = false;
        stream_ << close;
    }
    void whole(int64_t number);

    std::ostream& stream_;
    bool inside_html_;
    bool is_first_ = true;
};

}  // namespace mge
