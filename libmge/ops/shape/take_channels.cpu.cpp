// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/take_channels.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "libmge/kernel/cpu/copy_loops.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/taken_channels.h"

namespace mge::ops {
namespace {

// --- pixels: channels last; what a pixel has of an input's neighbouring channels is moved piece by piece ---

// So many bytes of each pixel.
struct Move {
    size_t input;
    int64_t from, to, bytes;
};

constexpr int64_t widest = 64;

// Pieces of 2^k bytes that cover a run, the last one reaching back over the one before.
void add_moves(std::vector<Move>& moves, size_t input, int64_t from, int64_t to, int64_t bytes) {
    int64_t piece = widest;
    while (piece > bytes) piece /= 2;
    for (int64_t at = 0; at < bytes; at += piece) {
        int64_t begin = std::min(at, bytes - piece);
        moves.push_back({input, from + begin, to + begin, piece});
    }
}

struct Pixels {
    std::vector<Move> moves;
    std::vector<int64_t> x_bytes;  // of a pixel, by input
    int64_t y_bytes, count;
};

Support supports_pixels(const Problem& problem) {
    for (auto specs : {problem.inputs, problem.outputs})
        for (auto& spec : specs)
            if (spec.layout != Layout::named("nhwc")) return {"for channels last"};
    return supported;
}

Prepared prepare_pixels(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& y = problem.outputs[0];
    auto element = int64_t(size_of(y.dtype));
    Pixels state{{}, {}, y.shape[1] * element, y.shape[0] * y.shape[2] * y.shape[3]};
    for (auto& x : problem.inputs) state.x_bytes.push_back(x.shape[1] * element);
    for (auto& run : channel_runs(problem)) {
        bool is_dense = run.step == 1;
        int64_t pieces = is_dense ? 1 : run.count, bytes = (is_dense ? run.count : 1) * element;
        for (int64_t i = 0; i < pieces; ++i)
            add_moves(state.moves, run.input, (run.from + i) * element, (run.to + i * run.step) * element,
                      bytes);
    }
    return Prepared::make(std::move(state));
}

template <int64_t Bytes>
void move_pixels(const char* x, int64_t x_stride, char* y, int64_t y_stride, int64_t count) {
    for (int64_t i = 0; i < count; ++i) std::memcpy(y + i * y_stride, x + i * x_stride, Bytes);
}

using MovePixels = void (*)(const char* x, int64_t x_stride, char* y, int64_t y_stride, int64_t count);
MovePixels mover_of(int64_t bytes) {
    switch (bytes) {
        case 1:
            return move_pixels<1>;
        case 2:
            return move_pixels<2>;
        case 4:
            return move_pixels<4>;
        case 8:
            return move_pixels<8>;
        case 16:
            return move_pixels<16>;
        case 32:
            return move_pixels<32>;
        default:
            return move_pixels<widest>;
    }
}

void run_pixels(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<Pixels>();
    // Results of a tile stay in the first cache while the moves come by. What another thread computed lies in
    // the cache of its core, and fetching it from there costs more than a parallel region: so little is worth
    // one.
    constexpr int64_t tile_bytes = 1 << 14, grain_bytes = 1 << 13;
    int64_t tile = tile_bytes / (s.y_bytes + 1) + 1, grain = grain_bytes / (s.y_bytes + 1) + 1;
    par_for(launch.threads, s.count, grain, [&](int64_t begin, int64_t end) {
        for (int64_t first = begin; first < end; first += tile) {
            int64_t count = std::min(tile, end - first);
            for (auto& move : s.moves) {
                int64_t x_bytes = s.x_bytes[move.input];
                mover_of(move.bytes)(launch.in<char>(move.input) + first * x_bytes + move.from, x_bytes,
                                     launch.out<char>(0) + first * s.y_bytes + move.to, s.y_bytes, count);
            }
        }
    });
}

// --- blocks: blocks of channels; vectors of neighbouring channels are put together in registers ---

int64_t block_of(const Layout& layout) {
    return layout == Layout::named("nChw8c") ? 8 : layout == Layout::named("nChw16c") ? 16 : 0;
}

Support supports_blocks(const Problem& problem) {
    const Layout layout = problem.outputs[0].layout;
    if (!block_of(layout)) return {"for blocks of 8 or 16 channels"};
    for (auto specs : {problem.inputs, problem.outputs})
        for (auto& spec : specs) {
            if (spec.layout != layout) return {"all images must have the same layout"};
            if (spec.dtype != DType::f32) return {"f32 only"};
        }
    return supported;
}

Prepared prepare_blocks(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& y = problem.outputs[0];
    const int64_t block = block_of(y.layout);
    std::vector<cpu::TakenChannel> channels(size_t(y.shape[1]));
    for (auto& run : channel_runs(problem))
        for (int64_t i = 0; i < run.count; ++i)
            channels[size_t(run.to + i * run.step)] = {run.input, run.from + i};
    std::vector<int64_t> blocks;
    for (auto& x : problem.inputs) blocks.push_back((x.shape[1] + block - 1) / block);
    return Prepared::make(
        cpu::TakenChannels(channels, std::move(blocks), block, y.shape[0], y.shape[2] * y.shape[3]));
}

void run_blocks(const Prepared& prepared, const Launch& launch) {
    auto& taken = prepared.state<cpu::TakenChannels>();
    constexpr int64_t grain_bytes = 1 << 13;  // as for pixels
    par_for(
        launch.threads, taken.pixels(), grain_bytes / (taken.bytes_of_pixel() + 1) + 1,
        [&](int64_t first, int64_t last) { taken.run(launch.inputs, launch.out<float>(0), first, last); });
}

// --- strided: a copy for each run ---

// There may be a run for each of hundreds of channels: those that differ in their places alone share loops.
struct RunCopy {
    size_t input;
    std::shared_ptr<const cpu::CopyLoops> loops;
    int64_t from, to;  // bytes beyond where the loops begin
};

bool differ_in_places_alone(const StridedCopy& a, const StridedCopy& b) {
    return a.shape() == b.shape() && a.source().strides == b.source().strides &&
           a.target().strides == b.target().strides;
}

Prepared prepare_strided(const PrepareContext& context) {
    struct Shared {
        const StridedCopy* copy;
        std::shared_ptr<const cpu::CopyLoops> loops;
    };
    std::vector<Shared> shared;
    std::vector<RunCopy> copies;
    auto parts = plan_channel_copies(context.problem);
    for (auto& part : parts) {
        auto& copy = part.copy;
        auto found = std::ranges::find_if(
            shared, [&](auto& known) { return differ_in_places_alone(*known.copy, copy); });
        if (found == shared.end()) {
            shared.push_back({&copy, std::make_shared<const cpu::CopyLoops>(copy)});
            found = std::prev(shared.end());
        }
        auto size = int64_t(copy.element_size());
        copies.push_back({part.input, found->loops,
                          (copy.source().offset - found->copy->source().offset) * size,
                          (copy.target().offset - found->copy->target().offset) * size});
    }
    return Prepared::make(std::move(copies));
}

void run_strided(const Prepared& prepared, const Launch& launch) {
    for (auto& part : prepared.state<std::vector<RunCopy>>())
        part.loops->run(launch.in<char>(part.input) + part.from, launch.out<char>(0) + part.to,
                        launch.threads);
}
void run_reference(const Prepared& prepared, const Launch& launch) {
    for (auto& part : prepared.state<std::vector<RunCopy>>())
        part.loops->run_naive(launch.in<char>(part.input) + part.from, launch.out<char>(0) + part.to);
}

}  // namespace

KernelList kernels(Cpu, TakeChannels) {
    static constexpr Algorithm list[] = {
        {"pixels", supports_pixels, prepare_pixels, run_pixels},
        {"blocks", supports_blocks, prepare_blocks, run_blocks},
        {"strided", supports_channel_copies, prepare_strided, run_strided},
        {"reference", supports_channel_copies, prepare_strided, run_reference, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
