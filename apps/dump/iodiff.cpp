// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "apps/cli/options/numbers.h"
#include "apps/cli/options/one_of.h"
#include "apps/cli/output/progress.h"
#include "apps/cli/output/table.h"
#include "apps/dump/commands.h"
#include "apps/dump/matched_dumps.h"
#include "libmge/inspect/compare.h"
#include "libmge/inspect/elements.h"
#include "libmge/inspect/io_dump/io_dump.h"

namespace mge::dump {
namespace {

// Precision of text dumps: four digits for elements, three for figures, wrong by at most half of the last
// digit.
constexpr double text_precision = 1e-3, figure_precision = 5.1e-3;

struct IodiffOptions {
    std::string a, b, match = "auto";
    double max_error = 1e-3;
    bool stop_on_error = false;
};

struct Difference {
    const DumpRecord* record;
    std::string what;  // a single line
    double error = 0;
    int64_t index = -1;  // flat; -1: not specific to an element
    bool is_root = false;
    // For a root: values it depends on that were not compared, and may be wrong, too.
    std::vector<const DumpRecord*> before;
};

bool is_beyond(double got, double expected, double allowed) {
    if (std::isnan(got) && std::isnan(expected)) return false;
    if (got == expected) return false;
    return !(std::abs(got - expected) / std::max({std::abs(got), std::abs(expected), 1.0}) <= allowed);
}

// Compares the first elements and the figures, the only content of text dumps.
std::optional<Difference> compare_texts(const DumpRecord& a, const DumpRecord& b, double allowed,
                                        double figures_allowed) {
    allowed = std::max(allowed, text_precision);
    figures_allowed = std::max(allowed, figures_allowed);
    auto differ = [&](const std::string& what, double x, double y, int64_t index) {
        double error = std::abs(x - y) / std::max({std::abs(x), std::abs(y), 1.0});
        return Difference{&a, text(what, ' ', x, " and ", y, ", error ", error), error, index};
    };
    for (size_t i = 0; i < std::min(a.head.size(), b.head.size()); ++i)
        if (is_beyond(a.head[i], b.head[i], allowed))
            return differ(text("element ", i), a.head[i], b.head[i], int64_t(i));
    if (!a.has_figures || !b.has_figures) return std::nullopt;
    for (auto& [name, x, y] : {std::tuple("min", a.min, b.min), std::tuple("max", a.max, b.max),
                               std::tuple("mean", a.mean, b.mean), std::tuple("l2", a.rms, b.rms)})
        if (is_beyond(x, y, figures_allowed)) return differ(name, x, y, -1);
    return std::nullopt;
}

std::optional<Difference> compare_values(const DumpRecord& a, const DumpRecord& b, double allowed) {
    Tensor x = read_binary_record(a.path).value, y = read_binary_record(b.path).value;
    Tolerance tolerance{.rtol = allowed, .metric = Metric::megengine};
    Comparison comparison = compare_tensors(x, y, tolerance);
    if (comparison.passed()) return std::nullopt;
    if (!comparison.mismatch.empty()) return Difference{&a, comparison.mismatch, INFINITY};
    auto& first = comparison.first_beyond;
    std::string what = text("error ", comparison.error, ", ", comparison.beyond, " of ", comparison.count,
                            " elements are beyond");
    if (first)
        what = text("element ", first->index, " is ", first->got, " and ", first->expected, "; ", what);
    return Difference{&a, what, comparison.error, first ? first->index : -1};
}

// Returns the record as a text dump would contain it: as many elements as the other record, and the figures
// unless NaN or infinities make them meaningless.
DumpRecord as_text(const DumpRecord& binary, const DumpRecord& other) {
    DumpRecord record = binary;
    Tensor value = read_binary_record(binary.path).value;
    auto count = std::min<int64_t>(int64_t(other.head.size()), value.spec().numel());
    for (int64_t i = 0; i < count; ++i) record.head.push_back(element_at(value, i));
    TensorFigures figures = figures_of(value);
    record.min = figures.min, record.max = figures.max, record.mean = figures.mean, record.rms = figures.rms;
    record.has_figures = figures.count > 0 && figures.not_a_number == 0 && figures.infinite == 0;
    return record;
}

std::optional<Difference> compare(const DumpPair& pair, bool is_a_text, bool is_b_text, double allowed) {
    auto& [a, b] = pair;
    if (!(a->shape == b->shape)) return Difference{a, text("shapes ", a->shape, " and ", b->shape), INFINITY};
    if (!is_a_text && !is_b_text) return compare_values(*a, *b, allowed);
    auto difference = compare_texts(is_a_text ? *a : as_text(*a, *b), is_b_text ? *b : as_text(*b, *a),
                                    allowed, is_a_text && is_b_text ? 0 : figure_precision);
    if (difference) difference->record = a;
    return difference;
}

// An operator is a root if its inputs are equal and its output differs. For an input that was not compared,
// the inputs of its own operator are checked.
class RootFinder {
public:
    RootFinder(const IoDump& dump, std::span<const DumpPair> compared,
               const std::vector<Difference>& differences) {
        for (auto& record : dump.records) by_id_.try_emplace(record.id, &record);
        for (auto& pair : compared) compared_.insert(pair.a->id);
        for (auto& difference : differences) different_.insert(difference.record->id);
    }

