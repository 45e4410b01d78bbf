// SPDX-License-Identifier: Apache-2.0
#pragma once
// The frame of every tool: exit codes, one line per error, the JSON envelope.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/error.h"

namespace mge::cli {

using Json = nlohmann::ordered_json;
inline constexpr int schema_version = 1;

// Thrown by argument parsing when the tool should exit (--help, --version).
struct Exit {
    int code;
};

// A mistake on the command line, with a hint how to fix it.
class UsageError : public UserError {
public:
    UsageError(const std::string& message, std::string hint) : UserError(message), hint_(std::move(hint)) {}
    const std::string& hint() const { return hint_; }

private:
    std::string hint_;
};

// An exit code of docs/error-codes.md; `kind` is its name in reports.
struct ExitCode {
    ErrorCode code;
    std::string_view kind, meaning;
};
std::span<const ExitCode> exit_codes();
std::string_view kind_of(ErrorCode code);

// The arguments of a tool and the values of global flags. Filled in by App (app.h).
struct Invocation {
    std::string tool;
    std::vector<std::string> arguments;  // normalised, flag files expanded
    std::string json;                    // destination of the report: empty, a path, or "-" for stdout
    bool quiet = false, verbose = false, no_color = false, wide = false;
    bool writes_files = false;  // an option names a file to write
};

// Runs `body`, which returns an exit code. An error becomes one line on stderr, its exit code and, with
// --json, a report that contains it. Text that `body` prints on std::cout goes to stderr while the report is
// on stdout, and is dropped with --quiet.
int run_tool(const char* tool, int argc, const char* const* argv,
             const std::function<int(Invocation&)>& body);

// Redirects std::cout according to the flags. Call once they are known.
void direct_text(const Invocation& invocation);

// Returns the fields that all reports start with: schema_version, tool, version, command, host.
Json make_report(const Invocation& invocation);
// Writes to the path atomically, or to stdout for "-".
void write_report(const Invocation& invocation, const Json& report);

// Writes the envelope around a result if --json is given. Returns 0.
int finish(const Invocation& invocation, const Json& result);
// Like finish(), for completed work with a negative result: the report has result and error, one line goes to
// stderr. Returns the exit code.
int finish(const Invocation& invocation, const Json& result, ErrorCode code, const std::string& message);
// Like the above, for a finished report.
int finish_report(const Invocation& invocation, Json report, ErrorCode code, const std::string& message);

// Throws UserError if the tool was started with stdout closed. Call before printing requested data; text for
// people is dropped instead.
void require_stdout();

// Returns the stream for text that an option requests: std::cout, but even with --quiet.
std::ostream& requested_text();

// Writes requested data to a file atomically, or to stdout for "-", even with --quiet.
void write_output(const Invocation& invocation, const std::string& path,
                  const std::function<void(std::ostream&)>& write);

}  // namespace mge::cli
