// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/options/layout_options.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cctype>

#include "libmge/base/error.h"
#include "libmge/compile/options/option_list.h"

namespace mge::cli {
namespace {

constexpr std::array formats{"NCHW4",  "CHWN4",  "NCHW44", "NCHW88",
                             "NCHW32", "NCHW64", "NHWCD4", "NCHW44_DOT"};

}  // namespace

std::string layout_flag(std::string format) {
    for (char& c : format) c = c == '_' ? '-' : char(std::tolower(uint8_t(c)));
    return "--enable-" + format;
}

void add_layout_options(CLI::App& app, LayoutOptions& o) {
    for (std::string name : formats)
        app.add_flag_function(
            layout_flag(name),
            [&o, name](int64_t count) {
                std::erase(o.formats, name);
                if (count > 0) o.formats.push_back(name);
            },
            "Let convolutions run on images in the layout " + name);
    app.add_option("--layout-transform", o.transform, doc_of("measure_layouts"))->type_name("cpu|cuda");
}

void check(const LayoutOptions& o) {
    auto fail = [](const char* option, const std::string& what) { throw_value_error(option, what); };
    if (o.formats.size() > 1)
        fail("--enable-...", text("the layouts ", o.formats[0], " and ", o.formats[1],
                                  " contradict each other; give one of them"));
    if (o.transform.empty()) return;
    if (o.transform != "cpu" && o.transform != "cuda")
        fail("--layout-transform", text("'", o.transform, "' is neither cpu nor cuda"));
    if (o.transform == "cuda")
        throw DeviceError("[--layout-transform] layouts for GPUs are not chosen by this version");
    if (!o.formats.empty())
        fail("--layout-transform", text("contradicts the layout ", o.formats[0], "; give one of them"));
}

}  // namespace mge::cli
