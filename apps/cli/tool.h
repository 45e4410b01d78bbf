// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every tool does around its work: exit codes, one line per error, the JSON envelope.

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

// Thrown by argument parsing when there is nothing left to do (--help, --version).
struct Exit {
    int code;
};

// A mistake on the command line, and what to do about it.
class UsageError : public UserError {
public:
    UsageError(const std::string& message, std::string hint) : UserError(message), hint_(std::move(hint)) {}
    const std::string& hint() const { return hint_; }

private:
    std::string hint_;
};

// The exit codes of docs/error-codes.md; `kind` is their name in reports.
struct ExitCode {
    ErrorCode code;
    std::string_view kind, meaning;
};
std::span<const ExitCode> exit_codes();
std::string_view kind_of(ErrorCode code);

// The call of a tool: its arguments and what the global flags say. Filled in by App (app.h).
struct Invocation {
    std::string tool;
    std::vector<std::string> arguments;  // normalised, flag files expanded
    std::string json;                    // where the report goes: empty, a path, or "-" for stdout
    bool quiet = false, verbose = false, no_color = false, wide = false;
};

// Runs `body`, which returns an exit code. An error becomes one line on stderr, the exit code of its kind,
// and, with --json, a report that holds the error. What `body` prints on std::cout is the text for people: it
// goes to stderr while the report is on stdout, and nowhere with --quiet.
int run_tool(const char* tool, int argc, const char* const* argv,
             const std::function<int(Invocation&)>& body);

// From here on std::cout goes where the flags say. Called once they are known.
void direct_text(const Invocation& invocation);

// The fields that all reports start with: schema_version, tool, version, command, host.
Json make_report(const Invocation& invocation);
// Writes to the path whole or not at all, or to stdout for "-".
void write_report(const Invocation& invocation, const Json& report);

// The envelope around a result; nothing without --json. Returns 0.
int finish(const Invocation& invocation, const Json& result);
// The same for work that was done and whose answer is bad news: the report holds result and error, one line
// goes to stderr. Returns the exit code.
int finish(const Invocation& invocation, const Json& result, ErrorCode code, const std::string& message);
// The same for a report made already.
int finish_report(const Invocation& invocation, Json report, ErrorCode code, const std::string& message);

// UserError when the tool was started with stdout closed: for those who are about to print data that was
// asked for. Text for people goes nowhere then.
void require_stdout();

// Writes data that was asked for to a file, whole or not at all, or to stdout for "-", even with --quiet.
void write_output(const Invocation& invocation, const std::string& path,
                  const std::function<void(std::ostream&)>& write);

}  // namespace mge::cli
