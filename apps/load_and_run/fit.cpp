// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/fit.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/output/progress.h"
#include "apps/cli/output/table.h"
#include "apps/load_and_run/compile_options.h"
#include "apps/load_and_run/fit_state.h"
#include "apps/load_and_run/measure/clock.h"
#include "libmge/base/files/file.h"
#include "libmge/base/hash.h"
#include "libmge/base/joined.h"
#include "libmge/base/version.h"
#include "libmge/device/cpu/cpu_device.h"

namespace mge::load_and_run {
namespace {

constexpr size_t rounds = 15;
// A turn of one candidate lasts about this long, and one run at least.
constexpr double turn_ms = 8;

struct Change {
    const char* flag;
    void (*apply)(CompileOptions&);
};

void measure_algorithms(CompileOptions& o) {
    o.select.profile = true;
    o.select.heuristic = false;
    o.select.optimized = true;
}

constexpr Change fast_run{"--fast_run=true", measure_algorithms};
constexpr Change nchw88{"--enable_nchw88=true", [](CompileOptions& o) { o.layout = "NCHW88"; }};
constexpr Change layout_transform{"--layout_transform=\"cpu\"",
                                  [](CompileOptions& o) { o.measure_layouts = true; }};
constexpr Change no_packing{"--weight_preprocess=false",
                            [](CompileOptions& o) { o.switches.pack_weights = false; }};
constexpr Change no_jit{"--enable_jit=false", [](CompileOptions& o) { o.switches.fuse_elementwise = 0; }};
constexpr Change algebra_only{"--graph_opt_level=1", [](CompileOptions& o) { o.level = 1; }};
constexpr Change no_epilogue{"--enable_fuse_conv_bias_nonlinearity=false",
                             [](CompileOptions& o) { o.switches.fuse_bias = false; }};
constexpr Change no_residual{"--enable_fuse_conv_bias_with_z=false",
                             [](CompileOptions& o) { o.switches.fuse_residual = false; }};
constexpr Change no_grain{"--fuse_grain=false", [](CompileOptions& o) { o.switches.join_means = false; }};

using Set = std::vector<Change>;

// First these, then each single change on top of the best of them.
const std::vector<Set>& first_sets() {
    static const std::vector<Set> sets{{},
                                       {fast_run},
                                       {nchw88},
                                       {nchw88, fast_run},
                                       {layout_transform},
                                       {layout_transform, fast_run},
                                       {no_jit},
                                       {algebra_only}};
    return sets;
}
constexpr std::array refinements{no_packing, no_jit, no_epilogue, no_residual, no_grain};

struct Candidate {
    Set set;
    CompileOptions options;
    Test test;
    std::string state = "ok", signature;
    std::vector<double> times;
    size_t turns = 0;
    double p50 = 0;
    bool is_ok() const { return state == "ok"; }
};

std::string flags_of(const Set& set) {
    auto flags = joined(set, " ", [](auto& change) { return change.flag; });
    return flags.empty() ? "(none)" : flags;
}

// The signature of a program: its steps and their layouts.
std::string signature_of(const Program& program) {
    std::string result;
    for (auto& step : program.steps()) {
        result += text(step.op, '|', step.algorithm);
        for (ValueId id : step.outputs) result += text(' ', program.values()[size_t(id)].spec);
        result += '\n';
    }
    return result;
}

// Everything that the figures of candidates depend on.
cli::Json subject_of_fitting(const Job& job, const CompileOptions& options) {
    if (job.options.run.fitting_state.empty()) return cli::Json::object();
    auto bytes = MappedFile::open(job.options.run.model.path);
    return {{"model", text(checksum(bytes->bytes().data(), bytes->bytes().size()))},
            {"inputs", joined(specs_of(job.tests.at(0).inputs), "; ")},
            {"options", to_json(options)},
            {"threads", options.threads},
            {"cpu", cpu_model()},
            {"isa", name_of(cpu_isa())},
            {"version", mge::version}};
}

class Fitting {
public:
    explicit Fitting(Job& job)
        : job_(job),
          plain_(job.session->compile_options()),
          known_(job.options.run.fitting_state, subject_of_fitting(job, plain_)) {}

    void run() {
        cli::Progress progress("fitting", first_sets().size() + refinements.size());
        for (auto& set : first_sets()) {
            add(set);
            progress.advance();
        }
        time_all(rounds);
        Set best = winner().set;
        for (auto& change : refinements) {
            bool is_in = std::ranges::any_of(best, [&](auto& c) { return c.flag == change.flag; });
            if (!is_in) {
                Set set = best;
                set.push_back(change);
                add(set);
            }
            progress.advance();
        }
        time_all(2 * rounds);
        report();
        job_.session->use(winner().options, winner().test.program);
    }

private:
    void add(const Set& set) {
        Candidate candidate;
        candidate.set = set;
        candidate.options = plain_;
        for (auto& change : set) change.apply(candidate.options);
        auto* known = known_.find(flags_of(set));
        // The outputs of the plain set are the reference, so its errors are those of the tool.
        bool is_plain = set.empty();
        if (known && known->state != "ok" && !is_plain) {
            candidate.state = known->state;
        } else {
            try {
                prepare(candidate);
            } catch (const Error& e) {
                if (is_plain) throw;
                candidate.state = text("rejected: ", e.what());
            }
        }
        if (known && candidate.is_ok()) {
            candidate.times = known->times;
            candidate.turns = known->turns;
        }
        keep(candidate);
        candidates_.push_back(std::move(candidate));
        known_.write();
    }

