// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/options/graph.h"

#include <CLI/CLI.hpp>

#include "apps/cli/options/output_option.h"
#include "apps/load_and_run/options/compile_flags.h"
#include "libmge/base/error.h"

namespace mge::load_and_run {
namespace {

void add_layouts(CLI::App& app, GraphOptions& o) {
    cli::add_layout_options(app, o.layout);
    auto* transformed = app.add_option("--layout-transform-dump", o.layout_transform_dump,
                                       "With --layout-transform: write the transformed model");
    cli::replaces(cli::written(transformed), "model")->type_name("FILE.mge");
}

// --enable-jit is --jit-level 1; both may be given.
void add_jit(CLI::App& app, GraphOptions& o) {
    app.add_flag_function(
        "--enable-jit", [&o](int64_t count) { o.jit = count > 0; },
        "Fuse elementwise operators: --jit-level 1");
}

}  // namespace

void add(CLI::App& app, GraphOptions& o) {
    add_layouts(app, o);
    add_jit(app, o);
    add_compile_flags(app, o.compile);
    app.add_flag("--optimize-for-inference", o.optimize_for_inference,
                 "Run the passes that need no shapes once, right after loading");
    app.add_flag("--no-sanity-check", o.no_sanity_check,
                 "Do not check in a run before the timed ones that no operator changes what it only reads");
    app.add_flag("--record-comp-seq", o.record_comp_seq, "Replay a recorded list of kernels");
    app.add_flag("--record-comp-seq2", o.record_comp_seq2,
                 "The same, and give up the graph: shapes are fixed (needs --no-sanity-check)");
    app.add_flag("--disable-mem-opt", o.disable_mem_opt,
                 "Give every value separate memory: nothing is overwritten or shared");
}

void check(const GraphOptions& o) {
    auto fail = [](const char* option, const std::string& what) { throw_value_error(option, what); };
    check(o.layout);
    if (!o.layout_transform_dump.empty() && o.layout.transform.empty())
        fail("--layout-transform-dump", "needs --layout-transform cpu");
    auto& level = o.compile.switches.fuse_elementwise;
    if (o.jit && level && *o.jit != (*level > 0))
        fail("--jit-level", text(*level, " contradicts --enable-jit=", *o.jit ? "true" : "false"));
    if (o.compile.level < 0 && o.optimize_for_inference)
        fail("--optimize-for-inference", text("leaves nothing for --graph-opt-level ", o.compile.level,
                                              " to compare with: its passes run before"));
    if (o.record_level() == 2 && !o.no_sanity_check) fail("--record-comp-seq2", "needs --no-sanity-check");
    mge::check(with_graph_options(o));
}

CompileOptions with_graph_options(const GraphOptions& o) {
    CompileOptions result = o.compile;
    if (o.jit && !result.switches.fuse_elementwise) result.switches.fuse_elementwise = *o.jit ? 1 : 0;
    if (!o.layout.formats.empty()) result.layout = o.layout.formats[0];
    result.measure_layouts = !o.layout.transform.empty();
    if (o.disable_mem_opt) result.plan.in_place = result.plan.reuse = false;
    result.var_sanity_check_first_run = !o.no_sanity_check;
    result.comp_node_seq_record_level = o.record_level();
    return result;
}

}  // namespace mge::load_and_run
