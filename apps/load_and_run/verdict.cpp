// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/verdict.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "apps/cli/table.h"
#include "apps/load_and_run/rounds.h"

namespace mge::load_and_run {
namespace {

using cli::format_number;
using cli::Json;

constexpr size_t max_rounds = 40, drawings = 4000;
// Of the drawings this many may lie below `low` and as many above `high`.
constexpr double tail = 0.01;

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

struct Baseline {
    std::vector<std::string> command;
    std::vector<std::vector<double>> times;  // of each test
};

Baseline read_baseline(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw_user("--baseline", text("'", path, "' cannot be read"), ErrorClass::value);
    Json report = Json::parse(file, nullptr, false);
    auto bad = [&](const char* what) {
        return ModelError(text("'", path, "' is no baseline: ", what, "; make one with --json FILE"));
    };
    if (report.is_discarded()) throw bad("it is not JSON");
    if (!report.is_object() || report.value("tool", "") != "load_and_run" || !report.contains("result"))
        throw bad("it is not a report of load_and_run");
    Baseline result;
    try {
        result.command = report.at("command").get<std::vector<std::string>>();
        for (auto& test : report.at("result").at("tests"))
            result.times.push_back(test.at("times_ms").get<std::vector<double>>());
    } catch (const Json::exception&) {
        throw bad("it has no times");
    }
    for (auto& times : result.times)
        if (times.empty() || std::ranges::any_of(times, [](double t) { return !(t > 0); }))
            throw bad("it has no times");
    return result;
}

// The command without what only the report or another comparison was for.
std::vector<std::string> command_to_repeat(const std::vector<std::string>& command) {
    static const std::set<std::string> dropped{"--json", "--baseline", "--fail-if", "--baseline-tool",
                                               "--plant-slowdown"};
    std::vector<std::string> result;
    for (size_t i = 0; i < command.size(); ++i) {
        size_t equals = command[i].find('=');
        if (!dropped.contains(command[i].substr(0, equals)))
            result.push_back(command[i]);
        else if (equals == std::string::npos)
            ++i;
    }
    return result;
}

struct Sides {
    std::vector<double> baseline, current;
};

// Fresh times of both, round by round, the order of the two turning each time.
Sides interleave(Job& job, RoundServer& server, size_t test, const Condition& condition) {
    auto& o = job.options.run;
    double total = std::max(o.duration * 1000, job.results[test].latency.mean * o.iterations);
    double length = total / double(max_rounds);
    Sides sides;
    auto add = [&](std::vector<double>& to, const std::vector<double>& times) {
        // One figure per round: rounds of the two sides need not have the same number of runs.
        to.push_back(figure_of(condition, times));
    };
    for (size_t round = 0; round < max_rounds; ++round)
        for (bool first : {true, false}) {
            if (first == (round % 2 == 0))
                add(sides.baseline, server.round(test, length));
            else
                add(sides.current, time_round(*job.tests[test].context, job.options, length));
        }
    return sides;
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

Condition parse_condition(const std::string& condition) {
    auto fail = [&](const char* what) {
        throw_user("--fail-if",
                   text("'", condition, "': ", what, "; expected p50>+3%, mean>+5% (min, mean, max, pNN)"),
                   ErrorClass::value);
    };
    size_t greater = condition.find('>');
    if (greater == std::string::npos) fail("there is no '>'");
    Condition result{condition, condition.substr(0, greater), 0, 0};
    std::string_view limit = std::string_view(condition).substr(greater + 1);
    if (limit.starts_with('+')) limit.remove_prefix(1);
    if (!limit.ends_with('%')) fail("the limit is no percentage");
    limit.remove_suffix(1);
    auto number = parse_number(limit);
    if (!number || *number < 0) fail("the limit is no number that is at least 0");
    result.limit_percent = *number;
    if (result.figure == "min" || result.figure == "mean" || result.figure == "max") return result;
    auto nth = result.figure.starts_with('p') ? parse_number(std::string_view(result.figure).substr(1))
                                              : std::nullopt;
    if (!nth || *nth < 0 || *nth > 100) fail("there is no such figure");
    result.percentile = *nth;
    return result;
}

Verdict judge(const Condition& condition, std::span<const double> baseline, std::span<const double> current) {
    size_t length = std::max<size_t>(1, std::min(baseline.size(), current.size()) / max_rounds);
    return judge_rounds(condition, figures(condition, baseline, length), figures(condition, current, length));
}

Verdict judge_rounds(const Condition& condition, const std::vector<double>& before,
                     const std::vector<double>& now) {
    Verdict result;
    result.rounds = std::min(before.size(), now.size());
    result.baseline = median(before);
    result.current = median(now);
    auto change = [](double a, double b) { return 100 * (b / a - 1); };
    result.change_percent = change(result.baseline, result.current);
    std::mt19937_64 generator(before.size());
    std::vector<double> changes(drawings);
    for (double& drawn : changes) {
        double a = median_of_drawing(before, generator);
        drawn = change(a, median_of_drawing(now, generator));
    }
    std::ranges::sort(changes);
    result.low_percent = cli::percentile(changes, tail);
    result.high_percent = cli::percentile(changes, 1 - tail);
    result.is_worse = result.low_percent > condition.limit_percent;
    return result;
}

Verdict verdict_on(Job& job, const Baseline& baseline, RoundServer* server, size_t test,
                   const Condition& condition) {
    if (!server) return judge(condition, baseline.times[test], job.results[test].measured.times);
    Sides sides = interleave(job, *server, test, condition);
    return judge_rounds(condition, sides.baseline, sides.current);
}

void compare_with_baseline(Job& job) {
    auto& o = job.options.run;
    if (o.baseline.empty()) return;
    Baseline baseline = read_baseline(o.baseline);
    if (baseline.times.size() != job.tests.size())
        throw_user("--baseline",
                   text("it has ", baseline.times.size(), " tests, this run ", job.tests.size(),
                        "; compare runs of the same command"),
                   ErrorClass::value);
    std::optional<RoundServer> server;
    if (!o.baseline_tool.empty()) server.emplace(o.baseline_tool, command_to_repeat(baseline.command));
    auto conditions = o.fail_if;
    if (conditions.empty()) conditions.push_back("p50>+0%");  // for the report; nothing fails by it
    std::vector<std::vector<std::string>> rows{
        {"test", "figure", "baseline ms", "now ms", "change", "surely between", "verdict"}};
    job.report["baseline"] = Json::array();
    for (size_t i = 0; i < job.tests.size(); ++i)
        for (auto& wanted : conditions) {
            Condition condition = parse_condition(wanted);
            Verdict v = verdict_on(job, baseline, server ? &*server : nullptr, i, condition);
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
    std::cout << "\nCompared with '" << o.baseline << "'" << (server ? ", in turns" : "") << '\n';
    cli::print_table(std::cout, rows);
}

}  // namespace mge::load_and_run
