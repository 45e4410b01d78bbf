// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/memory/plan_memory.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <utility>

#include "libmge/base/error.h"

namespace mge {
namespace {

// Limit of block inspections in the search: some tens of milliseconds.
constexpr size_t search_budget = 50'000'000;
constexpr size_t search_rounds = 300;
// Larger placements are not tried.
constexpr size_t most_placer_looks = 8 * search_budget;

bool alive_together(const MemoryBlock& a, const MemoryBlock& b) {
    return a.first <= b.last && b.first <= a.last;
}

struct Placement {
    std::vector<size_t> offsets;
    size_t bytes = 0;
};

std::vector<int> by_first(std::span<const MemoryBlock> blocks, std::vector<int> ids) {
    std::ranges::stable_sort(ids, {}, [&](int id) { return blocks[size_t(id)].first; });
    return ids;
}

// By block, the blocks alive at the same time; few in a large graph.
class Contemporaries {
public:
    // Returns the number of pairs.
    static size_t count(std::span<const MemoryBlock> blocks, const std::vector<int>& ids) {
        std::vector<int> ends;
        for (int id : ids) ends.push_back(blocks[size_t(id)].last);
        std::ranges::sort(ends);
        size_t pairs = 0, begun = 0;
        for (int id : by_first(blocks, ids)) {
            auto over = std::ranges::lower_bound(ends, blocks[size_t(id)].first) - ends.begin();
            pairs += begun++ - size_t(over);
        }
        return pairs;
    }
    Contemporaries(std::span<const MemoryBlock> blocks, const std::vector<int>& ids) : of_(blocks.size()) {
        std::vector<int> alive;
        for (int id : by_first(blocks, ids)) {
            std::erase_if(alive,
                          [&](int other) { return blocks[size_t(other)].last < blocks[size_t(id)].first; });
            for (int other : alive) {
                of_[size_t(id)].push_back(other);
                of_[size_t(other)].push_back(id);
            }
            alive.push_back(id);
        }
    }
    const std::vector<int>& of(int id) const { return of_[size_t(id)]; }

private:
    std::vector<std::vector<int>> of_;
};

class Placer {
public:
    Placer(std::span<const MemoryBlock> blocks, const std::vector<int>& ids) : blocks_(blocks) {
        constexpr size_t cost_of_pair = 16;  // found in a list, and sorted
        size_t pairs = Contemporaries::count(blocks, ids), all = ids.size() * ids.size() / 2;
        looks_ = 1 + std::min(cost_of_pair * pairs, all);
        if (cost_of_pair * pairs < all && looks_ <= most_placer_looks) contemporaries_.emplace(blocks, ids);
    }

    // The number of block inspections of place().
    size_t looks() const { return looks_; }

    Placement place(const std::vector<int>& order) {
        Placement result{std::vector<size_t>(blocks_.size(), unplaced), 0};
        by_offset_.clear();
        for (int id : order) {
            size_t offset = find_gap(id, result.offsets);
            result.offsets[size_t(id)] = offset;
            result.bytes = std::max(result.bytes, offset + align_up(blocks_[size_t(id)].bytes));
            if (contemporaries_) continue;
            auto at =
                std::upper_bound(by_offset_.begin(), by_offset_.end(), offset,
                                 [&](size_t o, int other) { return o < result.offsets[size_t(other)]; });
            by_offset_.insert(at, id);
        }
        std::ranges::replace(result.offsets, unplaced, size_t(0));
        return result;
    }

private:
    static constexpr size_t unplaced = SIZE_MAX;

    // Returns the smallest gap that holds the block, else the end of its contemporaries.
    size_t find_gap(int id, const std::vector<size_t>& offsets) {
        auto& block = blocks_[size_t(id)];
        if (contemporaries_) {
            by_offset_.clear();
            for (int other : contemporaries_->of(id))
                if (offsets[size_t(other)] != unplaced) by_offset_.push_back(other);
            std::ranges::sort(by_offset_, {}, [&](int other) { return offsets[size_t(other)]; });
        }
        size_t need = align_up(block.bytes), end = 0, best = SIZE_MAX, best_size = SIZE_MAX;
        for (int other : by_offset_) {
            if (!contemporaries_ && !alive_together(block, blocks_[size_t(other)])) continue;
            size_t offset = offsets[size_t(other)];
            if (offset >= end + need && offset - end < best_size) {
                best = end;
                best_size = offset - end;
            }
            end = std::max(end, offset + align_up(blocks_[size_t(other)].bytes));
        }
        return best == SIZE_MAX ? end : best;
    }

