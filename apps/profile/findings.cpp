// SPDX-License-Identifier: Apache-2.0
#include "apps/profile/findings.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/cli/output/table.h"
#include "apps/cli/output/terminal.h"
#include "apps/profile/text.h"
#include "libmge/base/error.h"
#include "libmge/op/op.h"

namespace mge::profile {
namespace {

// Steps below it are dominated by starting the kernel and its threads.
constexpr double short_step = 5e-6;
// A step at this fraction of a roof is bound by it.
constexpr double near_roof = 0.4;
constexpr size_t most_findings = 3;
// Less is not worth a finding about the whole.
constexpr double least_share = 0.1;

constexpr std::array<std::string_view, 6> bound_names{"arithmetic", "memory bandwidth",  "cache bandwidth",
                                                      "overhead",   "kernel efficiency", "unknown"};

std::string whole_percent(double share) { return cli::format_number(100 * share, 0) + " %"; }

// True if the step's inputs that are constants are larger than its other values.
bool is_mostly_weights(const Profile& profile, const ProfileStep& step) {
    int64_t weights = 0, others = 0;
    auto add = [&](int id) {
        if (id < 0) return;
        auto& value = profile.values[size_t(id)];
        (value.place == "constant" ? weights : others) += value.bytes;
    };
    for (int id : step.inputs) add(id);
    for (int id : step.outputs) add(id);
    return weights > others;
}

bool is_made_by_compiler(const Profile& profile, const ProfileStep& step) {
    return !profile.operators.empty() && step.origins.empty();
}

// The products of Winograd's algorithm relative to those of a direct convolution.
double winograd_share(int tile, int kernel) {
    double products = tile + kernel - 1, direct = tile * kernel;
    return products * products / (direct * direct);
}

// Equal for steps that do the same on the same shapes.
std::string kind_of(const Profile& profile, const ProfileStep& step) {
    return text(step.type, ' ', step.algorithm, ' ', shapes_text(profile.input_shapes(step), " "), " -> ",
                shapes_text(profile.output_shapes(step), " "));
}

// Transposes, copies, changes of layout: the operator's facts know no arithmetic.
bool only_moves(const ProfileStep& step) {
    if (!step.operations || !(*step.operations > 0)) return true;
    const OpInfo* op = find_op(step.type);
    return op && !op->operations && !op->traits.elementwise && !op->epilogue &&
           op->autocast != Autocast::narrow && !op->traits.control && !op->traits.effect;
}

std::string memory_advice(const Profile& profile, const ProfileStep& step) {
    if (is_mostly_weights(profile, step))
        return "most of it is weights: a larger batch reads them once for several samples; int8 or 16-bit "
               "weights "
               "are smaller";
    if (is_made_by_compiler(profile, step))
        return "it changes a layout between two kernels: try --layout-transform cpu, or another layout for "
               "the whole "
               "network";
    return "let it be fused into its neighbour (nothing else may read the value between them), or use 16-bit "
           "numbers";
}

StepLimit movement_limit(const Profile& profile, const ProfileStep& step, double seconds, const Peak& peak) {
    StepLimit limit;
    double rate = *step.bytes / seconds, share = rate / peak.bytes_per_s;
    limit.bound = seconds < short_step && share < near_roof ? Bound::overhead : Bound::memory;
    limit.reason = text("it only moves data: ", scaled_text(step.bytes, 1024, "B", 1), " at ",
                        scaled_text(rate, 1024, "B/s", 1),
                        " (memory: ", scaled_text(peak.bytes_per_s, 1024, "B/s", 1), ")");
    limit.advice = is_made_by_compiler(profile, step) ? memory_advice(profile, step)
                                                      : "remove it from the network, move it to where the "
                                                        "tensor is small, or export the weights in the "
                                                        "order that the next operator reads";
    return limit;
}

}  // namespace

std::string_view bound_name(Bound bound) { return bound_names[size_t(bound)]; }

std::optional<double> real_operations(const ProfileStep& step) {
    if (!step.operations) return {};
    // Our own one.
    if (step.algorithm.starts_with("winograd")) return *step.operations * winograd_share(4, 3);
    // oneDNN's: "wino_4x3" computes tiles of 4 × 4 results with kernels of 3 × 3.
    constexpr std::string_view mark = "wino_";
    size_t at = step.algorithm.find(mark);
    if (at == std::string::npos || at + mark.size() + 2 >= step.algorithm.size()) return step.operations;
    int tile = step.algorithm[at + mark.size()] - '0', kernel = step.algorithm[at + mark.size() + 2] - '0';
    if (tile < 2 || tile > 9 || kernel < 2 || kernel > 9) return step.operations;
    return *step.operations * winograd_share(tile, kernel);
}

StepLimit limit_of(const Profile& profile, const ProfileStep& step, double seconds) {
    StepLimit limit;
    auto* peak = profile.roof();
    bool is_elsewhere = !profile.devices.empty() && profile.is_on_host(step);
    if (!peak || !(seconds > 0) || is_elsewhere || !step.bytes || !(*step.bytes > 0)) return limit;
    if (only_moves(step)) return movement_limit(profile, step, seconds, *peak);
    double most = profile.most_operations_per_s(*peak, step);
    double arithmetic = *real_operations(step) / most, memory = *step.bytes / peak->bytes_per_s;
    limit.of_roof = std::max(arithmetic, memory) / seconds;
    std::string reached = text(scaled_text(*real_operations(step) / seconds, 1000, "FLOP/s", 1), ", ",
                               whole_percent(arithmetic / seconds), " of the peak");
    std::string moved = text(scaled_text(step.bytes, 1024, "B", 1), " at ",
                             scaled_text(*step.bytes / seconds, 1024, "B/s", 1), ", ",
                             whole_percent(memory / seconds), " of the memory's rate");
    if (*limit.of_roof < near_roof && seconds < short_step) {
        limit.bound = Bound::overhead;
        limit.reason = text("it is short: ", time_text(seconds), " are mostly the start of the kernel");
        limit.advice = "a larger batch, fewer threads, or fusing it into a neighbour";
    } else if (*real_operations(step) < *step.operations && *limit.of_roof < near_roof) {
        limit.bound = Bound::cache;
        limit.reason =
            text("Winograd's algorithm needs ", whole_percent(*real_operations(step) / *step.operations),
                 " of the products; its transforms move data through the caches (",
                 scaled_text(*step.operations / seconds, 1000, "FLOP/s", 1), " of a direct convolution)");
        limit.advice =
            "fewer bits (int8, --precision relaxed), or fewer channels; --fast-run compares it with direct "
            "ones";
    } else if (arithmetic >= memory && *limit.of_roof >= near_roof) {
        limit.bound = Bound::arithmetic;
        limit.reason = text("it computes at ", reached);
        limit.advice =
            "fewer bits (int8, --precision relaxed), or a smaller layer: fewer channels, a smaller image or "
            "kernel";
    } else if (*limit.of_roof >= near_roof) {
        limit.bound = Bound::memory;
        limit.reason = text("it moves ", moved);
        limit.advice = memory_advice(profile, step);
    } else {
        limit.bound = Bound::kernel;
        limit.reason = text("it is far from every limit of the machine: ", reached, "; ", moved);
        limit.advice =
            "--fast-run measures all algorithms; a shape with channels in multiples of 16, or another "
            "layout, may "
            "have a faster one";
    }
    return limit;
}

std::vector<Finding> findings_of(const Profile& profile, const std::vector<std::optional<double>>& times) {
    struct Equal {
        int costliest = -1;
        double seconds = 0;
        size_t count = 0;
    };
    std::map<std::string, Equal> groups;
    double total = 0;
    Equal short_ones, movers;
    auto add_to = [&](Equal& group, size_t i) {
        if (group.costliest < 0 || *times[i] > *times[size_t(group.costliest)]) group.costliest = int(i);
        group.seconds += *times[i];
        ++group.count;
    };
    for (size_t i = 0; i < times.size(); ++i) {
        if (!times[i]) continue;
        total += *times[i];
        add_to(groups[kind_of(profile, profile.steps[i])], i);
        if (*times[i] < short_step) add_to(short_ones, i);
        if (only_moves(profile.steps[i])) add_to(movers, i);
    }
    std::vector<Equal> order;
    for (auto& [kind, group] : groups) order.push_back(group);
    std::ranges::stable_sort(order, {}, &Equal::costliest);
    std::ranges::stable_sort(order, std::greater(), &Equal::seconds);
    if (order.size() > most_findings) order.resize(most_findings);
    std::vector<Finding> findings;
    for (auto& group : order) {
        auto& step = profile.steps[size_t(group.costliest)];
        auto limit = limit_of(profile, step, *times[size_t(group.costliest)]);
        std::string title = step.name.empty() ? step.type : step.name;
        if (group.count > 1) title += text(" and ", cli::counted(group.count - 1, "equal step"));
        findings.push_back({group.costliest, title, limit.reason, limit.advice, group.seconds,
                            total > 0 ? group.seconds / total : 0, group.count, limit.bound});
    }
    auto add = [&](const Equal& group, std::string title, std::string reason, std::string advice,
                   Bound bound) {
        if (total > 0 && group.seconds / total >= least_share)
            findings.push_back({-1, std::move(title), std::move(reason), std::move(advice), group.seconds,
                                group.seconds / total, group.count, bound});
    };
    if (movers.count > 1)
        add(movers, cli::counted(movers.count, "step") + " that only move data",
            "they transpose, copy, or change layouts between kernels",
            "remove transposes that undo each other; --layout-transform cpu chooses layouts with fewer "
            "changes",
            Bound::memory);
    add(short_ones, cli::counted(short_ones.count, "short step"),
        text("each takes less than ", time_text(short_step), ", mostly to start"),
        "a larger batch, or fewer threads", Bound::overhead);
    std::ranges::stable_sort(findings, std::greater(), &Finding::seconds);
    return findings;
}

cli::Json to_json(const std::vector<Finding>& findings) {
    cli::Json list = cli::Json::array();
    for (auto& f : findings)
        list.push_back({{"step", f.step < 0 ? cli::Json(nullptr) : cli::Json(f.step)},
                        {"title", f.title},
                        {"time_s", f.seconds},
                        {"share", f.share},
                        {"count", f.count},
                        {"bound", bound_name(f.bound)},
                        {"reason", f.reason},
                        {"advice", f.advice}});
    return list;
}

void print(std::ostream& stream, const std::vector<Finding>& findings) {
    if (findings.empty()) return;
    stream << "\nfindings\n";
    for (size_t i = 0; i < findings.size(); ++i) {
        auto& f = findings[i];
        stream << i + 1 << ". " << cli::painted(cli::Paint::bold, shortened(f.title)) << ": "
               << time_text(f.seconds) << ", " << percent_text(f.share) << " of a run\n";
        if (!f.reason.empty()) stream << "   bound by " << bound_name(f.bound) << ": " << f.reason << '\n';
        if (!f.advice.empty()) stream << "   try: " << f.advice << '\n';
    }
}

}  // namespace mge::profile
