// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "apps/cli/table.h"
#include "apps/load_and_run/checks/comparison.h"
#include "apps/load_and_run/checks/json.h"

namespace mge::load_and_run {
namespace {

using cli::Json;

// More rows than this are for the report, not for people.
constexpr size_t printed_values = 20;

std::string short_number(double value) { return text(value); }

std::vector<std::string> row_of(const ComparedValue& v) {
    auto& c = v.comparison;
    return {c.passed() ? "ok" : "DIFFERS",
            v.name,
            text(v.spec.shape),
            c.mismatch.empty() ? short_number(c.error) : c.mismatch,
            short_number(c.limit),
            text(c.unequal, " of ", c.count)};
}

std::string sources_text(const OperatorDifference& d, const std::vector<std::string>& names) {
    std::string result;
    for (NodeId id : d.sources) result += (result.empty() ? "" : ", ") + names[size_t(id)];
    return result;
}

std::vector<std::string> figures_row(const char* title, const TensorFigures& f) {
    return {title,       text(f.min),       text(f.max),          text(f.mean),
            text(f.rms), text(f.deviation), text(f.not_a_number), text(f.infinite)};
}

std::string operator_text(const OperatorDifference& d) {
    return text("step ", d.step, ", ", d.op, d.name.empty() ? "" : " '" + d.name + "'", " (algorithm ",
                d.algorithm, "), output '", d.output, "'");
}

void print_difference(const OperatorDifference& d, const WalkedDifference& walked) {
    std::cout << operator_text(d) << '\n';
    if (!d.sources.empty())
        std::cout << "  nodes of the model: " << sources_text(d, walked.source_names) << '\n';
    std::cout << "  " << explain(d.comparison, d.spec.shape, walked.tolerance) << '\n';
    std::vector<std::vector<std::string>> rows{
        {"  value", "min", "max", "mean", "rms", "deviation", "nan", "infinite"}};
    rows.push_back(figures_row("  here", d.got));
    if (d.expected) rows.push_back(figures_row("  reference", *d.expected));
    if (d.alone) rows.push_back(figures_row("  alone", d.alone->got));
    cli::print_table(std::cout, rows);
    if (d.alone)
        std::cout << "  run alone with " << d.alone->from_reference << " of " << d.alone->inputs
                  << " inputs from the reference: "
                  << (d.alone->comparison.passed() ? "it agrees; its inputs had drifted"
                                                   : "it differs by itself")
                  << ", " << explain(d.alone->comparison, d.spec.shape, walked.tolerance) << '\n';
}

Json difference_json(const OperatorDifference& d, const WalkedDifference& walked) {
    Json sources = Json::array();
    for (NodeId id : d.sources) sources.push_back(walked.source_names[size_t(id)]);
    Json result{{"step", d.step},           {"op", d.op},
                {"name", d.name},           {"algorithm", d.algorithm},
                {"output", d.output},       {"sources", sources},
                {"value", to_json(d.spec)}, {"comparison", to_json(d.comparison, d.spec.shape)},
                {"got", to_json(d.got)}};
    result["expected"] = d.expected ? to_json(*d.expected) : Json();
    result["alone"] = Json();
    if (d.alone)
        result["alone"] = {{"inputs", d.alone->inputs},
                           {"inputs_from_reference", d.alone->from_reference},
                           {"differs", !d.alone->comparison.passed()},
                           {"comparison", to_json(d.alone->comparison, d.spec.shape)},
                           {"got", to_json(d.alone->got)}};
    return result;
}

}  // namespace

void print(const ComparedRun& run) {
    std::cout << "\nCompared with " << run.reference << " (" << name_of(run.tolerance.metric) << ")\n";
    std::vector<std::vector<std::string>> rows{{"", "value", "shape", "error", "limit", "unequal"}};
    for (bool passed : {false, true})
        for (auto& value : run.values)
            if (value.comparison.passed() == passed && rows.size() <= printed_values)
                rows.push_back(row_of(value));
    cli::print_table(std::cout, rows);
    if (run.values.size() > printed_values)
        std::cout << "... " << run.values.size() - printed_values << " more\n";
}

void print(const WalkedDifference& walked) {
    auto& r = walked.result;
    std::cout << "\nWalked with " << walked.reference << ": " << cli::counted(r.steps, "step") << ", "
              << cli::counted(r.compared, "value") << " compared\n";
    if (!r.first) {
        std::cout << "no operator differs\n";
        return;
    }
    std::cout << "first difference: ";
    print_difference(*r.first, walked);
    if (!r.cause) {
        std::cout << "no operator differs by itself: the error grows along the way\n";
    } else if (r.cause->step != r.first->step || r.cause->output != r.first->output) {
        std::cout << "first operator that differs by itself: ";
        print_difference(*r.cause, walked);
    }
}

Json to_json(const ComparedRun& run) {
    Json values = Json::array();
    size_t failed = 0;
    for (auto& value : run.values) {
        Json entry{{"name", value.name}};
        entry.update(to_json(value.spec));
        entry.update(to_json(value.comparison, value.spec.shape));
        values.push_back(std::move(entry));
        failed += !value.comparison.passed();
    }
    return {{"reference", run.reference}, {"tolerance", to_json(run.tolerance)},
            {"passed", failed == 0},      {"compared", run.values.size()},
            {"failed", failed},           {"only_in_reference", run.only_in_reference},
            {"only_here", run.only_here}, {"values", values}};
}

Json to_json(const WalkedDifference& walked) {
    auto& r = walked.result;
    Json result{{"reference", walked.reference},
                {"tolerance", to_json(walked.tolerance)},
                {"steps", r.steps},
                {"compared", r.compared},
                {"passed", !r.first}};
    result["first"] = r.first ? difference_json(*r.first, walked) : Json();
    result["cause"] = r.cause ? difference_json(*r.cause, walked) : Json();
    return result;
}

std::string failure(const ComparedRun& run) {
    auto* failed = run.first_failed();
    if (!failed) return {};
    return text("value '", failed->name, "' differs from ", run.reference, ": ",
                explain(failed->comparison, failed->spec.shape, run.tolerance));
}

std::string failure(const WalkedDifference& walked) {
    auto& first = walked.result.first;
    if (!first) return {};
    return text("the first operator that differs from ", walked.reference, " is ", operator_text(*first),
                ": ", explain(first->comparison, first->spec.shape, walked.tolerance));
}

}  // namespace mge::load_and_run
