// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every tool does around its work: exit codes, one line per error, the JSON envelope.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace mge::cli {

using Json = nlohmann::ordered_json;
inline constexpr int schema_version = 1;

// Thrown by argument parsing when there is nothing left to do (--help, --version) or the command line is
// wrong.
struct Exit {
    int code;
};

struct Invocation {
    std::string tool;
    std::vector<std::string> arguments;  // normalised
    std::string json;  // where the report goes: empty, a path, or "-" for stdout; set by the parser
};

// Runs `body`, which returns an exit code. An error becomes one line on stderr, the exit code of its kind,
// and, with
// --json, a report that holds the error.
int run_tool(const char* tool, int argc, const char* const* argv,
             const std::function<int(Invocation&)>& body);

// The fields that all reports start with: schema_version, tool, version, command, host.
Json make_report(const Invocation& invocation);
// Writes to the path whole or not at all, or to stdout for "-".
void write_report(const Invocation& invocation, const Json& report);

}  // namespace mge::cli
