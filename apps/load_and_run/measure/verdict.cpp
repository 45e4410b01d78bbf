// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/measure/verdict.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

#include "apps/cli/files/text_file.h"
#include "apps/cli/output/json_number.h"
#include "apps/cli/output/table.h"
#include "apps/load_and_run/affinity.h"
#include "apps/load_and_run/measure/rounds.h"
#include "apps/load_and_run/report.h"
#include "libmge/base/log.h"
#include "libmge/base/number_text.h"
#include "libmge/base/threads/threads.h"
#include "libmge/device/cpu/affinity.h"
#include "libmge/device/cpu/cpu_device.h"

namespace mge::load_and_run {
namespace {

using cli::format_number;
using cli::Json;

constexpr size_t max_rounds = 40, drawings = 4000;
constexpr size_t min_rounds = 5;  // with fewer rounds a resample is not meaningful
// Starts alternate between the two sides.
constexpr size_t starts = 10, rounds_per_start = 8;
// This share of the resamples may be below `low`, and the same above `high`.
constexpr double tail = 0.01;

// The options that only affect the report or another comparison, or name files, which the run whose times are
// compared has written.
constexpr std::string_view dropped_options[] = {"--json",
                                                "--baseline",
                                                "--fail-if",
                                                "--profile",
                                                "--baseline-tool",
                                                "--plant-slowdown",
                                                "--profile-host",
                                                "--bin-io-dump",
                                                "--bin-out-dump",
                                                "--dump-fitting-model",
                                                "--dump-outputs",
                                                "--get-static-mem-info",
                                                "--io-dump",
                                                "--layout-transform-dump",
                                                "--memory-timeline",
                                                "--model-dump",
                                                "--pack-cache",
                                                "--pack-info-cryption",
                                                "--pack-info-json",
                                                "--pack-model-cryption",
                                                "--packed-model-dump",
                                                "--save-plan"};
constexpr std::string_view dropped_flags[] = {"--io-dump-stdout", "--io-dump-stderr", "--model-info"};

std::optional<double> parse_number(std::string_view word) {
    double value = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value))
        return std::nullopt;
    return value;
}

double figure_of(const Condition& condition, std::vector<double> round) {
    if (condition.figure == "mean") {
        double sum = 0;
        for (double time : round) sum += time;
        return sum / double(round.size());
    }
    std::ranges::sort(round);
    if (condition.figure == "min") return round.front();
    if (condition.figure == "max") return round.back();
    return cli::percentile(round, condition.percentile / 100);
}

// The figure of each round. Rounds of both sides have the same length: high percentiles depend on it.
std::vector<double> figures(const Condition& condition, std::span<const double> times, size_t length) {
    std::vector<double> result;
    for (size_t at = 0; at + length <= times.size(); at += length)
        result.push_back(figure_of(
            condition, {times.begin() + std::ptrdiff_t(at), times.begin() + std::ptrdiff_t(at + length)}));
    return result;
}

std::vector<double> figures(const Condition& condition, const std::vector<std::vector<double>>& rounds) {
    std::vector<double> result;
    for (auto& round : rounds) result.push_back(figure_of(condition, round));
    return result;
}

