// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/channels_last.cpu.h"

#include <algorithm>
#include <array>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/product/bf16_pixels.h"
#include "libmge/tensor/dtype.h"

namespace mge::ops {
namespace {

constexpr int64_t block = cpu::pixel_block;
constexpr int64_t blocks_at_once = 32;  // that a thread transposes at least
constexpr size_t alignment = 64;

struct Image {
    int64_t count, channels, pixels;
    size_t at;  // its place in the workspace
    bool is_image;

    size_t bytes() const { return round_up(size_t(count * channels * pixels) * sizeof(uint16_t), alignment); }
};

struct State {
    Prepared inner;
    void (*run)(const Prepared&, const Launch&);
    std::vector<Image> inputs, outputs;
    size_t inner_workspace;
};

// The problem with images whose channels are last.
struct Inside : OwnedProblem {
    Inside(const Problem& p, const ImageOperands& images) : OwnedProblem(p), problem(p) {
        for (size_t i = 0; i < inputs.size(); ++i)
            if (p.has_input(i) && images.inputs >> i & 1) inputs[i].layout = Layout::named("nhwc");
        for (size_t i = 0; i < outputs.size(); ++i)
            if (images.outputs >> i & 1) outputs[i].layout = Layout::named("nhwc");
        problem.inputs = inputs;
        problem.outputs = outputs;
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

    Problem problem;
};

// Matrices of rows become matrices of columns.
void transpose(int threads, int64_t count, int64_t rows, int64_t columns, const uint16_t* from,
               uint16_t* to) {
    const int64_t across = ceil_div(columns, block), blocks = ceil_div(rows, block) * across;
    par_for(threads, count * blocks, blocks_at_once, [&](int64_t i, int64_t end) {
        alignas(alignment) uint16_t part[block * block];
        std::array<const uint16_t*, block> lines{};
        for (; i < end; ++i) {
            const int64_t row = i % blocks / across * block, column = i % across * block;
            const int64_t height = std::min(block, rows - row), width = std::min(block, columns - column);
            const uint16_t* x = from + i / blocks * rows * columns + row * columns;
            uint16_t* y = to + i / blocks * rows * columns + column * rows + row;
            lines.fill(nullptr);
            for (int64_t r = 0; r < height; ++r) lines[size_t(r)] = x + r * columns;
            const cpu::PixelBlock pixels{lines.data(), column, width};
            if (height == block && width == block) {
                cpu::transpose_pixels(pixels, y, rows);
                continue;
            }
            cpu::transpose_pixels(pixels, part, block);
            for (int64_t c = 0; c < width; ++c) std::copy_n(part + c * block, height, y + c * rows);
        }
    });
}

size_t add_images(Specs specs, uint32_t images, size_t end, std::vector<Image>& to) {
    for (size_t i = 0; i < specs.size(); ++i) {
        auto& spec = specs[i];
        Image image{};
        if (images >> i & 1 && !spec.is_absent())
            image = {spec.shape[0], spec.shape[1], spec.shape[2] * spec.shape[3], end, true};
        end += image.bytes();
        to.push_back(image);
    }
    return end;
}

}  // namespace

Support supports_channels_last(const Problem& p, const ImageOperands& images, const Algorithm& inner) {
    for (auto specs : {p.inputs, p.outputs})
        for (auto& spec : specs)
            if (!spec.is_absent() && !spec.layout.is_plain()) return {"plain layouts only"};
    for (size_t i = 0; i < p.inputs.size(); ++i)
        if (p.has_input(i) && images.inputs >> i & 1 && size_of(p.inputs[i].dtype) != sizeof(uint16_t))
            return {"images of 16 bits only"};
    if (size_of(p.outputs[0].dtype) != sizeof(uint16_t)) return {"results of 16 bits only"};
    return inner.supports(Inside(p, images).problem);
}

Prepared prepare_channels_last(const PrepareContext& context, const ImageOperands& images,
                               const Algorithm& inner) {
    auto& p = context.problem;
    Inside inside(p, images);
    State s{.inner = inner.prepare({inside.problem, context.candidate, context.constants, context.select}),
            .run = inner.run,
            .inputs = {},
            .outputs = {},
            .inner_workspace = 0};
    const size_t end = add_images(p.inputs, images.inputs, 0, s.inputs);
    s.inner_workspace = add_images(p.outputs, images.outputs, end, s.outputs);
    const size_t workspace = s.inner_workspace + s.inner.workspace();
    PackedInputs packed = s.inner.packed();
    return Prepared::make(std::move(s), workspace, std::move(packed));
}

void run_channels_last(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto* memory = static_cast<std::byte*>(launch.workspace);
    std::array<const void*, most_channels_last> inputs{};
    std::array<void*, most_channels_last> outputs{};
    for (size_t i = 0; i < launch.inputs.size(); ++i) {
        auto& image = s.inputs[i];
        inputs[i] = launch.inputs[i];
        if (!image.is_image || !inputs[i]) continue;
        auto* turned = reinterpret_cast<uint16_t*>(memory + image.at);
        transpose(launch.threads, image.count, image.channels, image.pixels, launch.in<uint16_t>(i), turned);
        inputs[i] = turned;
    }
    for (size_t i = 0; i < launch.outputs.size(); ++i)
        outputs[i] = s.outputs[i].is_image ? memory + s.outputs[i].at : launch.outputs[i];
    s.run(s.inner, {{inputs.data(), launch.inputs.size()},
                    {outputs.data(), launch.outputs.size()},
                    memory + s.inner_workspace,
                    launch.threads});
    for (size_t i = 0; i < launch.outputs.size(); ++i)
        if (auto& image = s.outputs[i]; image.is_image)
            transpose(launch.threads, image.count, image.pixels, image.channels,
                      reinterpret_cast<const uint16_t*>(memory + image.at), launch.out<uint16_t>(i));
}

}  // namespace mge::ops
