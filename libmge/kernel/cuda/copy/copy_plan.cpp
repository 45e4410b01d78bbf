// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/copy/copy_plan.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <span>
#include <vector>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/device/queue.h"
#include "libmge/kernel/cuda/launch.h"

namespace mge::cuda {
namespace {

constexpr int widest = 16;  // bytes of one access

using Axis = StridedCopy::Axis;

// A copy in units of some bytes.
struct Units {
    int bytes;
    int64_t source_offset, target_offset;
    std::vector<Axis> axes;  // outermost first
};

// The largest power of two that divides all of them.
template <class... N>
int64_t common_power(N... numbers) {
    uint64_t bits = (uint64_t(widest) | ... | uint64_t(numbers));
    return int64_t(1) << std::countr_zero(bits);
}

// Contiguous elements on both sides become units of up to 16 bytes.
void widen(Units& units) {
    Axis& inner = units.axes.back();
    if (inner.source != 1 || inner.target != 1) return;
    int64_t factor = common_power(inner.extent, units.source_offset, units.target_offset);
    for (auto& axis : std::span(units.axes).first(units.axes.size() - 1))
        factor = std::min(factor, common_power(axis.source, axis.target));
    factor = std::min<int64_t>(factor, widest / units.bytes);
    units.bytes *= int(factor);
    units.source_offset /= factor;
    units.target_offset /= factor;
    for (auto& axis : units.axes) {
        axis.source /= factor;
        axis.target /= factor;
    }
    inner.source = inner.target = 1;
    inner.extent /= factor;
    if (inner.extent == 1 && units.axes.size() > 1) units.axes.pop_back();
}

// The axis along which the source runs while the target runs along the last one; null where tiles of both
// would be too empty, and a block's loads soon find each other in a cache.
const Axis* find_run(const Units& units) {
    const Axis& row = units.axes.back();
    if (row.target != 1 || std::abs(row.source) <= 1) return nullptr;
    for (auto& run : units.axes)
        if (std::abs(run.source) == 1)
            return run.extent * row.extent >= int64_t(1) << (tile_bits(units.bytes, 1) - 1) ? &run : nullptr;
    return nullptr;
}

// Whether every place, counted from the first, fits into 31 bits.
bool is_near(const Units& units) {
    int64_t source = 0, target = 0;
    for (auto& axis : units.axes) {
        source += (axis.extent - 1) * std::abs(axis.source);
        target += (axis.extent - 1) * std::abs(axis.target);
    }
    return std::max(source, target) < int64_t(1) << 31;
}

int bits_for(int64_t extent) { return int(std::bit_width(uint64_t(extent - 1))); }

// Number of elements of a tile that a thread moves at once: packs, if all are aligned and the tiles still
// provide enough work.
int tile_pack_of(const Units& units, const Axis& run, bool is_aligned) {
    const Axis& row = units.axes.back();
    const int pack = tile_pack(units.bytes);
    if (!is_aligned || pack == 1 || run.source != 1 || std::min(run.extent, row.extent) < 2 * pack ||
        run.extent * row.extent < int64_t(1) << (tile_bits(units.bytes, pack) - 1))
        return 1;
    int64_t common = common_power(run.extent, row.extent, units.source_offset, units.target_offset);
    for (auto& axis : units.axes) {
        if (&axis != &run) common = std::min(common, common_power(axis.source));
        if (&axis != &row) common = std::min(common, common_power(axis.target));
    }
    return common >= pack ? pack : 1;
}

CopyTiles plan_tiles(const Units& units, const Axis& run, int pack) {
    const Axis& row = units.axes.back();
    CopyTiles copy;
    copy.pack = pack;
    // Squares, but where one axis is shorter than its side; never less than two packs along one.
    int bits = tile_bits(units.bytes, pack), half = bits / 2, least = bits_for(2 * pack);
    copy.run_bits = std::clamp(bits_for(run.extent), least, std::max(half, bits - bits_for(row.extent)));
    copy.run_bits = std::min(copy.run_bits, bits - least);
    copy.row_bits = bits - copy.run_bits;
    copy.run = run.extent;
    copy.row = row.extent;
    copy.source_run_stride = run.source;
    copy.source_row_stride = row.source;
    copy.target_run_stride = run.target;
    int64_t length = int64_t(1) << copy.run_bits, height = int64_t(1) << copy.row_bits;
    copy.tiles.add(ceil_div(row.extent, height), {row.source * height, height, 0, height});
    copy.tiles.add(ceil_div(run.extent, length), {run.source * length, run.target * length, length, 0});
    for (size_t i = units.axes.size() - 1; i-- > 0;) {
        auto& axis = units.axes[i];
        if (&axis != &run) copy.tiles.add(axis.extent, {axis.source, axis.target, 0, 0});
    }
    copy.tiles.close();
    // The space contains the starts of tiles, not their size.
    copy.tiles.is_small = copy.tiles.is_small && is_near(units);
    return copy;
}

// For a target that is contiguous along its last axis. Loads of nearby elements are better left to
// neighbouring threads, which share their cache lines.
int pack_of(const Units& units, bool is_aligned) {
    constexpr int64_t cache_line = 128;
    const Axis& inner = units.axes.back();
    bool is_far = inner.source == 0 || std::abs(inner.source) * units.bytes >= cache_line;
    if (!is_aligned || inner.target != 1 || !is_far) return 1;
    int64_t most = common_power(inner.extent, units.target_offset);
    for (auto& axis : std::span(units.axes).first(units.axes.size() - 1))
        most = std::min(most, common_power(axis.target));
    for (int store : copied_pack_bytes)
        if (store > units.bytes && store / units.bytes <= most) return store / units.bytes;
    return 1;
}

CopyPacks plan_packs(const Units& units, int pack) {
    CopyPacks copy;
    copy.pack = pack;
    Axis inner = units.axes.back();
    copy.source_step = inner.source;
    if (inner.extent > pack || units.axes.size() == 1)
        copy.packs.add(inner.extent / pack, {inner.source * pack, inner.target * pack});
    for (size_t i = units.axes.size() - 1; i-- > 0;)
        copy.packs.add(units.axes[i].extent, {units.axes[i].source, units.axes[i].target});
    copy.packs.close();
    return copy;
}

const void* moved(const void* address, int64_t bytes) { return static_cast<const char*>(address) + bytes; }
void* moved(void* address, int64_t bytes) { return static_cast<char*>(address) + bytes; }

}  // namespace

CopyPlan::CopyPlan(const StridedCopy& copy)
    : aligned_(find_way(copy, true)), unaligned_(find_way(copy, false)) {}

CopyPlan::Way CopyPlan::find_way(const StridedCopy& copy, bool is_aligned) {
    if (copy.axes().empty()) return {};
    Units units{int(copy.element_size()),
                copy.source_offset(),
                copy.target_offset(),
                {copy.axes().begin(), copy.axes().end()}};
    bool is_run = units.axes.size() == 1 && units.axes[0].source == 1 && units.axes[0].target == 1;
    if (is_aligned && !is_run) widen(units);
    Way way{units.bytes, units.source_offset * units.bytes, units.target_offset * units.bytes, Nothing{}};
    if (is_run)
        way.method = Run{size_t(units.axes[0].extent) * size_t(units.bytes)};
    else if (const Axis* run = find_run(units))
        way.method = plan_tiles(units, *run, tile_pack_of(units, *run, is_aligned));
    else
        way.method = plan_packs(units, pack_of(units, is_aligned));
    return way;
}

void CopyPlan::run(const Launch& launch, const void* source, void* target) const {
    bool is_aligned =
        (reinterpret_cast<uintptr_t>(source) | reinterpret_cast<uintptr_t>(target)) % widest == 0;
    const Way& way = is_aligned ? aligned_ : unaligned_;
    const void* from = moved(source, way.source_offset);
    void* to = moved(target, way.target_offset);
    if (auto* run = std::get_if<Run>(&way.method))
        launch.queue->copy(to, from, run->bytes);
    else if (auto* packs = std::get_if<CopyPacks>(&way.method))
        copy_packs(stream_of(launch), way.unit, from, to, *packs);
    else if (auto* tiles = std::get_if<CopyTiles>(&way.method))
        copy_tiles(stream_of(launch), way.unit, from, to, *tiles);
}

}  // namespace mge::cuda