    void prepare(Candidate& candidate) {
        candidate.test.inputs = job_.tests.at(0).inputs;
        CompileOptions options = candidate.options;
        options.log_level = 0;  // errors of candidates are not shown
        job_.session->use(options);
        job_.session->prepare(candidate.test);
        candidate.signature = signature_of(*candidate.test.program);
        for (auto& known : candidates_)
            if (known.is_ok() && known.signature == candidate.signature) {
                candidate.state = text("the same program as ", flags_of(known.set));
                candidate.test = {};
                return;
            }
        job_.session->first_run(candidate.test);
        if (expected_.empty()) {
            for (size_t i = 0; i < candidate.test.program->outputs().size(); ++i)
                expected_.push_back(candidate.test.context->copy_output(i));
            return;
        }
        candidate.test.expected = expected_;
        auto& checks = job_.options.checks;
        auto comparison = compare_with_expected(
            candidate.test, checks.has_tolerance() ? std::optional(checks.tolerance()) : std::nullopt);
        if (comparison.mismatches.empty()) return;
        auto& m = comparison.mismatches[0];
        candidate.state = text("rejected: output '", m.output, "' is ", m.got, " instead of ", m.expected);
        candidate.test = {};
    }

    void keep(const Candidate& candidate) {
        known_.set(flags_of(candidate.set), {candidate.state, candidate.turns, candidate.times});
    }

    // `all_turns` counts those of an earlier phase, and of a search that was interrupted.
    void time_all(size_t all_turns) {
        for (size_t round = 0; round < rounds; ++round) {
            for (size_t i = 0; i < candidates_.size(); ++i) {
                auto& candidate = candidates_[(i + round) % candidates_.size()];
                if (!candidate.is_ok() || candidate.turns >= all_turns) continue;
                turn(candidate);
                keep(candidate);
            }
            known_.write();
        }
        for (auto& candidate : candidates_)
            if (candidate.is_ok()) candidate.p50 = cli::summarize(candidate.times).p50;
    }

    static void turn(Candidate& candidate) {
        ++candidate.turns;
        auto begin = Clock::now();
        auto& context = *candidate.test.context;
        auto run = [&] {
            context.run();
            context.wait();
        };
        run();  // fills the caches, so that earlier candidates do not affect the time
        do {
            auto start = Clock::now();
            run();
            candidate.times.push_back(milliseconds_since(start));
        } while (milliseconds_since(begin) < turn_ms);
    }

    const Candidate& winner() const {
        const Candidate* best = &candidates_.at(0);
        for (auto& candidate : candidates_)
            if (candidate.is_ok() && candidate.p50 < best->p50) best = &candidate;
        return *best;
    }

    void report() {
        std::vector<std::vector<std::string>> rows{{"options", "p50 ms", "runs", "state"}};
        auto list = cli::Json::array();
        for (auto& c : candidates_) {
            rows.push_back({flags_of(c.set), c.is_ok() ? cli::format_number(c.p50, 4) : "-",
                            std::to_string(c.times.size()), c.state});
            list.push_back({{"options", flags_of(c.set)}, {"state", c.state}, {"runs", c.times.size()}});
            if (c.is_ok()) list.back()["p50_ms"] = c.p50;
        }
        cli::print_table(std::cout, rows);
        auto& best = winner();
        std::cout << "best options:\n";
        auto flags = cli::Json::array();
        for (auto& change : best.set) {
            std::cout << change.flag << '\n';
            flags.push_back(change.flag);
        }
        job_.report["fitting"] = {{"candidates", list},
                                  {"winner", {{"options", flags}, {"p50_ms", best.p50}}}};
    }

    Job& job_;
    CompileOptions plain_;
    std::vector<Candidate> candidates_;
    Tensors expected_;
    FitState known_;
};

// --dry-run: the sets of options that would be tried.
void print_plan(Job& job) {
    auto sets = cli::Json::array();
    std::cout << "--fitting would compile, check and time these sets of options by turns, " << rounds
              << " times at least " << turn_ms << " ms each:\n";
    for (auto& set : first_sets()) {
        std::cout << "  " << flags_of(set) << '\n';
        sets.push_back(flags_of(set));
    }
    auto refined = cli::Json::array();
    std::cout << "and then each of these on top of the fastest set:\n";
    for (auto& change : refinements) {
        std::cout << "  " << change.flag << '\n';
        refined.push_back(change.flag);
    }
    double seconds = double(2 * first_sets().size() + refinements.size()) * rounds * turn_ms / 1000;
    std::cout << "timing takes " << cli::format_number(seconds, 1)
              << " s or more; --fast_run measures algorithms that are not in the cache before\n";
    job.report["fitting_plan"] = {{"sets", sets}, {"refinements", refined}, {"least_seconds", seconds}};
    job.is_done = true;
}

}  // namespace

void fit(Job& job) {
    if (!job.options.run.fitting) return;
    job.options.run.dry_run ? print_plan(job) : Fitting(job).run();
}

}  // namespace mge::load_and_run
