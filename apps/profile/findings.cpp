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
#include "libmge/inspect/profile/profile_spans.h"
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

std::string shapes_of(const Profile& profile, const ProfileStep& step) {
    return text(shapes_text(profile.input_shapes(step), " "), " -> ",
                shapes_text(profile.output_shapes(step), " "));
}

// Equal for steps that do the same on the same shapes.
std::string kind_of(const Profile& profile, const ProfileStep& step) {
    return text(step.type, ' ', step.algorithm, ' ', shapes_of(profile, step));
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

bool is_memory(const CacheRoof& source) { return source.name == "memory"; }
std::string source_text(const CacheRoof& source) {
    return is_memory(source) ? "memory" : "the " + source.name + " cache";
}

StepLimit movement_limit(const Profile& profile, const ProfileStep& step, double seconds, const Peak& peak) {
    StepLimit limit;
    double rate = *step.bytes / seconds;
    CacheRoof source = peak.source_of(rate);
    limit.of_roof = rate / source.bytes_per_s;
    limit.source = source.name;
    limit.bound = seconds < short_step && *limit.of_roof < near_roof ? Bound::overhead
                  : is_memory(source)                                ? Bound::memory
                                                                     : Bound::cache;
    limit.reason = text("it only moves data: ", scaled_text(step.bytes, 1024, "B", 1), " at ",
                        scaled_text(rate, 1024, "B/s", 1), ", ", whole_percent(*limit.of_roof),
                        " of the rate of ", source_text(source));
    limit.advice = is_made_by_compiler(profile, step) ? memory_advice(profile, step)
                                                      : "remove it from the network, move it to where the "
                                                        "tensor is small, or export the weights in the "
                                                        "order that the next operator reads";
    return limit;
}

// Steps that are one finding.
struct Alike {
    int costliest = -1;
    double seconds = 0;
    size_t count = 0;
    void add(int step, const std::vector<std::optional<double>>& times) {
        double time = *times[size_t(step)];
        if (costliest < 0 || time > *times[size_t(costliest)]) costliest = step;
        seconds += time;
        ++count;
    }
};

std::string name_of(const ProfileStep& step) { return step.name.empty() ? step.type : step.name; }

class Search {
public:
    Search(const Profile& profile, const std::vector<std::optional<double>>& times, const ShareBase& base)
        : profile_(profile), times_(times), base_(base) {
        for (size_t i = 0; i < times.size(); ++i) {
            if (!times[i]) continue;
            auto& step = profile.steps[i];
            equal_[kind_of(profile, step)].add(int(i), times);
            if (*times[i] < short_step) short_.add(int(i), times);
            if (only_moves(step)) movers_.add(int(i), times);
            times_of_type_[step.type].push_back(*times[i]);
        }
    }

    std::vector<Finding> findings() {
        const bool has_movers = movers_.count > 1 && base_.share(movers_.seconds) >= least_share;
        std::vector<Alike> order;
        for (auto& [kind, alike] : equal_)
            // They are part of a finding of their own.
            if (!(has_movers && only_moves(step(alike)))) order.push_back(alike);
        std::ranges::stable_sort(order, {}, &Alike::costliest);
        std::ranges::stable_sort(order, std::greater(), &Alike::seconds);
        if (order.size() > most_findings) order.resize(most_findings);
        for (auto& alike : order) add_costly(alike);
        if (has_movers) add_movers();
        if (base_.share(short_.seconds) >= least_share)
            add(short_, cli::counted(short_.count, "short step"), Bound::overhead,
                text("each takes less than ", time_text(short_step), ", mostly to start"),
                "a larger batch, or fewer threads");
        std::ranges::stable_sort(findings_, std::greater(), &Finding::seconds);
        return std::move(findings_);
    }

private:
    const ProfileStep& step(const Alike& alike) const { return profile_.steps[size_t(alike.costliest)]; }

    void add(const Alike& alike, std::string title, Bound bound, std::string reason, std::string advice,
             std::string shapes = {}) {
        findings_.push_back({alike.costliest, std::move(title), std::move(reason), std::move(advice),
                             std::move(shapes), alike.seconds, base_.share(alike.seconds), alike.count,
                             bound});
    }

    void add_costly(const Alike& alike) {
        auto limit = limit_of(profile_, step(alike), *times_[size_t(alike.costliest)]);
        std::string title = name_of(step(alike));
        if (alike.count > 1) title += text(" and ", cli::counted(alike.count - 1, "equal step"));
        add(alike, title, limit.bound, limit.reason + compared_with_type(alike, limit.reason.empty()),
            limit.advice, shapes_of(profile_, step(alike)));
    }

    void add_movers() {
        auto& costliest = step(movers_);
        add(movers_, cli::counted(movers_.count, "step") + " that only move data", Bound::memory,
            text("they transpose, copy, or change layouts between kernels; the costliest is ",
                 name_of(costliest), ", ", time_text(*times_[size_t(movers_.costliest)])),
            "remove transposes that undo each other; --layout-transform cpu chooses layouts with fewer "
            "changes",
            shapes_of(profile_, costliest));
    }

    // Says so if the step takes much longer than most of its type.
    std::string compared_with_type(const Alike& alike, bool is_alone) const {
        constexpr size_t least_steps = 4;
        constexpr double much_longer = 4;
        auto all = times_of_type_.at(step(alike).type);
        if (all.size() < least_steps) return {};
        std::ranges::sort(all);
        double median = all[all.size() / 2], ratio = *times_[size_t(alike.costliest)] / median;
        if (!(ratio >= much_longer)) return {};
        return text(is_alone ? "" : "; ", "it takes ", cli::format_number(ratio, 0),
                    " times as long as most of the ", all.size(), ' ', step(alike).type, " steps");
    }

    const Profile& profile_;
    const std::vector<std::optional<double>>& times_;
    const ShareBase& base_;
    std::map<std::string, Alike> equal_;
    Alike short_, movers_;
    std::map<std::string, std::vector<double>> times_of_type_;
    std::vector<Finding> findings_;
};

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
    CacheRoof source = peak->source_of(*step.bytes / seconds);
    double arithmetic = *real_operations(step) / most, memory = *step.bytes / source.bytes_per_s;
    limit.of_roof = std::max(arithmetic, memory) / seconds;
    limit.source = source.name;
    std::string reached = text(scaled_text(*real_operations(step) / seconds, 1000, "FLOP/s", 1), ", ",
                               whole_percent(arithmetic / seconds), " of the peak");
    std::string moved = text(scaled_text(step.bytes, 1024, "B", 1), " at ",
                             scaled_text(*step.bytes / seconds, 1024, "B/s", 1), ", ",
                             whole_percent(memory / seconds), " of the rate of ", source_text(source));
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
        limit.bound = is_memory(source) ? Bound::memory : Bound::cache;
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

ShareBase share_base(const Profile& profile, ProfileSide side, RunStatistic statistic) {
    static constexpr std::pair<RunStatistic, std::string_view> words[] = {
        {RunStatistic::median, "median times"},
        {RunStatistic::mean, "mean times"},
        {RunStatistic::min, "shortest times"},
        {RunStatistic::max, "longest times"},
        {RunStatistic::last, "times in the last run"}};
    std::string_view times = "times";
    for (auto& [known, word] : words)
        if (known == statistic && profile.runs.size() > 1) times = word;
    ShareBase base{
        total_time(profile, side, statistic).value_or(0), text("the sum of the steps' ", times), {}};
    if (profile.runs.empty() || side != ProfileSide::device) return base;
    constexpr double much_longer = 1.2;
    double run = double(profile.runs[size_t(median_run(profile))].duration()) * 1e-9;
    if (statistic == RunStatistic::median && base.seconds > 0 && run > much_longer * base.seconds)
        base.remark = text("the median run took ", time_text(run),
                           ": the machine was busy, and other work interrupted other steps in each run");
    return base;
}

std::string base_text(const ShareBase& base) { return text(time_text(base.seconds), ", ", base.what); }

cli::Json to_json(const ShareBase& base) {
    return {{"time_s", base.seconds}, {"what", base.what}, {"remark", base.remark}};
}

void write(JsonWriter& json, const ShareBase& base) {
    json.object_member("share_base", [&] {
        json.member("time", base.seconds);
        json.member("what", base.what);
        json.member("remark", base.remark);
    });
}

std::vector<Finding> findings_of(const Profile& profile, const std::vector<std::optional<double>>& times,
                                 const ShareBase& base) {
    return Search(profile, times, base).findings();
}

cli::Json to_json(const std::vector<Finding>& findings) {
    cli::Json list = cli::Json::array();
    for (auto& f : findings)
        list.push_back({{"step", f.step},
                        {"title", f.title},
                        {"shapes", f.shapes},
                        {"time_s", f.seconds},
                        {"share", f.share},
                        {"count", f.count},
                        {"bound", bound_name(f.bound)},
                        {"reason", f.reason},
                        {"advice", f.advice}});
    return list;
}

void write(JsonWriter& json, const std::vector<Finding>& findings) {
    json.objects_member("findings", findings, [&](auto& finding) {
        json.member("step", finding.step);
        json.member("title", finding.title);
        json.member("shapes", finding.shapes);
        json.member("time", finding.seconds);
        json.member("share", finding.share);
        json.member("count", finding.count);
        json.member("bound", bound_name(finding.bound));
        json.member("reason", finding.reason);
        json.member("advice", finding.advice);
    });
}

void print(std::ostream& stream, const std::vector<Finding>& findings, const ShareBase& base) {
    if (findings.empty()) return;
    stream << "\nfindings (shares of " << base_text(base) << ")\n";
    if (!base.remark.empty()) stream << base.remark << '\n';
    for (size_t i = 0; i < findings.size(); ++i) {
        auto& f = findings[i];
        stream << i + 1 << ". " << cli::painted(cli::Paint::bold, shortened(f.title)) << ": "
               << time_text(f.seconds) << ", " << percent_text(f.share) << '\n';
        if (!f.shapes.empty()) stream << "   " << shortened(f.shapes) << '\n';
        if (!f.reason.empty())
            stream << "   " << (f.bound == Bound::unknown ? "" : text("bound by ", bound_name(f.bound), ": "))
                   << f.reason << '\n';
        if (!f.advice.empty()) stream << "   try: " << f.advice << '\n';
    }
}

}  // namespace mge::profile
