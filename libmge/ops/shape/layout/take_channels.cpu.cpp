// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/layout/take_channels.h"

#include <algorithm>
#include <memory>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/convolution/taken_channels.h"
#include "libmge/kernel/cpu/copy_loops.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/rows/row_pieces.h"

namespace mge::ops {
namespace {

// --- pixels: channels last; what a pixel has of an input's neighbouring channels is moved piece by piece ---

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
    std::vector<int64_t> x_bytes;
    for (auto& x : problem.inputs) x_bytes.push_back(x.shape[1] * element);
    cpu::RowPieces pixels(std::move(x_bytes), y.shape[1] * element, y.shape[0] * y.shape[2] * y.shape[3]);
    for (auto& run : channel_runs(problem)) {
        bool is_dense = run.step == 1;
        int64_t pieces = is_dense ? 1 : run.count, bytes = (is_dense ? run.count : 1) * element;
        for (int64_t i = 0; i < pieces; ++i)
            pixels.add(run.input, (run.from + i) * element, (run.to + i * run.step) * element, bytes);
    }
    return Prepared::make(std::move(pixels));
}

void run_pixels(const Prepared& prepared, const Launch& launch) {
    prepared.state<cpu::RowPieces>().run(launch.inputs, launch.outputs[0], launch.threads);
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
    for (auto& x : problem.inputs) blocks.push_back(ceil_div(x.shape[1], block));
    return Prepared::make(
        cpu::TakenChannels(channels, std::move(blocks), block, y.shape[0], y.shape[2] * y.shape[3]));
}

void run_blocks(const Prepared& prepared, const Launch& launch) {
    auto& taken = prepared.state<cpu::TakenChannels>();
    par_for(
        launch.threads, taken.pixels(), cpu::moved_grain_bytes / (taken.bytes_of_pixel() + 1) + 1,
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
