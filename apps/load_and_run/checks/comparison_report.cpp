// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "apps/cli/output/table.h"
#include "apps/load_and_run/checks/comparison.h"
#include "apps/load_and_run/checks/json.h"
#include "libmge/base/joined.h"
#include "libmge/base/number_text.h"
#include "libmge/graph/origins.h"

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
            beyond_text(c)};
}

// More operators than this are counted.
constexpr size_t named_suspects = 8, named_values = 4;

std::string listed(const std::vector<std::string>& items, size_t most) {
    std::string result;
    for (size_t i = 0; i < std::min(items.size(), most); ++i) result += (i ? ", " : "") + items[i];
    return items.size() > most ? text(result, " and ", items.size() - most, " more") : result;
}

std::string quoted(const std::vector<std::string>& names) {
    std::vector<std::string> result;
    for (auto& name : names) result.push_back("'" + name + "'");
    return listed(result, named_values);
}

// Origin of the difference if the inputs of the operator were not compared; empty if it arose in the operator
// itself.
std::string origin_text(const OperatorDifference& d) {
    if (d.suspects.size() < 2) return {};
    return text("it arose between ", d.agreed.empty() ? "the beginning" : quoted(d.agreed), " and '",
                d.output, "', in one of ", d.suspects.size(),
                " steps: ", listed(d.suspect_texts, named_suspects));
}

std::vector<std::string> figures_row(const char* title, const TensorFigures& f) {
    return {title,       text(f.min),       text(f.max),          text(f.mean),
            text(f.rms), text(f.deviation), text(f.not_a_number), text(f.infinite)};
}

std::string place_text(const OperatorDifference& d) {
    return text("step ", d.step, ", ", operator_text(d.op, d.name), " (algorithm ", d.algorithm,
                "), output '", d.output, "'");
}

void print_difference(const OperatorDifference& d, const WalkedDifference& walked) {
    std::cout << place_text(d) << '\n';
    if (!d.sources.empty())
        std::cout << "  operators of the model: " << joined(labels(d.sources), ", ") << '\n';
    if (auto origin = origin_text(d); !origin.empty()) std::cout << "  " << origin << '\n';
    std::cout << "  " << explain(d.comparison, d.spec.shape, walked.tolerance) << '\n';
    std::vector<std::vector<std::string>> rows{
        {"  value", "min", "max", "mean", "rms", "deviation", "nan", "infinite"}};
    rows.push_back(figures_row("  here", d.got));
    if (d.expected) rows.push_back(figures_row("  reference", *d.expected));
    if (d.alone) rows.push_back(figures_row("  alone", d.alone->got));
    cli::print_table(std::cout, rows);
    if (d.alone)
        std::cout << "  run alone with " << d.alone->from_reference << " of " << d.alone->inputs
                  << (d.alone->inputs == 1 ? " input" : " inputs") << " from the reference: "
                  << (d.alone->comparison.passed() ? "it agrees; its inputs had drifted"
                                                   : "it differs by itself")
                  << ", " << explain(d.alone->comparison, d.spec.shape, walked.tolerance) << '\n';
    if (d.inside)
        std::cout << "  inside: " << operator_text(d.inside->op, d.inside->name) << " (algorithm "
                  << d.inside->algorithm << "), output '" << d.inside->output << "'\n    "
                  << explain(d.inside->comparison, d.inside->spec.shape, walked.tolerance) << '\n';
    else if (d.compared_inside)
        std::cout << "  inside: " << counted(d.compared_inside, "value")
                  << " of the first iterations agree\n";
}

Json difference_json(const OperatorDifference& d) {
    Json result{{"step", d.step},           {"op", d.op},
                {"name", d.name},           {"algorithm", d.algorithm},
                {"output", d.output},       {"sources", labels(d.sources)},
                {"value", to_json(d.spec)}, {"comparison", to_json(d.comparison, d.spec.shape)},
                {"got", to_json(d.got)}};
    result["expected"] = d.expected ? to_json(*d.expected) : Json();
    result["between"] = {{"values", d.agreed}, {"steps", d.suspects}, {"operators", d.suspect_texts}};
    result["alone"] = Json();
    if (d.alone)
        result["alone"] = {{"inputs", d.alone->inputs},
                           {"inputs_from_reference", d.alone->from_reference},
                           {"differs", !d.alone->comparison.passed()},
                           {"comparison", to_json(d.alone->comparison, d.spec.shape)},
                           {"got", to_json(d.alone->got)}};
    result["inside"] = Json();
    if (d.inside)
        result["inside"] = {{"op", d.inside->op},
                            {"name", d.inside->name},
                            {"algorithm", d.inside->algorithm},
                            {"output", d.inside->output},
                            {"value", to_json(d.inside->spec)},
                            {"comparison", to_json(d.inside->comparison, d.inside->spec.shape)},
                            {"got", to_json(d.inside->got)}};
    return result;
}

}  // namespace

void print(const ComparedRun& run) {
    std::cout << "\nCompared with " << run.reference << " (" << name_of(run.tolerance.metric)
              << "): compared " << run.values.size() << " of " << counted(run.comparable, "value") << '\n';
    std::vector<std::vector<std::string>> rows{{"", "value", "shape", "error", "limit", "elements"}};
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
    std::cout << "\nWalked with " << walked.reference << ": " << cli::counted(r.steps, "step")
              << ", compared " << r.compared << " of " << cli::counted(r.values, "value") << '\n';
    if (!r.first) {
        std::cout << (r.compared == r.values ? "no operator differs\n"
                                             : "no difference in the values that were compared\n");
        return;
    }
    std::cout << "first difference: ";
    print_difference(*r.first, walked);
    if (!r.cause) {
        std::cout << "no operator differs by itself: the error accumulates along the way\n";
    } else if (r.cause->step != r.first->step || r.cause->output != r.first->output) {
        std::cout << (r.cause->suspects.size() > 1 ? "first value that differs by itself: "
                                                   : "first operator that differs by itself: ");
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
    return {{"reference", run.reference},
            {"tolerance", to_json(run.tolerance)},
            {"passed", failed == 0},
            {"compared", run.values.size()},
            {"comparable", run.comparable},
            {"failed", failed},
            {"only_in_reference", run.only_in_reference},
            {"only_here", run.only_here},
            {"values", values}};
}

Json to_json(const WalkedDifference& walked) {
    auto& r = walked.result;
    Json result{{"reference", walked.reference},
                {"tolerance", to_json(walked.tolerance)},
                {"steps", r.steps},
                {"values", r.values},
                {"compared", r.compared},
                {"passed", !r.first}};
    result["first"] = r.first ? difference_json(*r.first) : Json();
    result["cause"] = r.cause ? difference_json(*r.cause) : Json();
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
    std::string difference = explain(first->comparison, first->spec.shape, walked.tolerance);
    if (auto origin = origin_text(*first); !origin.empty())
        return text("the first value that differs from ", walked.reference, " is '", first->output,
                    "' (compared ", walked.result.compared, " of ", counted(walked.result.values, "value"),
                    "); ", origin, "; ", difference);
    return text("the first operator that differs from ", walked.reference, " is ", place_text(*first), ": ",
                difference);
}

}  // namespace mge::load_and_run
