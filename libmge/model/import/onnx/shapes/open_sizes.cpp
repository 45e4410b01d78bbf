// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/shapes/open_sizes.h"

#include <algorithm>

namespace mge::onnx {
namespace {

// Operators after the one that refuses a size may demand more, so usual sizes of images come first.
constexpr int64_t candidates[] = {64, 224, 16, 32, 128, 256, 512, 1024, 2,
                                  1,  4,   8,  24, 48,  96,  160, 384,  640};
constexpr int most_changes = 16;

class Search {
public:
    Search(std::span<const Guard> demands, const ExtentValues& sizes) : sizes_(sizes) {
        for (auto& guard : demands) {
            auto names = symbols_of(guard.a), more = symbols_of(guard.b);
            names.insert(names.end(), more.begin(), more.end());
            bool is_of_sizes = std::ranges::all_of(names, [&](auto& name) { return sizes.contains(name); });
            if (is_of_sizes) demands_.push_back({&guard, std::move(names)});
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
    struct Demand {
        const Guard* guard;
        std::vector<std::string> names;
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
    std::pair<ExtentValues, size_t> best_change(size_t now) const {
        std::pair<ExtentValues, size_t> best{sizes_, now};
        auto attempt = [&](const ExtentValues& sizes) {
            if (size_t left = failures(sizes); left < best.second) best = {sizes, left};
        };
        for (auto& demand : demands_) {
            if (!fails(demand, sizes_)) continue;
            // The sides of an image change together, beside a batch of 1.
            ExtentValues all = sizes_, sides = sizes_;
            for (int64_t candidate : candidates) {
                for (auto& name : demand.names) {
                    all[name] = candidate;
                    if (sizes_.at(name) > 1) sides[name] = candidate;
                }
                attempt(sides);
                attempt(all);
            }
            for (auto& name : demand.names) {
                ExtentValues changed = sizes_;
                auto set = [&](int64_t size) {
                    changed[name] = size;
                    attempt(changed);
                };
                if (auto size = equal_at(*demand.guard, name)) set(*size);
                for (int64_t candidate : candidates) set(candidate);
            }
            if (best.second < now) break;
        }
        return best;
    }

    std::vector<Demand> demands_;
    ExtentValues sizes_;
};

}  // namespace

std::optional<ExtentValues> better_sizes(std::span<const Guard> demands, const ExtentValues& sizes) {
    return Search(demands, sizes).run();
}

}  // namespace mge::onnx
