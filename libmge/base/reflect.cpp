// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/reflect.h"

#include <charconv>

#include "libmge/base/joined.h"

namespace mge {
namespace {

std::string number_text(double value) {
    char buffer[40];
    auto [end, error] =
        std::to_chars(buffer, buffer + sizeof buffer, value);  // shortest form that reads back the same
    return std::string(buffer, error == std::errc() ? end : buffer);
}

std::string hexadecimal(uint64_t value) {
    char buffer[16];
    return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value, 16).ptr);
}

template <class List, class Print>
std::string list_text(const List& list, Print print) {
    return '(' + joined(list, ", ", print) + ')';
}

struct Printer {
    std::string operator()(bool value) const { return value ? "True" : "False"; }
    std::string operator()(int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return number_text(value); }
    std::string operator()(const std::string& value) const { return "'" + value + "'"; }
    std::string operator()(const IntList& list) const {
        return list_text(list, [](int64_t v) { return std::to_string(v); });
    }
    std::string operator()(const FloatList& list) const { return list_text(list, number_text); }
    std::string operator()(const SubgraphRef& graph) const {
        return graph ? "graph:" + hexadecimal(graph.hash()) : "None";
    }
};

template <class T>
constexpr const char* expected_of = nullptr;
template <>
constexpr const char* expected_of<bool> = "a bool";
template <>
constexpr const char* expected_of<std::string> = "a string";
template <>
constexpr const char* expected_of<IntList> = "a list of integers";
template <>
constexpr const char* expected_of<FloatList> = "a list of numbers";
template <>
constexpr const char* expected_of<SubgraphRef> = "a graph";

}  // namespace

template <class T>
ParamValue OwnParamCodec<T>::get(const T& value) {
    return value;
}
template <class T>
T OwnParamCodec<T>::set(const ParamValue& value) {
    if (auto* own = std::get_if<T>(&value)) return *own;
    // An empty list does not show the type of its numbers, and integers are valid numbers, too.
    if constexpr (std::is_same_v<T, IntList>)
        if (auto* list = std::get_if<FloatList>(&value); list && list->empty()) return {};
    if constexpr (std::is_same_v<T, FloatList>)
        if (auto* list = std::get_if<IntList>(&value)) return FloatList(list->begin(), list->end());
    throw_wrong_param(expected_of<T>, value);
}
template struct OwnParamCodec<bool>;
template struct OwnParamCodec<std::string>;
template struct OwnParamCodec<IntList>;
template struct OwnParamCodec<FloatList>;
template struct OwnParamCodec<SubgraphRef>;

void throw_wrong_param(const std::string& expected, const ParamValue& got) {
    throw UserError(text("expected ", expected, ", got ", to_text(got)), ErrorClass::type);
}

std::string to_text(const ParamValue& value) { return std::visit(Printer{}, value); }

ParamMap save_params(FieldList fields, const void* params) {
    ParamMap map;
    for (auto& f : fields) map.emplace_back(f.name, f.get(params));
    return map;
}

void load_params(std::string_view who, FieldList fields, void* params, const ParamMap& map) {
    for (auto& [key, value] : map) {
        const FieldInfo* found = nullptr;
        for (auto& f : fields)
            if (f.name == key) found = &f;
        if (!found) throw_type_error(who, "there is no parameter '", key, "'");
        try {
            found->set(params, value);
        } catch (const UserError& e) {
            throw_user(who, text("parameter '", key, "': ", e.what()), e.error_class());
        }
    }
}

std::string params_text(FieldList fields, const void* params) {
    std::string result;
    for (auto& f : fields) {
        if (!result.empty()) result += ", ";
        result.append(f.name).append("=").append(to_text(f.get(params)));
    }
    return result;
}

}  // namespace mge