    std::span<const MemoryBlock> blocks_;
    std::optional<Contemporaries> contemporaries_;  // nullopt: inspecting all blocks is as fast
    size_t looks_ = 0;
    std::vector<int> by_offset_;  // placed blocks; with contemporaries_, only those of one block
};

// Places each block when its life begins, in the tightest gap between live blocks. For programs too large to
// search.
Placement place_in_time(std::span<const MemoryBlock> blocks, const std::vector<int>& ids) {
    Placement result{std::vector<size_t>(blocks.size()), 0};
    std::set<std::pair<size_t, size_t>> by_size, by_offset;  // gaps: (size, offset) and (offset, size)
    auto add_gap = [&](size_t offset, size_t size) {
        by_offset.emplace(offset, size);
        by_size.emplace(size, offset);
    };
    auto remove_gap = [&](size_t offset, size_t size) {
        by_offset.erase({offset, size});
        by_size.erase({size, offset});
    };
    auto give_back = [&](size_t offset, size_t size) {
        auto next = by_offset.lower_bound({offset, 0});
        if (next != by_offset.begin()) {
            auto [before, length] = *std::prev(next);
            if (before + length == offset) {
                remove_gap(before, length);
                offset = before;
                size += length;
            }
        }
        next = by_offset.lower_bound({offset + size, 0});
        if (next != by_offset.end() && next->first == offset + size) {
            size_t length = next->second;
            remove_gap(offset + size, length);
            size += length;
        }
        add_gap(offset, size);
    };
    using End = std::pair<int, int>;  // (end of life, block)
    std::priority_queue<End, std::vector<End>, std::greater<>> alive;
    for (int id : by_first(blocks, ids)) {
        auto& block = blocks[size_t(id)];
        for (; !alive.empty() && alive.top().first < block.first; alive.pop()) {
            auto over = size_t(alive.top().second);
            give_back(result.offsets[over], align_up(blocks[over].bytes));
        }
        alive.emplace(block.last, id);
        size_t need = align_up(block.bytes);
        auto gap = by_size.lower_bound({need, 0});
        if (gap == by_size.end()) {
            auto top = by_offset.empty() ? std::pair<size_t, size_t>() : *by_offset.rbegin();
            size_t missing = need - (top.first + top.second == result.bytes ? top.second : 0);
            give_back(result.bytes, missing);
            result.bytes += missing;
            gap = by_size.lower_bound({need, 0});
        }
        auto [size, offset] = *gap;
        remove_gap(offset, size);
        if (size > need) add_gap(offset + need, size - need);
        result.offsets[size_t(id)] = offset;
    }
    return result;
}

template <class Key>
std::vector<int> ordered_by(std::span<const MemoryBlock> blocks, const std::vector<int>& ids, Key key) {
    auto order = ids;
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return key(blocks[size_t(a)]) > key(blocks[size_t(b)]); });
    return order;
}

// Moves blocks at the top of the arena to the front of the order, with one random swap to avoid cycles.
void disturb(std::vector<int>& order, const Placement& placement, std::span<const MemoryBlock> blocks,
             uint32_t& random) {
    std::stable_partition(order.begin(), order.end(), [&](int id) {
        return placement.offsets[size_t(id)] + align_up(blocks[size_t(id)].bytes) == placement.bytes;
    });
    auto draw = [&] {
        random = random * 1664525u + 1013904223u;
        return size_t(random >> 8) % order.size();
    };
    std::swap(order[draw()], order[draw()]);
}

