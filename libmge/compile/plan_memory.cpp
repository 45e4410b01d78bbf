// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/plan_memory.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "libmge/base/error.h"

namespace mge {
namespace {

// Pairs of blocks looked at by the whole search: some tens of milliseconds.
constexpr size_t search_budget = 50'000'000;
constexpr size_t search_rounds = 300;

bool alive_together(const MemoryBlock& a, const MemoryBlock& b) {
    return a.first <= b.last && b.first <= a.last;
}

struct Placement {
    std::vector<size_t> offsets;
    size_t bytes = 0;
};

class Placer {
public:
    explicit Placer(std::span<const MemoryBlock> blocks) : blocks_(blocks) {}

    Placement place(const std::vector<int>& order) {
        Placement result{std::vector<size_t>(blocks_.size()), 0};
        by_offset_.clear();
        for (int id : order) {
            size_t offset = find_gap(id, result.offsets);
            result.offsets[size_t(id)] = offset;
            result.bytes = std::max(result.bytes, offset + align_up(blocks_[size_t(id)].bytes));
            auto at =
                std::upper_bound(by_offset_.begin(), by_offset_.end(), offset,
                                 [&](size_t o, int other) { return o < result.offsets[size_t(other)]; });
            by_offset_.insert(at, id);
        }
        return result;
    }

private:
    // The smallest gap that holds the block, else the end of its contemporaries.
    size_t find_gap(int id, const std::vector<size_t>& offsets) const {
        const auto& block = blocks_[size_t(id)];
        size_t need = align_up(block.bytes), end = 0, best = SIZE_MAX, best_size = SIZE_MAX;
        for (int other : by_offset_) {
            if (!alive_together(block, blocks_[size_t(other)])) continue;
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
    std::vector<int> by_offset_;
};

template <class Key>
std::vector<int> ordered_by(std::span<const MemoryBlock> blocks, const std::vector<int>& ids, Key key) {
    auto order = ids;
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return key(blocks[size_t(a)]) > key(blocks[size_t(b)]); });
    return order;
}

// Moves the blocks that reach the top of the arena to the front of the order, with one random swap so that
// the search does not run in circles.
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
    Placer placer(blocks);
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

    size_t pairs = ids.size() * ids.size() / 2 + 1;
    size_t rounds = std::min(search_rounds, search_budget / pairs);
    uint32_t random = 1;
    auto order = best_order;
    Placement current = best;
    for (size_t round = 0; round < rounds && best.bytes > bound; ++round) {
        auto tried = order;
        disturb(tried, current, blocks, random);
        Placement placement = placer.place(tried);
        if (placement.bytes > current.bytes + current.bytes / 50) continue;  // a little worse is a way out
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
    std::vector<size_t> by_offset(blocks.size());
    std::iota(by_offset.begin(), by_offset.end(), 0);
    std::sort(by_offset.begin(), by_offset.end(),
              [&](size_t a, size_t b) { return plan.offsets[a] < plan.offsets[b]; });
    for (size_t i = 0; i < by_offset.size(); ++i) {
        size_t a = by_offset[i];
        if (!blocks[a].bytes) continue;
        size_t end = plan.offsets[a] + blocks[a].bytes;
        MGE_CHECK(end <= plan.bytes && plan.offsets[a] % arena_alignment == 0, "block ", a);
        for (size_t k = i + 1; k < by_offset.size() && plan.offsets[by_offset[k]] < end; ++k) {
            size_t b = by_offset[k];
            MGE_CHECK(!blocks[b].bytes || !alive_together(blocks[a], blocks[b]), "blocks ", a, " and ", b,
                      " overlap");
        }
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
