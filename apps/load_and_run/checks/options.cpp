// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/checks/options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>

#include "apps/cli/options/numbers.h"
#include "apps/cli/options/output_option.h"
#include "apps/load_and_run/checks/comparison.h"
#include "libmge/base/error.h"
#include "libmge/base/joined.h"

namespace mge::load_and_run {
namespace {

// Options that act on runs of the whole program.
constexpr const char* for_whole_runs[] = {"--baseline",
                                          "--bin-io-dump",
                                          "--bin-out-dump",
                                          "--check-dispatch",
                                          "--check-finite",
                                          "--check-var-value",
                                          "--dump-outputs",
                                          "--fitting",
                                          "--get-static-mem-info",
                                          "--io-dump",
                                          "--io-dump-stderr",
                                          "--io-dump-stdout",
                                          "--layout-transform-dump",
                                          "--memory-timeline",
                                          "--model-dump",
                                          "--packed-model-dump",
                                          "--profile",
                                          "--profile-host",
                                          "--range",
                                          "--round-robin",
                                          "--save-plan"};

[[noreturn]] void fail(const char* option, const std::string& what) { throw_value_error(option, what); }

void add_accuracy(CLI::App& app, CheckOptions& o) {
    app.add_option(
           "--compare", o.compare,
           "Compare with values in a file: .npz, io dump (text, binary file or folder), or another model")
        ->type_name("REF");
    cli::add_model_keys(app, o.compare_keys, "compare-", "the reference (default: as the model's)");
    app.add_option("--compare-with", o.compare_with,
                   "Compare with the same model, or that of --compare, compiled in another way: "
                   "reference, heuristic, fast-run, reproducible, level=N, layout=NAME, "
                   "precision=NAME, threads=N, separated by commas")
        ->type_name("HOW,...");
    app.add_option("--rtol", o.rtol, "Allowed error relative to the size of the values (default 1e-4)")
        ->check(cli::real_number());
    app.add_option("--atol", o.atol, "Allowed absolute error, added to it")->check(cli::real_number());
    std::string metrics;
    for (auto name : metric_names()) metrics += text(metrics.empty() ? "" : "|", name);
    app.add_option("--metric", o.metric, "How errors are measured")
        ->type_name(metrics)
        ->default_str("max-abs");
    app.add_flag("--first-diff", o.first_diff,
                 "Walk through the model layer by layer and name the first operator that differs");
    cli::written(app.add_option("--write-reproducer", o.reproducer,
                                "With --first-diff: write the smallest part of the model that differs, with "
                                "its inputs and expected outputs"))
        ->type_name("FILE.mge");
    app.add_option("--range", o.range, "Fail when the magnitude of a real value is not below this")
        ->check(cli::real_number());
    app.add_flag("--check-finite", o.check_finite, "Fail when a real value is infinite or not a number");
    app.add_option("--check-var-value", o.check_var_value,
                   "Compare one value per N runs with the first run, bit by bit, from value START on")
        ->type_name("N[:START]");
    app.add_flag("--check-dispatch", o.check_dispatch, "Fail when an operator leaves a result unwritten");
}

void add_determinism(CLI::App& app, CheckOptions& o) {
    app.option_defaults()->group("Determinism");
    app.add_flag("--reproducible", o.reproducible,
                 "Only reproducible algorithms; two fresh contexts have to agree in every step, bit by bit");
    cli::written(app.add_option("--save-plan", o.save_plan, "Record which algorithm computes each step"))
        ->type_name("FILE");
    app.add_option("--replay-plan", o.replay_plan, "Run exactly the algorithms of a recorded plan")
        ->type_name("FILE");
    app.add_flag("--require-cache", o.require_cache,
                 "Fail when an algorithm is not in the fast-run cache; nothing is measured");
}

void add_inspection(CLI::App& app, CheckOptions& o) {
    app.option_defaults()->group("Inspection");
    cli::written(app.add_option("--io-dump", o.io_dump,
                                "Dump the values of the first run as text, or by name as .npz"))
        ->type_name("FILE");
    app.add_flag("--io-dump-stdout", o.io_dump_stdout, "The text, on stdout");
    app.add_flag("--io-dump-stderr", o.io_dump_stderr, "The text, on stderr");
    cli::written_with_folders(
        app.add_option("--bin-io-dump", o.bin_io_dump, "Dump the values of the first run, one file for each"))
        ->type_name("DIR");
    cli::written_with_folders(
        app.add_option("--bin-out-dump", o.bin_out_dump, "Dump the outputs of every run, warm-up included"))
        ->type_name("DIR");
    app.add_option("--mem-limit", o.mem_limit, "Never take more memory for the model than this: 64MiB, 1G")
        ->type_name("BYTES");
    cli::written(app.add_option("--memory-timeline", o.memory_timeline,
                                "Write the memory plan: positions and lifetimes of all values"))
        ->type_name("FILE.json|.svg");
    cli::written_with_folders(app.add_option("--get-static-mem-info", o.static_memory_info,
                                             "Write graph.json and StaticMemoryInfo.json as MegEngine does"))
        ->type_name("DIR");
}

void check_companions(const CheckOptions& o) {
    bool compares = !o.compare.empty() || !o.compare_with.empty();
    auto& keys = o.compare_keys;
    if (o.compare.empty() && keys.key.are_given()) fail("--compare-key-...", "needs --compare REF");
    if (o.compare.empty() && !keys.cipher.empty()) fail("--compare-cipher", "needs --compare REF");
    if (!o.reproducer.empty() && !o.first_diff) fail("--write-reproducer", "needs --first-diff");
    if (o.first_diff && !compares) fail("--first-diff", "needs --compare REF or --compare-with HOW");
    if (!o.save_plan.empty() && o.save_plan == o.replay_plan)
        fail("--save-plan", "would overwrite the plan that is replayed");
    if (o.require_cache && !o.replay_plan.empty())
        fail("--require-cache", "contradicts --replay-plan: a plan leaves nothing to look up");
    if (o.io_dump_stdout && o.io_dump_stderr) fail("--io-dump-stdout", "contradicts --io-dump-stderr");
}

void check_files(const CheckOptions& o) {
    auto must_exist = [](const char* option, const std::string& path) {
        std::error_code unknown;  // opening it reports a better error
        if (!path.empty() && !std::filesystem::exists(path, unknown) && !unknown)
            fail(option, text("'", path, "' does not exist"));
    };
    must_exist("--compare", o.compare);
    must_exist("--replay-plan", o.replay_plan);
    std::error_code unknown;
    if (std::filesystem::is_directory(o.replay_plan, unknown))
        fail("--replay-plan", text("'", o.replay_plan, "' is a folder"));
    auto& timeline = o.memory_timeline;
    if (!timeline.empty() && !timeline.ends_with(".json") && !timeline.ends_with(".svg"))
        fail("--memory-timeline", text("'", timeline, "' ends neither with .json nor with .svg"));
    for (char c : o.static_memory_info)
        if (!std::isalnum(static_cast<unsigned char>(c)) &&
            std::string_view("/_-.").find(c) == std::string_view::npos)
            fail("--get-static-mem-info",
                 text("'", o.static_memory_info, "' has a character other than letters, digits and / _ - ."));
}

}  // namespace

void add(CLI::App& app, CheckOptions& o) {
    add_accuracy(app, o);
    add_determinism(app, o);
    add_inspection(app, o);
}

void check(const CheckOptions& o) {
    if (!o.metric.empty() && !metric_from_name(o.metric))
        fail("--metric", text("there is no metric '", o.metric, "'; there are ", joined(metric_names())));
    check_companions(o);
    check_files(o);
    mge::check(compile_variant(o.compare_with, CompileOptions()));
    if (!o.check_var_value.empty()) parse_repetition(o.check_var_value);
    o.memory_limit();
}

void check_walk(const CLI::App& app, const CheckOptions& o) {
    if (!o.first_diff) return;
    for (auto* name : for_whole_runs)
        if (app.get_option(name)->count() > 0)
            fail(name, "acts on runs of the whole program; --first-diff runs one operator after the other");
}

Tolerance CheckOptions::tolerance() const {
    return {rtol, atol.value_or(0), metric_from_name(metric).value_or(Metric::max_abs)};
}

std::optional<size_t> CheckOptions::memory_limit() const {
    if (mem_limit.empty()) return std::nullopt;
    return cli::parse_bytes("--mem-limit", mem_limit);
}

Repetition parse_repetition(const std::string& text_) {
    Repetition result;
    const char *at = text_.data(), *end = at + text_.size();
    auto first = std::from_chars(at, end, result.interval);
    bool is_good = first.ec == std::errc() && result.interval >= 1;
    if (is_good && first.ptr != end) {
        is_good = *first.ptr == ':';
        auto second = std::from_chars(first.ptr + 1, end, result.start);
        is_good = is_good && second.ec == std::errc() && second.ptr == end;
    }
    if (!is_good) fail("--check-var-value", text("'", text_, "' is not N or N:START with N at least 1"));
    return result;
}

}  // namespace mge::load_and_run