double median(std::vector<double> values) {
    auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double median_of_drawing(const std::vector<double>& values, std::mt19937_64& generator) {
    std::uniform_int_distribution<size_t> pick(0, values.size() - 1);
    std::vector<double> drawn(values.size());
    for (double& value : drawn) value = values[pick(generator)];
    return median(std::move(drawn));
}

double percent_more(double a, double b) { return 100 * (b / a - 1); }

// `draw` gives the change, in per cent, that a drawing of the rounds shows.
void bound(Verdict& verdict, const Condition& condition,
           const std::function<double(std::mt19937_64&)>& draw) {
    std::mt19937_64 generator(verdict.rounds);
    std::vector<double> changes(drawings);
    for (double& change : changes) change = draw(generator);
    std::ranges::sort(changes);
    verdict.low_percent = cli::percentile(changes, tail);
    verdict.high_percent = cli::percentile(changes, 1 - tail);
    verdict.is_worse = verdict.low_percent > condition.limit_percent;
}

struct Baseline {
    std::vector<std::string> command;
    std::string model, cpu;
    int threads = 0;
    std::vector<std::vector<double>> times;  // times of each test
    std::vector<Json> inputs;                // inputs of each test: name, dtype, shape
};

Baseline read_baseline(const std::string& path) {
    Json report = Json::parse(cli::read_json_text(path), nullptr, false);
    auto bad = [&](const char* what) {
        return ModelError(text("'", path, "' is not a baseline: ", what, "; make one with --json FILE"));
    };
    if (report.is_discarded()) throw bad("it is not JSON");
    if (!report.is_object() || report.value("tool", "") != "load_and_run" || !report.contains("result"))
        throw bad("it is not a report of load_and_run");
    Baseline result;
    try {
        result.command = report.at("command").get<std::vector<std::string>>();
        result.threads = cli::whole_number<int>(report.at("host").at("threads"));
        result.cpu = text(report["host"].value("cpu", ""), ", ", report["host"].value("isa", ""));
        result.model = report.at("result").at("model").get<std::string>();
        for (auto& test : report.at("result").at("tests")) {
            result.times.push_back(test.at("times_ms").get<std::vector<double>>());
            result.inputs.push_back(test.at("inputs"));
        }
    } catch (const Json::exception&) {
        throw bad("it has no times");
    }
    for (auto& times : result.times)
        if (times.empty() || std::ranges::any_of(times, [](double t) { return !(t > 0); }))
            throw bad("it has no times");
    return result;
}

// The command without the dropped options and flags. All options but flags have a value.
std::vector<std::string> command_to_repeat(const std::vector<std::string>& command) {
    std::vector<std::string> result;
    for (size_t i = 0; i < command.size(); ++i) {
        size_t equals = command[i].find('=');
        std::string name = command[i].substr(0, equals);
        if (std::ranges::find(dropped_options, name) != std::end(dropped_options))
            i += equals == std::string::npos;
        else if (std::ranges::find(dropped_flags, name) == std::end(dropped_flags))
            result.push_back(command[i]);
    }
    return result;
}

// CPUs for the n-th start of both sides: as many as they have threads, different ones each time. Empty: all
// CPUs, or those of the options.
std::vector<int> cpus_of_start(size_t n, const Job& job, const Baseline& baseline) {
    auto allowed = allowed_cpus();
    auto threads = size_t(default_threads());
    if (!pinned_cpus(job.options).empty() || baseline.threads != int(threads) || threads >= allowed.size())
        return {};
    std::vector<int> cpus(threads);
    for (size_t i = 0; i < threads; ++i) cpus[i] = allowed[(n * threads + i) % allowed.size()];
    return cpus;
}

using Rounds = std::vector<std::vector<double>>;  // times of each

// Rounds of both sides, paired by index.
struct Sides {
    Rounds baseline, current;
};

// The order of the two turns each time.
void take_turns(Sides& sides, RoundServer& before, RoundServer& now, size_t test, double milliseconds) {
    for (size_t round = 0; round < rounds_per_start; ++round)
        for (bool is_first : {true, false})
            if (is_first == (round % 2 == 0))
                sides.baseline.push_back(before.round(test, milliseconds));
            else
                sides.current.push_back(now.round(test, milliseconds));
}

// Fresh times of every test.
std::vector<Sides> measure_in_turns(Job& job, const Baseline& baseline) {
    auto& o = job.options.run;
    auto own = command_to_repeat(job.invocation.arguments);
    if (o.planted_slowdown > 0) own.push_back(text("--plant-slowdown=", o.planted_slowdown));
    auto other = command_to_repeat(baseline.command);
    std::vector<Sides> result(job.tests.size());
    for (size_t n = 0; n < starts; ++n) {
        auto cpus = cpus_of_start(n, job, baseline);
        RoundServer before(o.baseline_tool, other, cpus), now("/proc/self/exe", own, cpus);
        for (size_t test = 0; test < job.tests.size(); ++test) {
            double total = std::max(o.duration * 1000, job.results[test].latency.mean * o.iterations);
            take_turns(result[test], before, now, test, total / double(starts * rounds_per_start));
        }
    }
    return result;
}

std::string name_of_file(const std::string& path) { return std::filesystem::path(path).filename(); }

// Times of different work are not comparable. Differences that may be intended only cause a warning.
void check_comparable(const Job& job, const Baseline& baseline) {
    auto& path = job.options.run.baseline;
    if (baseline.times.size() != job.tests.size())
        throw_value_error("--baseline", "it has ", counted(baseline.times.size(), "test"), ", this run ",
                          job.tests.size(), "; compare runs of the same command");
    for (auto& test : job.tests)
        if (Json now = ports_json(test.program->inputs()); now != baseline.inputs[test.index])
            throw_value_error("--baseline", "the inputs of test ", test.index, " were ",
                              baseline.inputs[test.index].dump(), ", but now they are ", now.dump(),
                              "; compare runs of the same command");
    auto warn = [&](const char* what, const auto& before, const auto& now) {
        log_warning(text("load_and_run: '", path, "' has another ", what, ": ", before, ", now ", now));
    };
    std::string model = name_of_file(baseline.model), own = name_of_file(job.options.run.model.path);
    if (model != own) warn("model", model, own);
    if (!job.options.run.baseline_tool.empty()) return;  // it runs here, with its own threads
    std::string cpu = text(cpu_model(), ", ", name_of(cpu_isa()));
    if (baseline.cpu != cpu) warn("machine", baseline.cpu, cpu);
    if (baseline.threads != default_threads()) warn("number of threads", baseline.threads, default_threads());
}

// The percentile of a shorter round would not be the percentile of any of its runs.
size_t needed_runs(const Condition& condition) {
    double share = std::min(condition.percentile, 100 - condition.percentile) / 100;
    bool is_middle = condition.percentile == 50, is_percentile = condition.figure.starts_with('p');
    return is_percentile && !is_middle && share > 0 ? size_t(std::ceil(1 / share - 1e-9)) : 1;
}

[[noreturn]] void fail_for_too_few(const Condition& condition, size_t runs) {
    throw_value_error("--fail-if", condition.figure, " needs ",
                      counted(needed_runs(condition) * min_rounds, "run"), ", there are ", runs,
                      "; run both for longer with --duration");
}

Json verdict_json(size_t test, const Condition& condition, const Verdict& v) {
    return {{"test", test},
            {"condition", condition.text},
            {"figure", condition.figure},
            {"baseline_ms", v.baseline},
            {"current_ms", v.current},
            {"change_percent", v.change_percent},
            {"low_percent", v.low_percent},
            {"high_percent", v.high_percent},
            {"rounds", v.rounds},
            {"is_worse", v.is_worse}};
}

std::string percent(double value) { return text(value < 0 ? "" : "+", format_number(value, 2), " %"); }

}  // namespace