Placement search(std::span<const MemoryBlock> blocks, const std::vector<int>& ids, size_t bound) {
    Placer placer(blocks, ids);
    if (placer.looks() > most_placer_looks) return place_in_time(blocks, ids);
    auto duration = [](const MemoryBlock& b) { return size_t(b.last - b.first + 1); };
    auto by_size = ordered_by(blocks, ids, [](auto& b) { return b.bytes; });
    Placement best = placer.place(by_size);
    auto best_order = by_size;
    auto consider = [&](const std::vector<int>& order) {
        if (best.bytes == bound) return;
        Placement other = placer.place(order);
        if (other.bytes >= best.bytes) return;
        best = std::move(other);
        best_order = order;
    };
    consider(ordered_by(blocks, by_size, duration));
    consider(ordered_by(blocks, ids, [&](auto& b) { return duration(b) * b.bytes; }));
    consider(ids);

    size_t rounds = std::min(search_rounds, search_budget / placer.looks());
    uint32_t random = 1;
    auto order = best_order;
    Placement current = best;
    for (size_t round = 0; round < rounds && best.bytes > bound; ++round) {
        auto tried = order;
        disturb(tried, current, blocks, random);
        Placement placement = placer.place(tried);
        if (placement.bytes > current.bytes + current.bytes / 50)
            continue;  // accepts slightly worse results to escape local minima
        order = std::move(tried);
        current = std::move(placement);
        if (current.bytes < best.bytes) best = current;
    }
    return best;
}

}  // namespace

std::vector<size_t> live_bytes(std::span<const MemoryBlock> blocks) {
    int steps = 0;
    for (auto& block : blocks) steps = std::max(steps, block.last + 1);
    std::vector<int64_t> change(size_t(steps) + 1);
    for (auto& block : blocks) {
        change[size_t(block.first)] += int64_t(align_up(block.bytes));
        change[size_t(block.last) + 1] -= int64_t(align_up(block.bytes));
    }
    std::vector<size_t> live(static_cast<size_t>(steps));
    int64_t now = 0;
    for (size_t i = 0; i < live.size(); ++i) live[i] = size_t(now += change[i]);
    return live;
}

MemoryPlan plan_memory(std::span<const MemoryBlock> blocks) {
    auto live = live_bytes(blocks);
    size_t bound = live.empty() ? 0 : *std::max_element(live.begin(), live.end());
    std::vector<int> ids;
    for (size_t i = 0; i < blocks.size(); ++i)
        if (blocks[i].bytes) ids.push_back(int(i));
    Placement placement = search(blocks, ids, bound);
    MemoryPlan plan{std::move(placement.offsets), placement.bytes, bound};
    verify_plan(blocks, plan);
    return plan;
}

void verify_plan(std::span<const MemoryBlock> blocks, const MemoryPlan& plan) {
    MGE_CHECK(plan.offsets.size() == blocks.size());
    auto live = live_bytes(blocks);
    size_t bound = live.empty() ? 0 : *std::max_element(live.begin(), live.end());
    MGE_CHECK(plan.lower_bound == bound && plan.bytes >= bound, plan.lower_bound, " ", bound, " ",
              plan.bytes);
    // In order of time: a new block must fit between the live ones, which are disjoint.
    std::vector<int> ids;
    for (size_t i = 0; i < blocks.size(); ++i)
        if (blocks[i].bytes) ids.push_back(int(i));
    auto end_of = [&](int id) { return plan.offsets[size_t(id)] + blocks[size_t(id)].bytes; };
    std::map<size_t, int> alive;         // by offset
    std::multimap<int, size_t> offsets;  // offsets of live blocks by their last steps
    for (int id : by_first(blocks, ids)) {
        auto& block = blocks[size_t(id)];
        size_t offset = plan.offsets[size_t(id)];
        MGE_CHECK(end_of(id) <= plan.bytes && offset % arena_alignment == 0, "block ", id);
        while (!offsets.empty() && offsets.begin()->first < block.first) {
            alive.erase(offsets.begin()->second);
            offsets.erase(offsets.begin());
        }
        auto next = alive.lower_bound(offset);
        if (next != alive.end())
            MGE_CHECK(next->first >= end_of(id), "blocks ", id, " and ", next->second, " overlap");
        if (next != alive.begin())
            MGE_CHECK(end_of(std::prev(next)->second) <= offset, "blocks ", id, " and ",
                      std::prev(next)->second, " overlap");
        alive.emplace(offset, id);
        offsets.emplace(block.last, offset);
    }
}

std::vector<MemoryPlan> plan_places(std::span<const MemoryBlock> blocks, size_t places) {
    if (places == 1) return {plan_memory(blocks)};
    std::vector<std::vector<MemoryBlock>> by_place(places);
    for (auto& block : blocks) by_place.at(block.place).push_back(block);
    std::vector<MemoryPlan> plans;
    for (auto& own : by_place) plans.push_back(plan_memory(own));
    return plans;
}

}  // namespace mge
