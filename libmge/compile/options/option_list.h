// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of a compilation, each described once. load_and_run's flags and their help, the options that a
// model carries, the report, Python's keywords, the words of messages and the table of
// docs/compile-options.md follow from this list.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "libmge/compile/options/options.h"

namespace mge {

// What an option is outside the library: in files, in JSON, in Python. monostate: unset, the engine decides.
using OptionValue =
    std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<std::string>>;
enum class OptionType : uint8_t { object, truth, whole, real, text, texts };

struct OptionInfo {
    std::string_view field{};                   // in C++: "graph_opt.jit_config.fuse_reduce"
    std::string_view name{};                    // in reports and files: "jit_fuse_reduce"
    std::string_view flag{};                    // of load_and_run; empty: it has none
    std::string_view keyword{};                 // in Python; empty: it has none
    std::string_view unit{};                    // of a number, where it has one
    std::string_view doc{};                     // one sentence, as in the help
    int64_t least = 0, most = INT32_MAX;        // of a whole number
    std::span<const std::string_view> words{};  // that a text is one of; empty: any
    std::string_view default_text{};            // of a default that depends on the machine
    bool makes_flag = true;  // the flag follows from this row; false: the tool has a line of its own for it
    bool is_stored = true;   // a model may carry it; false: a matter of the run or of the machine
    // Found from the type of the field.
    OptionType type = OptionType::object;
    bool may_be_unset = false;
    OptionValue (*get)(const CompileOptions&) = nullptr;
    // False for a value of another type.
    bool (*set)(CompileOptions&, const OptionValue&) = nullptr;

    // An object (an observer, a cache) has neither name nor value: it is given in C++ alone.
    bool is_value() const { return type != OptionType::object; }
};

// In the order of reports.
MGE_API std::span<const OptionInfo> compile_option_list();
// By field; null when there is none.
MGE_API const OptionInfo* find_option(std::string_view field);
// By name.
MGE_API const OptionInfo* find_named_option(std::string_view name);
// What messages call it; its field where the others have no word for it.
MGE_API std::string_view called(const OptionInfo& option, OptionWords words);

MGE_API std::string default_text(const OptionInfo& option);

// A message that starts with "[field]", with that word instead.
MGE_API std::string in_words(const std::string& message, OptionWords words);

// "unset", "true", "7", "a,b".
MGE_API std::string to_text(const OptionValue& value);
// UserError when the option cannot have this value.
MGE_API void set_option(CompileOptions& options, const OptionInfo& option, const OptionValue& value,
                        OptionWords words = OptionWords::fields);

}  // namespace mge