Condition parse_condition(const std::string& given) {
    auto fail = [&](const char* what) {
        throw_value_error("--fail-if", "'", given, "': ", what,
                          "; expected p50>+3%, mean>+5% (min, mean, max, pNN)");
    };
    std::string condition = given;
    std::erase(condition, ' ');
    size_t greater = condition.find('>');
    if (greater == std::string::npos) fail("there is no '>'");
    Condition result{given, condition.substr(0, greater), 0, 0};
    std::string_view limit = std::string_view(condition).substr(greater + 1);
    if (limit.starts_with('+')) limit.remove_prefix(1);
    if (!limit.ends_with('%')) fail("the limit is not a percentage");
    limit.remove_suffix(1);
    auto number = parse_number(limit);
    if (!number || *number < 0) fail("the limit is not a number of at least 0");
    result.limit_percent = *number;
    if (result.figure == "min" || result.figure == "mean" || result.figure == "max") return result;
    auto nth = result.figure.starts_with('p') ? parse_number(std::string_view(result.figure).substr(1))
                                              : std::nullopt;
    if (!nth || *nth < 0 || *nth > 100) fail("the figure is unknown");
    result.percentile = *nth;
    return result;
}

Verdict judge(const Condition& condition, std::span<const double> baseline, std::span<const double> current) {
    size_t runs = std::min(baseline.size(), current.size());
    size_t length = std::max(needed_runs(condition), runs / max_rounds);
    if (length > 1 && runs < length * min_rounds) fail_for_too_few(condition, runs);
    auto before = figures(condition, baseline, length), now = figures(condition, current, length);
    Verdict result{.baseline = median(before), .current = median(now)};
    result.rounds = std::min(before.size(), now.size());
    result.change_percent = percent_more(result.baseline, result.current);
    bound(result, condition, [&](auto& generator) {
        double a = median_of_drawing(before, generator);
        return percent_more(a, median_of_drawing(now, generator));
    });
    return result;
}

