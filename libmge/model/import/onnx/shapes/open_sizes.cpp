// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/shapes/open_sizes.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "libmge/base/reflect.h"

namespace mge::onnx {
namespace {

// Demands that cannot be solved are tried with sizes up to this one, and all with so many evaluations.
constexpr int64_t largest_sought = 4096;
constexpr int most_evaluations = 1 << 18;
constexpr int most_changes = 16;
constexpr size_t most_found = 8;

class Search {
public:
    Search(std::span<const Guard> demands, const ExtentValues& sizes) : sizes_(sizes) {
        for (auto& guard : demands) {
            auto names = symbols_of(guard.a), more = symbols_of(guard.b);
            Names all;
            std::ranges::set_union(names, more, std::back_inserter(all));
            bool is_of_sizes = std::ranges::all_of(all, [&](auto& name) { return sizes.contains(name); });
            if (is_of_sizes) demands_.push_back({&guard, std::move(all)});
        }
    }

    std::optional<ExtentValues> run() {
        size_t before = failures(sizes_), now = before;
        for (int i = 0; i < most_changes && now; ++i) {
            auto [best, left] = best_change(now);
            if (left == now) break;
            sizes_ = std::move(best);
            now = left;
        }
        return now < before ? std::optional(sizes_) : std::nullopt;
    }

private:
    using Names = std::vector<std::string>;
    struct Demand {
        const Guard* guard;
        Names names;
    };
    static bool fails(const Demand& demand, const ExtentValues& sizes) {
        try {
            return !holds(*demand.guard, sizes);
        } catch (const UserError&) {
            return true;  // a number that is too large, or a quotient by 0
        }
    }
    size_t failures(const ExtentValues& sizes) const {
        return size_t(std::ranges::count_if(demands_, [&](auto& demand) { return fails(demand, sizes); }));
    }
    // The size of one symbol that makes two extents equal, with the present sizes of the others.
    std::optional<int64_t> equal_at(const Guard& guard, const std::string& name) const {
        auto other = [&](std::string_view symbol) -> std::optional<mge::Extent> {
            return symbol == name ? std::nullopt : std::optional<mge::Extent>(sizes_.find(symbol)->second);
        };
        try {
            auto solved = solve(substitute(guard.a, other) - substitute(guard.b, other), 0);
            return solved ? std::optional(solved->value) : std::nullopt;
        } catch (const UserError&) {
            return std::nullopt;
        }
    }
    // Returns common sizes of the symbols that meet the demand: from the first one at or above their present
    // sizes to below twice that. The roundest come first, because operators after the one that refused a size
    // may demand more.
    IntList sizes_for(const Demand& demand, const Names& names) {
        ExtentValues changed = sizes_;
        auto satisfies = [&](int64_t size) {
            if (!evaluations_) return false;
            --evaluations_;
            for (auto& name : names) changed[name] = size;
            return !fails(demand, changed);
        };
        int64_t present = 1;
        for (auto& name : names) present = std::clamp(sizes_.at(name), present, largest_sought);
        int64_t first = names.size() == 1 ? equal_at(*demand.guard, names[0]).value_or(present) : present;
        while (first <= largest_sought && !satisfies(first)) ++first;
        if (first > largest_sought && !satisfies(first))
            for (first = present; first > 0 && !satisfies(first);) --first;
        IntList found;
        for (int64_t i = 0; i < std::min(first, largest_sought); ++i)
            if (satisfies(first + i)) found.push_back(first + i);
        auto roundness = [](int64_t size) { return std::countr_zero(uint64_t(size)); };
        std::ranges::stable_sort(found, std::greater(), roundness);
        found.resize(std::min(found.size(), most_found));
        return found;
    }
    // The symbols of a demand whose sizes change together: the sides of an image, beside a batch of 1, all of
    // them, or one.
    std::vector<Names> groups_of(const Names& names) const {
        Names sides;
        std::ranges::copy_if(names, std::back_inserter(sides),
                             [&](auto& name) { return sizes_.at(name) > 1; });
        std::vector<Names> groups;
        for (const Names& group : {sides, names})
            if (group.size() > 1) groups.push_back(group);
        for (auto& name : names) groups.push_back({name});
        return groups;
    }
    std::pair<ExtentValues, size_t> best_change(size_t now) {
        std::pair<ExtentValues, size_t> best{sizes_, now};
        for (auto& demand : demands_) {
            if (!fails(demand, sizes_)) continue;
            for (auto& names : groups_of(demand.names)) {
                for (int64_t size : sizes_for(demand, names)) {
                    ExtentValues changed = sizes_;
                    for (auto& name : names) changed[name] = size;
                    if (size_t left = failures(changed); left < best.second) best = {changed, left};
                }
            }
            if (best.second < now) break;
        }
        return best;
    }

    std::vector<Demand> demands_;
    ExtentValues sizes_;
    int evaluations_ = most_evaluations;
};

}  // namespace

std::optional<ExtentValues> better_sizes(std::span<const Guard> demands, const ExtentValues& sizes) {
    return Search(demands, sizes).run();
}

}  // namespace mge::onnx
