// SPDX-License-Identifier: Apache-2.0
#pragma once
// Field lists: the one place where an operator's parameters are named. Files, hashing, equality, printing,
// Python keywords and documentation are all loops over them.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "libmge/base/api.h"
#include "libmge/base/error.h"
#include "libmge/base/hash.h"

namespace mge {

using IntList = std::vector<int64_t>;
using FloatList = std::vector<double>;

// A graph that is a parameter of an operator; op/subgraph.h defines its functions.
class Subgraph;
struct MGE_API SubgraphRef : std::shared_ptr<const Subgraph> {
    using shared_ptr::shared_ptr;
    // The same graph or one that does the same.
    bool operator==(const SubgraphRef& other) const;
    uint64_t hash() const;
};

// The type of a parameter outside the library: in files, in JSON, in Python.
using ParamValue = std::variant<bool, int64_t, double, std::string, IntList, FloatList, SubgraphRef>;
using ParamMap = std::vector<std::pair<std::string, ParamValue>>;

// An enum used as a parameter specialises this: static constexpr std::string_view names[] in order of the
// values.
template <class E>
struct EnumNames;

[[noreturn]] MGE_API void throw_wrong_param(const std::string& expected, const ParamValue& got);
MGE_API std::string to_text(const ParamValue& value);

// Conversion of a member type to and from ParamValue. Specialise for types that have their own text (DType).
template <class T>
struct ParamCodec;

// For the types that a ParamValue contains directly. Compiled once: otherwise each source would instantiate
// the variant's functions for all of them.
template <class T>
struct MGE_API OwnParamCodec {
    static ParamValue get(const T& value);
    static T set(const ParamValue& value);
};
template <>
struct ParamCodec<bool> : OwnParamCodec<bool> {};
template <>
struct ParamCodec<std::string> : OwnParamCodec<std::string> {};
template <>
struct ParamCodec<IntList> : OwnParamCodec<IntList> {};
template <>
struct ParamCodec<FloatList> : OwnParamCodec<FloatList> {};
template <>
struct ParamCodec<SubgraphRef> : OwnParamCodec<SubgraphRef> {};

template <class T>
requires std::is_integral_v<T>
struct ParamCodec<T> {
    static ParamValue get(T value) { return int64_t(value); }
    static T set(const ParamValue& value) {
        auto* i = std::get_if<int64_t>(&value);
        if (!i || int64_t(T(*i)) != *i) throw_wrong_param("an integer in range", value);
        return T(*i);
    }
};

template <class T>
requires std::is_floating_point_v<T>
struct ParamCodec<T> {
    static ParamValue get(T value) { return double(value); }
    static T set(const ParamValue& value) {
        if (auto* d = std::get_if<double>(&value)) return T(*d);
        if (auto* i = std::get_if<int64_t>(&value)) return T(*i);
        throw_wrong_param("a number", value);
    }
};

template <size_t N>
struct ParamCodec<std::array<int64_t, N>> {
    static ParamValue get(const std::array<int64_t, N>& value) { return IntList(value.begin(), value.end()); }
    static std::array<int64_t, N> set(const ParamValue& value) {
        auto* list = std::get_if<IntList>(&value);
        if (!list || list->size() != N) throw_wrong_param(text("a list of ", N, " integers"), value);
        std::array<int64_t, N> result;
        std::copy(list->begin(), list->end(), result.begin());
        return result;
    }
};

template <class E>
requires std::is_enum_v<E>
struct ParamCodec<E> {
    static ParamValue get(E value) { return std::string(EnumNames<E>::names[size_t(value)]); }
    static E set(const ParamValue& value) {
        std::string allowed;
        for (size_t i = 0; i < std::size(EnumNames<E>::names); ++i) {
            if (auto* s = std::get_if<std::string>(&value); s && *s == EnumNames<E>::names[i]) return E(i);
            allowed += text(i ? ", '" : "'", EnumNames<E>::names[i], "'");
        }
        throw_wrong_param("one of " + allowed, value);
    }
};

template <class M>
struct MemberOf;
template <class O, class T>
struct MemberOf<T O::*> {
    using Owner = O;
    using Type = T;
};

// One parameter with its type.
template <auto Member>
struct Field {
    using Owner = typename MemberOf<decltype(Member)>::Owner;
    using Type = typename MemberOf<decltype(Member)>::Type;
    static constexpr auto member = Member;
    std::string_view name, doc;
};

template <auto Member>
constexpr Field<Member> field(std::string_view name, std::string_view doc) {
    return {name, doc};
}
template <class... F>
constexpr auto field_list(F... fields) {
    return std::tuple<F...>(fields...);
}
inline constexpr std::tuple<> no_fields{};
struct NoParams {};
// Base of operators without parameters.
struct WithoutParams {
    using Params = NoParams;
    static constexpr auto fields = no_fields;
};

// One parameter, type-erased.
struct FieldInfo {
    std::string_view name, doc;
    ParamValue (*get)(const void* params);
    void (*set)(void* params, const ParamValue& value);
    uint64_t (*hash)(const void* params);
};
using FieldList = std::span<const FieldInfo>;

template <class T>
uint64_t hash_param(const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
        return checksum(value);
    } else if constexpr (std::is_floating_point_v<T>) {
        return std::hash<T>{}(value);
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
        return uint64_t(value);
    } else if constexpr (requires { value.hash(); }) {
        return value.hash();
    } else {
        uint64_t seed = value.size();
        for (auto& element : value) seed = hash_mix(seed, hash_param(element));
        return seed;
    }
}

template <auto Member>
constexpr FieldInfo erase(Field<Member> f) {
    using Owner = typename Field<Member>::Owner;
    using Type = typename Field<Member>::Type;
    return {f.name, f.doc,
            +[](const void* p) { return ParamCodec<Type>::get(static_cast<const Owner*>(p)->*Member); },
            +[](void* p, const ParamValue& v) { static_cast<Owner*>(p)->*Member = ParamCodec<Type>::set(v); },
            +[](const void* p) { return hash_param(static_cast<const Owner*>(p)->*Member); }};
}
template <class... F>
constexpr std::array<FieldInfo, sizeof...(F)> erase_fields(const std::tuple<F...>& fields) {
    return std::apply([](auto... f) { return std::array<FieldInfo, sizeof...(F)>{erase(f)...}; }, fields);
}

MGE_API ParamMap save_params(FieldList fields, const void* params);
// Absent fields keep their values. UserError with the prefix `who` for an unknown name or a wrong type.
MGE_API void load_params(std::string_view who, FieldList fields, void* params, const ParamMap& map);
// "axis=1, keepdims=True": stable text, used in printing and in cache keys.
MGE_API std::string params_text(FieldList fields, const void* params);

}  // namespace mge