Verdict judge_pairs(const Condition& condition, const std::vector<double>& baseline,
                    const std::vector<double>& current) {
    std::vector<double> ratios(baseline.size());
    for (size_t i = 0; i < ratios.size(); ++i) ratios[i] = current[i] / baseline[i];
    Verdict result{.baseline = median(baseline), .current = median(current), .rounds = ratios.size()};
    result.change_percent = percent_more(1, median(ratios));
    bound(result, condition,
          [&](auto& generator) { return percent_more(1, median_of_drawing(ratios, generator)); });
    return result;
}

void check_baseline(const std::string& path) { read_baseline(path); }

void compare_with_baseline(Job& job) {
    auto& o = job.options.run;
    if (o.baseline.empty()) return;
    Baseline baseline = read_baseline(o.baseline);
    check_comparable(job, baseline);
    std::vector<Sides> in_turns;
    if (!o.baseline_tool.empty()) in_turns = measure_in_turns(job, baseline);
    auto conditions = o.fail_if;
    if (conditions.empty()) conditions.push_back("p50>+0%");  // for the report; no run fails because of it
    std::vector<std::vector<std::string>> rows{
        {"test", "figure", "baseline ms", "now ms", "change", "surely between", "verdict"}};
    job.report["baseline"] = Json::array();
    for (size_t i = 0; i < job.tests.size(); ++i)
        for (auto& wanted : conditions) {
            Condition condition = parse_condition(wanted);
            Verdict v = in_turns.empty() ? judge(condition, baseline.times[i], job.results[i].measured.times)
                                         : judge_pairs(condition, figures(condition, in_turns[i].baseline),
                                                       figures(condition, in_turns[i].current));
            job.report["baseline"].push_back(verdict_json(i, condition, v));
            bool fails = v.is_worse && !o.fail_if.empty();
            rows.push_back({std::to_string(i), condition.figure, format_number(v.baseline, 4),
                            format_number(v.current, 4), percent(v.change_percent),
                            percent(v.low_percent) + " and " + percent(v.high_percent),
                            fails               ? "worse"
                            : o.fail_if.empty() ? "-"
                                                : "ok"});
            if (fails)
                job.fail(ErrorCode::regression,
                         text("test ", i, ": ", condition.figure, " rose by ", percent(v.change_percent),
                              " (surely more than ", percent(v.low_percent), "), allowed is ",
                              percent(condition.limit_percent)));
        }
    std::cout << "\nCompared with '" << o.baseline << "'" << (in_turns.empty() ? "" : ", in turns") << '\n';
    cli::print_table(std::cout, rows);
}

}  // namespace mge::load_and_run