    void judge(Difference& difference) const {
        difference.is_root = true;
        std::set<int> seen;
        std::vector<int> open(difference.record->inputs);
        while (!open.empty()) {
            int id = open.back();
            open.pop_back();
            if (!seen.insert(id).second) continue;
            if (different_.contains(id)) {
                difference.is_root = false;
                difference.before.clear();
                return;
            }
            auto it = by_id_.find(id);
            if (compared_.contains(id) || it == by_id_.end() || it->second->inputs.empty()) continue;
            difference.before.push_back(it->second);
            auto& inputs = it->second->inputs;
            open.insert(open.end(), inputs.begin(), inputs.end());
        }
    }

private:
    std::map<int, const DumpRecord*> by_id_;
    std::set<int> compared_, different_;
};

std::string owner(const DumpRecord& record) {
    return record.owner_name.empty() ? "?" : text(record.owner_name, " {", record.owner_type, "}");
}

std::string label(const DumpRecord& record) {
    return text(record.file.empty() ? "" : record.file + " ", "'", record.name, "' ", record.dtype,
                record.shape);
}

void print(const MatchedDumps& matched, size_t compared, const std::vector<Difference>& differences) {
    for (auto& key : matched.only_in_a) std::cout << "only in the first: " << key << '\n';
    for (auto& key : matched.only_in_b) std::cout << "only in the second: " << key << '\n';
    for (auto& difference : differences)
        std::cout << label(*difference.record) << ": " << difference.what << '\n';
    std::cout << cli::counted(compared, "value") << " compared, " << differences.size() << " differ\n";
    if (differences.empty()) return;
    std::cout << "Root operators (their inputs agree):\n";
    for (auto& difference : differences) {
        if (!difference.is_root) continue;
        std::cout << "  " << owner(*difference.record) << " -> '" << difference.record->name << "'";
        for (size_t i = 0; i < difference.before.size(); ++i)
            std::cout << (i ? ", " : ", or an operator before it that was not compared: ")
                      << owner(*difference.before[i]);
        std::cout << '\n';
    }
}

// JSON has no infinity.
cli::Json number(double value) { return std::isfinite(value) ? cli::Json(value) : cli::Json(); }

cli::Json to_json(const MatchedDumps& matched, size_t compared, const std::vector<Difference>& differences) {
    cli::Json list = cli::Json::array(), roots = cli::Json::array();
    for (auto& d : differences) {
        auto& r = *d.record;
        list.push_back({{"name", r.name},
                        {"file", r.file},
                        {"operator", r.owner_name},
                        {"type", r.owner_type},
                        {"shape", r.shape.dims()},
                        {"index", d.index},
                        {"error", number(d.error)},
                        {"what", d.what},
                        {"root", d.is_root}});
        if (!d.is_root) continue;
        cli::Json before = cli::Json::array();
        for (auto* each : d.before) before.push_back(each->owner_name);
        roots.push_back({{"operator", r.owner_name},
                         {"type", r.owner_type},
                         {"value", r.name},
                         {"not_compared", before}});
    }
    return {{"compared", compared},
            {"only_in_a", matched.only_in_a},
            {"only_in_b", matched.only_in_b},
            {"differences", list},
            {"roots", roots}};
}

int run(const IodiffOptions& options, const cli::Invocation& invocation) {
    IoDump a = read_io_dump(options.a, false), b = read_io_dump(options.b, false);
    MatchedDumps matched = match_dumps(a, b, options.match);
    if (matched.pairs.empty())
        throw cli::UsageError("the dumps have no value in common",
                              "dump both models with the names of values kept");
    std::vector<Difference> differences;
    size_t compared = 0;
    cli::Progress progress("values", matched.pairs.size());
    for (auto& pair : matched.pairs) {
        ++compared;
        if (auto difference = compare(pair, a.is_text, b.is_text, options.max_error))
            differences.push_back(*difference);
        if (options.stop_on_error && !differences.empty()) break;
        progress.advance();
    }
    RootFinder roots(a, std::span(matched.pairs).first(compared), differences);
    for (auto& difference : differences) roots.judge(difference);
    print(matched, compared, differences);
    cli::Json result = to_json(matched, compared, differences);
    if (differences.empty()) return cli::finish(invocation, result);
    return cli::finish(
        invocation, result, ErrorCode::accuracy,
        text(differences.size(), " of ", cli::counted(compared, "value"),
             differences.size() == 1 ? " differs" : " differ", " by more than ", options.max_error));
}

}  // namespace

void add_iodiff(cli::App& app) {
    auto options = std::make_shared<IodiffOptions>();
    auto& command = app.command("iodiff", "Compares two dumps of all values and finds the first differences",
                                [options, &app] { return run(*options, app.invocation()); });
    command.add_option("a", options->a, "An io dump: a folder of files, one of its files, or a text file")
        ->required()
        ->type_name("FILE");
    command.add_option("b", options->b, "The dump to compare it with")->required()->type_name("FILE");
    command
        .add_option("-e,--max-err", options->max_error,
                    "Largest allowed error: the difference divided by the larger magnitude, or by 1 if that "
                    "is larger")
        ->check(cli::real_number())
        ->capture_default_str();
    command.add_flag("-s,--stop-on-error", options->stop_on_error, "Stop at the first difference");
    command
        .add_option("--match", options->match,
                    "How to pair values: by file name, by value name, by origin in the network, or the first "
                    "of these that fits")
        ->check(cli::one_of({"auto", "file", "name", "origin"}))
        ->capture_default_str();
}

}  // namespace mge::dump
