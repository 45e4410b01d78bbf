// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/options/compile_flags.h"

#include <CLI/CLI.hpp>

#include "apps/cli/options/numbers.h"
#include "apps/cli/options/one_of.h"

namespace mge::load_and_run {
namespace {

// Type of a flag in the help text.
std::string type_name(const compat::NamedOption& option) {
    if (option.type == OptionType::texts) return "NAME,...";
    if (option.unit.empty()) return option.type == OptionType::real ? "FLOAT" : "INT";
    return option.unit == "bytes" ? "BYTES" : "MIB";
}

// A flag alone: on; with =false or the prefix "no": off; absent: unchanged.
void add_truth(CLI::App& app, CompileOptions& options, const compat::NamedOption& option) {
    app.add_flag_function(
        std::string(option.flag), [&](int64_t count) { set_option(options, option, count > 0); },
        std::string(option.doc));
}

template <class T>
CLI::Option* add_value(CLI::App& app, CompileOptions& options, const compat::NamedOption& option) {
    auto* added = app.add_option_function<T>(
        std::string(option.flag), [&](const T& given) { set_option(options, option, given); },
        std::string(option.doc));
    if (!option.may_be_unset && option.type != OptionType::texts) added->default_str(default_text(option));
    return added;
}

void add_flag(CLI::App& app, CompileOptions& options, const compat::NamedOption& option) {
    switch (option.type) {
        case OptionType::truth:
            return add_truth(app, options, option);
        case OptionType::whole:
            add_value<int64_t>(app, options, option)
                ->check(cli::whole_number(option.least, uint64_t(option.most)))
                ->type_name(type_name(option));
            return;
        case OptionType::real:
            add_value<double>(app, options, option)->check(cli::real_number())->type_name(type_name(option));
            return;
        case OptionType::text:
            add_value<std::string>(app, options, option)
                ->check(cli::one_of(std::vector<std::string>(option.words.begin(), option.words.end())));
            return;
        case OptionType::texts:
            add_value<std::vector<std::string>>(app, options, option)
                ->delimiter(',')
                ->allow_extra_args(false)
                ->type_name(type_name(option));
            return;
        case OptionType::object:
            return;
    }
}

const compat::NamedOption& precision() {
    static const auto& option = *compat::find_named_option("precision");
    return option;
}

}  // namespace

void add_compile_flags(CLI::App& app, CompileOptions& options) {
    for (auto& option : compat::named_options())
        if (!option.has_own_flag && !option.flag.empty() && &option != &precision())
            add_flag(app, options, option);
}

void add_precision_flag(CLI::App& app, std::vector<std::string>& values) {
    auto& option = precision();
    app.add_option(std::string(option.flag), values, std::string(option.doc))
        ->delimiter(',')
        ->allow_extra_args(false)
        ->default_str(default_text(option))
        ->check(cli::one_of(std::vector<std::string>(option.words.begin(), option.words.end())));
}

void set_precision(CompileOptions& options, const std::string& value) {
    set_option(options, precision(), value);
}

std::string precision_of(const CompileOptions& options) {
    return std::get<std::string>(precision().get(options));
}

}  // namespace mge::load_and_run
