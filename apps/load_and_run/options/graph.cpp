// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/options/graph.h"

#include <CLI/CLI.hpp>

#include "apps/cli/numbers.h"
#include "apps/cli/output_option.h"
#include "libmge/base/error.h"

namespace mge::load_and_run {
namespace {

// Given: on; given as =false or with "no" in front: off; else as it was.
void add_switch(CLI::App& app, std::string_view name, std::optional<bool>& value, std::string_view help) {
    app.add_flag_function(
        std::string(name), [&value](int64_t count) { value = count > 0; }, std::string(help));
}

void add_layouts(CLI::App& app, GraphOptions& o) {
    cli::add_layout_options(app, o.layout);
    cli::written(app.add_option("--layout-transform-dump", o.layout_transform_dump,
                                "With --layout-transform: write the transformed model"))
        ->type_name("FILE.mge");
    for (auto& p : half_precisions)
        app.add_flag(std::string(p.flag), o.optimization.*p.member, std::string(p.doc));
}

void add_switches(CLI::App& app, GraphOptions& o) {
    for (auto& s : graph_switches) add_switch(app, s.flag, o.optimization.*s.member, s.doc);
    add_switch(app, "--enable-jit", o.jit, "Fuse elementwise operators: --jit-level 1");
    app.add_option("--jit-level", o.optimization.jit,
                   "0: fuse no elementwise operators; 1: them and transpositions; 2: them and reductions")
        ->check(cli::whole_number(0, 2));
    for (auto& s : jit_switches) add_switch(app, s.flag, o.optimization.jit_config.*s.member, s.doc);
    app.add_option("--graph-opt-level", o.optimization_level,
                   "0: no passes; 1: algebra; 2: fusions and layouts too; 3: and --enable-jit. Below zero: "
                   "the same, and each run checks each value that a pass replaced")
        ->check(cli::whole_number(-3, 3))
        ->capture_default_str();
}

}  // namespace

void add(CLI::App& app, GraphOptions& o) {
    add_layouts(app, o);
    add_switches(app, o);
    app.add_flag("--optimize-for-inference", o.optimize_for_inference,
                 "Run the passes that need no shapes once, right after loading");
    app.add_flag("--const-shape", o.const_shape,
                 "Take the inputs' shapes for constants: others are an error");
    app.add_flag("--fake-first", o.fake_first, "Let the first run prepare everything and compute nothing");
    app.add_flag("--no-sanity-check", o.no_sanity_check,
                 "Do not check in a run before the timed ones that no operator changes what it only reads");
    app.add_flag("--record-comp-seq", o.record_comp_seq, "Replay a recorded list of kernels");
    app.add_flag("--record-comp-seq2", o.record_comp_seq2,
                 "The same, and give up the graph: shapes are fixed (needs --no-sanity-check)");
    app.add_flag("--disable-mem-opt", o.disable_mem_opt,
                 "Let every value have memory of its own: nothing is overwritten or shared");
}

void check(const GraphOptions& o) {
    auto fail = [](const char* option, const std::string& what) {
        throw_user(option, what, ErrorClass::value);
    };
    check(o.layout);
    if (o.optimization.f16_io_comp && o.optimization.f16_io_f32_comp)
        fail("--enable-ioc16", "contradicts --enable-io16xc32; give one of them");
    if (!o.layout_transform_dump.empty() && o.layout.transform.empty())
        fail("--layout-transform-dump", "needs --layout-transform cpu");
    auto& level = o.optimization.jit;
    if (o.jit && level && *o.jit != (*level > 0))
        fail("--jit-level", text(*level, " contradicts --enable-jit=", *o.jit ? "true" : "false"));
    if (o.optimization_level < 0 && o.optimize_for_inference)
        fail("--optimize-for-inference", text("leaves nothing for --graph-opt-level ", o.optimization_level,
                                              " to compare with: its passes run before"));
    if (o.record_level() == 2 && !o.no_sanity_check) fail("--record-comp-seq2", "needs --no-sanity-check");
    if (o.record_level() == 2 && o.fake_first)
        fail("--record-comp-seq2", "contradicts --fake-first: recording takes a run that computes");
}

}  // namespace mge::load_and_run
