// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/tool.h"

#include <cstdio>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>

#include "apps/cli/arguments.h"
#include "libmge/base/error.h"
#include "libmge/base/file.h"
#include "libmge/base/threads.h"
#include "libmge/base/version.h"
#include "libmge/device/cpu/cpu_device.h"

namespace mge::cli {
namespace {

int report_error(const Invocation& invocation, ErrorCode code, const std::string& message) {
    std::fprintf(stderr, "%s: error: %s\n", invocation.tool.c_str(), message.c_str());
    if (!invocation.json.empty()) {
        try {
            Json report = make_report(invocation);
            report["error"] = {{"code", int(code)}, {"message", message}};
            write_report(invocation, report);
        } catch (const std::exception& e) {
            std::fprintf(stderr, "%s: the report cannot be written: %s\n", invocation.tool.c_str(), e.what());
        }
    }
    return int(code);
}

}  // namespace

int run_tool(const char* tool, int argc, const char* const* argv,
             const std::function<int(Invocation&)>& body) {
    Invocation invocation{tool, normalize_arguments(argc, argv), {}};
    try {
        return body(invocation);
    } catch (const Exit& exit) {
        return exit.code;
    } catch (const Error& e) {
        return report_error(invocation, e.code(), e.what());
    } catch (const std::bad_alloc&) {
        return report_error(invocation, ErrorCode::memory, "out of memory");
    } catch (const std::exception& e) {
        return report_error(invocation, ErrorCode::internal, e.what());
    }
}

Json make_report(const Invocation& invocation) {
    Json report;
    report["schema_version"] = schema_version;
    report["tool"] = invocation.tool;
    report["version"] = version;
    report["command"] = invocation.arguments;
    report["host"] = {{"cpu", cpu_model()}, {"isa", name_of(cpu_isa())}, {"threads", default_threads()}};
    return report;
}

void write_report(const Invocation& invocation, const Json& report) {
    // Names from a hostile model may not be UTF-8: shown with replacement characters, never an exception.
    std::string text = report.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
    if (invocation.json == "-")
        std::cout << text << std::flush;
    else
        write_file_atomically(invocation.json, [&](std::ostream& stream) { stream << text; });
}

}  // namespace mge::cli
