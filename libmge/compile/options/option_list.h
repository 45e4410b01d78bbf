// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of a compilation, each described once. Help texts, stored options, reports and the table of
// docs/compile-options.md follow from this list; compat/megengine_options.h adds the names that users know.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "libmge/compile/options/options.h"

namespace mge {

// The value of an option in files, JSON and Python. monostate: unset, the engine decides.
using OptionValue =
    std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<std::string>>;
enum class OptionType : uint8_t { object, truth, whole, real, text, texts };

struct OptionInfo {
    std::string_view field{};                   // in C++: "plan.in_place"
    std::string_view unit{};                    // measures a number; may be empty
    std::string_view doc{};                     // one sentence, as in the help
    int64_t least = 0, most = INT32_MAX;        // limits of a whole number
    std::span<const std::string_view> words{};  // allowed texts; empty: any
    std::string_view default_text{};            // if the default depends on the machine
    bool is_stored = true;  // a model may carry it; false: it depends on the run or the machine
    // Found from the type of the field.
    OptionType type = OptionType::object;
    bool may_be_unset = false;
    OptionValue (*get)(const CompileOptions&) = nullptr;
    // Returns false for a value of another type.
    bool (*set)(CompileOptions&, const OptionValue&) = nullptr;

    // Only C++ programs can give an object, such as an observer or a cache.
    bool is_value() const { return type != OptionType::object; }
};

MGE_API std::span<const OptionInfo> compile_option_list();
// Returns the option with this field; nullptr if there is none.
MGE_API const OptionInfo* find_option(std::string_view field);

// Returns the description of the option with this field.
MGE_API std::string doc_of(std::string_view field);
MGE_API std::string default_text(const OptionInfo& option);

// Returns a value as text: "unset", "true", "7", "a,b".
MGE_API std::string to_text(const OptionValue& value);
// Sets an option. Throws UserError if it cannot have this value.
MGE_API void set_option(CompileOptions& options, const OptionInfo& option, const OptionValue& value);

}  // namespace mge
