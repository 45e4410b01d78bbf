// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/tool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>

#include "apps/cli/options/arguments.h"
#include "apps/cli/output/fitting_lines.h"
#include "apps/cli/output/safe_text.h"
#include "apps/cli/output/terminal.h"
#include "libmge/base/files/file.h"
#include "libmge/base/files/input_pipe.h"
#include "libmge/base/log.h"
#include "libmge/base/threads/threads.h"
#include "libmge/base/version.h"
#include "libmge/device/cpu/cpu_device.h"

namespace mge::cli {
namespace {

constexpr std::array codes{
    ExitCode{ErrorCode::internal, "internal", "internal error: a bug in the program"},
    ExitCode{ErrorCode::usage, "usage", "usage: an unknown flag, a bad value, an unreadable input"},
    ExitCode{ErrorCode::regression, "regression", "a measured figure is worse than the baseline's"},
    ExitCode{ErrorCode::device, "device", "a device, library or feature is missing or failed"},
    ExitCode{ErrorCode::model, "model", "a model or data file is damaged, of another kind or too new"},
    ExitCode{ErrorCode::crypto, "crypto", "a wrong key, or data that was changed"},
    ExitCode{ErrorCode::accuracy, "accuracy", "a result differs from the expected one by more than allowed"},
    ExitCode{ErrorCode::memory, "memory", "an allocation failed or went over a limit"},
};

class NullBuffer : public std::streambuf {
    int overflow(int c) override { return traits_type::not_eof(c); }
    std::streamsize xsputn(const char*, std::streamsize n) override { return n; }
};

// The stream of requested_text() while std::cout is silenced; without a buffer otherwise.
std::ostream beside_silence(nullptr);

// Redirects std::cout and std::cerr for the run of a tool, so that output on a terminal erases the progress
// line. Restores both.
struct TextGuard {
    std::streambuf *output = std::cout.rdbuf(), *errors = std::cerr.rdbuf();
    TextLines output_lines{output}, error_lines{errors};
    TextGuard() {
        if (::isatty(STDERR_FILENO)) std::cerr.rdbuf(&error_lines);
        if (::isatty(STDERR_FILENO) && ::isatty(STDOUT_FILENO)) std::cout.rdbuf(&output_lines);
        before_log_lines(erase_line);
    }
    ~TextGuard() {
        std::cout.flush();
        std::cout.rdbuf(output);
        std::cerr.rdbuf(errors);
        beside_silence.rdbuf(nullptr);
        before_log_lines(nullptr);
    }
};

// Filters everything that is printed.
struct SafeTextGuard {
    std::streambuf *output = std::cout.rdbuf(), *errors = std::cerr.rdbuf();
    SafeText safe_output{output}, safe_errors{errors};
    SafeTextGuard() {
        std::cout.rdbuf(&safe_output);
        std::cerr.rdbuf(&safe_errors);
    }
    ~SafeTextGuard() {
        std::cout.rdbuf(output);
        std::cerr.rdbuf(errors);
    }
    SafeTextGuard(const SafeTextGuard&) = delete;
    SafeTextGuard& operator=(const SafeTextGuard&) = delete;
};

void print_error(const Invocation& invocation, const std::string& message) {
    erase_line();
    std::string line = text(invocation.tool, ": error: ", printable(message));
    line = wrapped_at_blanks(line, terminal_width(STDERR_FILENO, SIZE_MAX));
    constexpr std::string_view error = "error:";
    if (size_t at = line.find(error); at != line.npos)
        line.replace(at, error.size(), paint(STDERR_FILENO, Paint::red, std::string(error)));
    std::fprintf(stderr, "%s\n", line.c_str());
}

Json error_json(ErrorCode code, const std::string& message, const std::string& hint = {}) {
    Json error{{"code", int(code)}, {"kind", kind_of(code)}, {"message", message}};
    if (!hint.empty()) error["hint"] = hint;
    return error;
}

// Prints one line with the error and, if the report cannot be written either, that error.
template <class MakeReport>
int print_and_report(const Invocation& invocation, ErrorCode code, const std::string& message,
                     MakeReport report) {
    std::string line = message;
    if (!invocation.json.empty()) {
        try {
            write_report(invocation, report());
        } catch (const std::exception& e) {
            line += text("; the report cannot be written either: ", e.what());
        }
    }
    print_error(invocation, line);
    return int(code);
}

int report_error(const Invocation& invocation, ErrorCode code, const std::string& message,
                 const std::string& hint = {}) {
    return print_and_report(invocation, code, hint.empty() ? message : message + "; " + hint, [&] {
        Json report = make_report(invocation);
        report["error"] = error_json(code, message, hint);
        return report;
    });
}

// Writing the report failed: printed, but not reported.
class ReportError : public Error {
public:
    explicit ReportError(const Error& e) : Error(e.code(), e.error_class(), e.what()) {}
};

// The reader of a pipe may have read enough (`| head`). That is not an error, unlike a full disk.
bool reader_may_leave() {
    struct stat info {};
    return ::fstat(STDOUT_FILENO, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
}

// The tool was started without stdout.
bool is_stdout_closed = false;
constexpr auto closed = "stdout is closed, but the output goes there";

void write_stdout(const std::string& data) {
    std::cout.flush();
    erase_line();
    require_stdout();
    bool is_written = std::fwrite(data.data(), 1, data.size(), stdout) == data.size();
    if ((!is_written || std::fflush(stdout) != 0) && !reader_may_leave())
        throw UserError(text("stdout cannot be written: ", std::strerror(errno)));
}

// Opens closed standard descriptors on /dev/null: otherwise the next opened file would get their number, and
// the printed text. Writing to stdout still fails.
void open_standard_descriptors() {
    is_stdout_closed = ::fcntl(STDOUT_FILENO, F_GETFD) < 0 && errno == EBADF;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
        if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            ::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
}

// Text beside a file that was written may be lost: a background process may have no stdout.
bool is_text_lost(const Invocation& invocation) {
    auto& stream = requested_text().flush();
    return !stream && !reader_may_leave() && !(is_stdout_closed && invocation.writes_files);
}

int run_guarded(Invocation& invocation, const std::function<int(Invocation&)>& body) {
    try {
        int code = body(invocation);
        if (code == 0 && cut_files() > 0)
            throw ModelError("an input file was cut short while it was read; give the whole file");
        return code;
    } catch (const Exit& exit) {
        return exit.code;
    } catch (const ReportError& e) {
        print_error(invocation, e.what());
        return int(e.code());
    } catch (const UsageError& e) {
        return report_error(invocation, e.code(), e.what(), e.hint());
    } catch (const Error& e) {
        return report_error(invocation, e.code(), e.what());
    } catch (const std::bad_alloc&) {
        return report_error(invocation, ErrorCode::memory, "out of memory");
    } catch (const std::filesystem::filesystem_error& e) {
        return report_error(invocation, ErrorCode::usage,
                            text("'", e.path1().string(), "': ", e.code().message()));
    } catch (const std::exception& e) {
        return report_error(invocation, ErrorCode::internal, e.what());
    }
}

}  // namespace

std::span<const ExitCode> exit_codes() { return codes; }

std::string_view kind_of(ErrorCode code) {
    for (auto& known : codes)
        if (known.code == code) return known.kind;
    return "internal";
}

int run_tool(const char* tool, int argc, const char* const* argv,
             const std::function<int(Invocation&)>& body) {
    open_standard_descriptors();
    // Let writes fail instead: the work continues, its report is written, and no partial file is left.
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);
    SafeTextGuard safe_text;
    TextGuard guard;
    PipeScope pipes;
    Invocation invocation{tool, normalize_arguments(argc, argv), {}};
    // Command line errors are reported, too.
    invocation.json = value_of("--json", invocation.arguments);
    int code = run_guarded(invocation, body);
    if (code != 0 || !is_text_lost(invocation)) return code;
    return report_error(invocation, ErrorCode::usage,
                        is_stdout_closed ? closed : "stdout cannot be written; is the disk full?");
}

void direct_text(const Invocation& invocation) {
    static NullBuffer nowhere;
    static FittingLines fitting(&nowhere);
    int where = invocation.json == "-" ? STDERR_FILENO : STDOUT_FILENO;
    limit_text_width(invocation.wide ? SIZE_MAX : terminal_width(where, SIZE_MAX));
    if (invocation.json == "-") std::cout.rdbuf(std::cerr.rdbuf());
    if (invocation.quiet) {
        beside_silence.rdbuf(std::cout.rdbuf(&nowhere));
        return;
    }
    if (text_width() == SIZE_MAX) return;
    fitting.redirect(std::cout.rdbuf());
    std::cout.rdbuf(&fitting);
}

Json make_report(const Invocation& invocation) {
    Json report;
    report["schema_version"] = schema_version;
    report["tool"] = invocation.tool;
    report["version"] = version;
    report["command"] = invocation.arguments;
    Json& host = report["host"] = {{"cpu", cpu_model()}};
    try {
        host["isa"] = name_of(cpu_isa());
        host["threads"] = default_threads();
    } catch (const UserError&) {
        // Left out if MGE_ISA or MGE_THREADS is invalid: the reported error says so.
    }
    return report;
}

std::ostream& requested_text() { return beside_silence.rdbuf() ? beside_silence : std::cout; }

void require_stdout() {
    if (is_stdout_closed) throw UserError(closed);
}

void write_report(const Invocation& invocation, const Json& report) {
    // Names from a malicious model may not be UTF-8: use replacement characters instead of throwing.
    std::string data = report.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
    try {
        if (invocation.json == "-")
            write_stdout(data);
        else
            write_file_atomically(invocation.json, [&](std::ostream& stream) { stream << data; });
    } catch (const Error& e) {
        throw ReportError(e);
    }
}

int finish(const Invocation& invocation, const Json& result) {
    if (invocation.json.empty()) return 0;
    Json report = make_report(invocation);
    report["result"] = result;
    write_report(invocation, report);
    return 0;
}

int finish(const Invocation& invocation, const Json& result, ErrorCode code, const std::string& message) {
    Json report = make_report(invocation);
    report["result"] = result;
    return finish_report(invocation, std::move(report), code, message);
}

int finish_report(const Invocation& invocation, Json report, ErrorCode code, const std::string& message) {
    std::cout.flush();
    return print_and_report(invocation, code, message, [&] {
        report["error"] = error_json(code, message);
        return std::move(report);
    });
}

void write_output(const Invocation& invocation, const std::string& path,
                  const std::function<void(std::ostream&)>& write) {
    if (path != "-") return write_file_atomically(path, write);
    if (invocation.json == "-")
        throw UsageError("the report and the output cannot both go to stdout", "give one of them a file");
    TextStream data;
    write(data);
    write_stdout(data.str());
}

}  // namespace mge::cli
