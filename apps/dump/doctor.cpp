// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/output/table.h"
#include "apps/cli/output/terminal.h"
#include "apps/dump/commands.h"
#include "apps/dump/machine.h"
#include "libmge/base/joined.h"

namespace mge::dump {
namespace {

struct DoctorOptions {
    std::vector<std::string> required;
};

std::string name_of(MachineState state) {
    switch (state) {
        case MachineState::ok:
            return "ok";
        case MachineState::limited:
            return "limited";
        case MachineState::missing:
            break;
    }
    return "missing";
}

// Below this width facts are printed as lists: narrow columns would break up their sentences.
constexpr size_t least_table = 120;

void print(const std::vector<MachineFact>& facts) {
    if (cli::text_width() < least_table) {
        for (auto& fact : facts) {
            std::cout << cli::painted(cli::Paint::bold, fact.name) << ": " << name_of(fact.state) << '\n';
            for (auto& sentence : {fact.found, fact.advice})
                if (!sentence.empty()) std::cout << "  " << printable(sentence) << '\n';
        }
        return;
    }
    std::vector<std::vector<std::string>> rows{{"", "state", "found", "advice"}};
    for (auto& fact : facts) rows.push_back({fact.name, name_of(fact.state), fact.found, fact.advice});
    cli::print_table(std::cout, rows);
}

// Returns the required features that are not in use; empty if there are none.
std::string lacking(const std::vector<MachineFact>& facts, const std::vector<std::string>& required) {
    std::string result;
    for (auto& fact : facts) {
        bool is_required = std::ranges::find(required, fact.name) != required.end();
        bool fails = (fact.needed && fact.state == MachineState::missing) ||
                     (is_required && fact.state != MachineState::ok);
        if (fails)
            result +=
                text(result.empty() ? "" : "; ", fact.name, " is ", name_of(fact.state), ": ", fact.advice);
    }
    return result;
}

void check_names(const std::vector<MachineFact>& facts, const std::vector<std::string>& required) {
    for (auto& name : required) {
        if (std::ranges::any_of(facts, [&](auto& fact) { return fact.name == name; })) continue;
        throw cli::UsageError(text("--require: there is no feature '", name, "'"),
                              "there are " + joined(facts, ", ", &MachineFact::name));
    }
}

int run(const DoctorOptions& options, const cli::Invocation& invocation) {
    auto facts = examine_machine();
    check_names(facts, options.required);
    print(facts);
    cli::Json list = cli::Json::array();
    for (auto& fact : facts)
        list.push_back({{"name", fact.name},
                        {"state", name_of(fact.state)},
                        {"found", fact.found},
                        {"advice", fact.advice}});
    cli::Json result{{"machine", list}};
    if (std::string why = lacking(facts, options.required); !why.empty())
        return cli::finish(invocation, result, ErrorCode::device, why);
    return cli::finish(invocation, result);
}

}  // namespace

void add_doctor(cli::App& app) {
    auto options = std::make_shared<DoctorOptions>();
    auto& command = app.command(
        "doctor", "Reports which features of this machine are used, which are not, and the remedies",
        [options, &app] { return run(*options, app.invocation()); });
    command
        .add_option("--require", options->required,
                    "Exit with 4 unless all of these are used: gpu, huge_pages, threads, ...")
        ->delimiter(',')
        ->type_name("NAME,...");
}

}  // namespace mge::dump
