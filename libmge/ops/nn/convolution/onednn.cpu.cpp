// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/conv2d_algorithms.h"

#include <algorithm>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/onednn/call.h"
#include "libmge/kernel/cpu/onednn/implementations.h"
#include "libmge/kernel/select.h"
#include "libmge/ops/nn/convolution/channel_blocks.h"

namespace mge::ops {
namespace {

using namespace onednn;

// Which of x, weight and y the operator computes, and the positions of the others among its inputs.
struct Forward {
    using Params = Conv2d::Params;
    static constexpr auto geometry = forward_geometry;
    static constexpr int x = DNNL_ARG_SRC, weight = DNNL_ARG_WEIGHTS, y = DNNL_ARG_DST;
    static const TensorSpec& x_spec(const Problem& p) { return p.inputs[0]; }
    static const TensorSpec& y_spec(const Problem& p) { return p.outputs[0]; }
    static const TensorSpec& weight_spec(const Problem& p) { return p.inputs[1]; }
};
struct BackwardData {
    using Params = Conv2dBackwardData::Params;
    static constexpr auto geometry = backward_data_geometry;
    static constexpr int x = DNNL_ARG_DIFF_SRC, weight = DNNL_ARG_WEIGHTS, y = DNNL_ARG_DIFF_DST;
    static const TensorSpec& x_spec(const Problem& p) { return p.outputs[0]; }
    static const TensorSpec& y_spec(const Problem& p) { return p.inputs[1]; }
    static const TensorSpec& weight_spec(const Problem& p) { return p.inputs[0]; }
};
struct BackwardWeight {
    using Params = Conv2dBackwardWeight::Params;
    static constexpr auto geometry = backward_weight_geometry;
    static constexpr int x = DNNL_ARG_SRC, weight = DNNL_ARG_DIFF_WEIGHTS, y = DNNL_ARG_DIFF_DST;
    static const TensorSpec& x_spec(const Problem& p) { return p.inputs[0]; }
    static const TensorSpec& y_spec(const Problem& p) { return p.inputs[1]; }
    static const TensorSpec& weight_spec(const Problem& p) { return p.outputs[0]; }
};

// The problem; images of one column, which convolutions along one axis have, are seen as images of one row:
// both have the same bytes, and kernels compute vectors of pixels of a row, except depthwise ones.
template <class Op>
class InRows {
public:
    explicit InRows(const Problem& p)
        : inputs_(p.inputs.begin(), p.inputs.end()),
          outputs_(p.outputs.begin(), p.outputs.end()),
          params_(p.as<typename Op::Params>()),
          problem(p) {
        const ConvGeometry g = Op::geometry(p);
        const bool is_column = g.in[1] == 1 && g.kernel[1] == 1 && g.padding[1] == 0 && g.in[0] > 1;
        if (!is_column || (g.ic == 1 && g.groups > 1)) return;
        for (auto* specs : {&inputs_, &outputs_})
            for (TensorSpec& spec : *specs)
                if (int rank = spec.shape.rank(); rank > 1)
                    std::swap(spec.shape[rank - 2], spec.shape[rank - 1]);
        for (Pair* pair : {&params_.stride, &params_.padding, &params_.dilation})
            std::swap((*pair)[0], (*pair)[1]);
        if constexpr (std::is_same_v<Op, BackwardData>) std::swap(params_.height, params_.width);
        problem.inputs = inputs_;
        problem.outputs = outputs_;
        problem.params = &params_;
    }
    InRows(const InRows&) = delete;
    InRows& operator=(const InRows&) = delete;

private:
    TensorSpecs inputs_, outputs_;
    typename Op::Params params_;

public:
    Problem problem;
};

enum EpilogueInput : size_t { bias = 2, residual = 3 };

// One question to oneDNN: these layouts of x and y, this kind of algorithm.
struct Question {
    MemoryDesc x, y;
    dnnl_alg_kind_t kind;
};

struct Way {
    std::string name;
    PrimitiveDesc desc;
    int rank;  // lower: tried first
};

// The layout that the fastest kernels for a dtype read and write.
struct FastLayout {
    Layout layout;
    bool reads_few_plain;  // the kernels for few input channels (the first layer of a network) read plain
                           // images
};
FastLayout fast_layout(DType dtype) {
    if (dtype == DType::bf16 && cpu_isa() >= Isa::amx) return {Layout::named("nhwc"), false};
    return {channel_blocks(), true};
}

MemoryDesc with_layout(TensorSpec spec, const Layout& layout) {
    spec.layout = layout;
    return *memory_desc(spec);
}

// Weights of one group may be written with or without the axis of groups; oneDNN wants it only when there
// are several.
MemoryDesc weight_desc(const ConvGeometry& g, DType dtype) {
    Shape shape{g.oc, g.ic, g.kernel[0], g.kernel[1]};
    if (g.groups > 1) shape.insert(0, g.groups);
    return *memory_desc({dtype, shape, {}});
}

bool suits_winograd(const ConvGeometry& g) {
    return g.kernel == Pair{3, 3} && g.stride == Pair{1, 1} && g.dilation == Pair{1, 1} && g.groups == 1 &&
           cpu_isa() >= Isa::avx512;
}

// A second thread costs a parallel region for each primitive and reorder, which small work does not justify.
// But larger images are in the caches of both cores, and fetching them from there costs more.
int threads_for(const Problem& p, const ConvGeometry& g) {
    constexpr int64_t few_multiplications = 1 << 18, few_elements = 1 << 14;
    bool is_small = g.x_shape().numel() + g.y_shape().numel() < few_elements;
    return is_small && g.multiplications() < few_multiplications ? 1 : p.threads;
}

template <class Op>
std::vector<Question> questions(const Problem& p, const ConvGeometry& g) {
    const TensorSpec &x = Op::x_spec(p), &y = Op::y_spec(p);
    std::vector<Question> result{{*memory_desc(x), *memory_desc(y), dnnl_convolution_direct}};
    if (x.layout.is_plain() && y.layout.is_plain()) {
        constexpr int64_t few_channels = 4;
        auto [layout, reads_few_plain] = fast_layout(x.dtype);
        bool reads_plain = reads_few_plain && g.groups == 1 && g.ic < few_channels;
        result.push_back({with_layout(x, reads_plain ? Layout() : layout), with_layout(y, layout),
                          dnnl_convolution_direct});
    }
    // The kernels of depthwise convolutions for blocks of channels have windows of up to 14 columns.
    constexpr int64_t most_columns = 14;
    if (std::is_same_v<Op, Forward> && result.size() > 1 && g.groups > 1 && g.ic == 1 &&
        g.kernel[1] > most_columns)
        result.push_back({with_layout(x, Layout::named("nhwc")), with_layout(y, Layout::named("nhwc")),
                          dnnl_convolution_direct});
    if (x.dtype == DType::f32 && suits_winograd(g)) {
        Question winograd = result.back();
        winograd.kind = dnnl_convolution_winograd;
        result.push_back(winograd);
    }
    return result;
}

struct Paddings {
    Pair dilation, left, right;
};
Paddings paddings(const ConvGeometry& g) {
    Paddings p{{g.dilation[0] - 1, g.dilation[1] - 1}, g.padding, {}};
    for (int i : {0, 1})
        p.right[i] =
            (g.out[i] - 1) * g.stride[i] + (g.kernel[i] - 1) * g.dilation[i] + 1 - g.in[i] - g.padding[i];
    return p;
}

// Winograd for inference takes transformed weights, and making those is slow; for training it transforms
// them itself, so that is what weights are for that change.
dnnl_prop_kind_t propagation(const Problem& p, const Question& q) {
    bool transforms = q.kind == dnnl_convolution_winograd && !p.is_constant(1);
    return transforms ? dnnl_forward_training : dnnl_forward_inference;
}

MemoryDesc bias_desc(const ConvGeometry& g, DType dtype) {
    return *memory_desc({dtype, {g.groups * g.oc}, {}});
}

ConvolutionDesc describe(const Problem& p, const ConvGeometry& g, const Question& q,
                         dnnl_prop_kind_t direction) {
    Paddings border = paddings(g);
    return {direction,   q.kind,      q.x,      any_layout(weight_desc(g, p.inputs[0].dtype)),
            {},          q.y,         g.stride, border.dilation,
            border.left, border.right};
}

std::vector<Implementation> list_implementations(Forward, const Problem& p, const ConvGeometry& g,
                                                 const Question& q, const IsWanted& is_wanted) {
    ConvolutionDesc operation = describe(p, g, q, propagation(p, q));
    if (p.has_input(bias)) operation.bias = bias_desc(g, p.outputs[0].dtype);
    return implementations(operation, attributes(p.has_input(residual), p.as<Conv2d::Params>().activation),
                           is_wanted);
}
std::vector<Implementation> list_implementations(BackwardData, const Problem& p, const ConvGeometry& g,
                                                 const Question& q, const IsWanted& is_wanted) {
    return implementations(describe(p, g, q, dnnl_backward_data), attributes(false, Activation::none),
                           is_wanted);
}
std::vector<Implementation> list_implementations(BackwardWeight, const Problem& p, const ConvGeometry& g,
                                                 const Question& q, const IsWanted& is_wanted) {
    return implementations(describe(p, g, q, dnnl_backward_weights), attributes(false, Activation::none),
                           is_wanted);
}

constexpr int64_t tile = 4;  // for F(4,3)

// For the whole batch: each transformed weight is multiplied by so many tiles.
int64_t tiles(const ConvGeometry& g) { return g.n * ceil_div(g.out[0], tile) * ceil_div(g.out[1], tile); }

// A convolution that multiplies large plain images as they are; blocked ones would be copied.
bool multiplies_images(const ConvGeometry& g) {
    constexpr int64_t small_image = 64;
    return g.kernel == Pair{1, 1} && g.stride == Pair{1, 1} && g.padding == Pair{0, 0} && g.groups == 1 &&
           g.out[0] * g.out[1] > small_image;
}

// The order of preference without measurements, from what was measured on AVX-512 machines: Winograd with
// weights transformed ahead, F(2,3) where the image is so small that F(4,3) computes mostly borders, or with
// weights that are transformed in each run (training) where enough tiles share them; then the direct kernels
// in oneDNN's order; then kernels based on a general matrix product, which also lock.
int rank_of(const std::string& name, const ConvGeometry& g, bool weight_is_ready, bool reordered) {
    constexpr int64_t small_image = 64, enough_channels = 32, enough_tiles = 64;
    if (name.find("wino") != std::string::npos) {
        if (std::min(g.ic, g.oc) < enough_channels) return 6;
        if (!weight_is_ready) return tiles(g) >= enough_tiles ? 0 : 6;
        bool large_tiles = name.find("4x3") != std::string::npos;
        return large_tiles == (g.out[0] * g.out[1] > small_image) ? 0 : 1;
    }
    if (is_general_product(name)) return !weight_is_ready && multiplies_images(g) ? 2 : 5;
    // The older one of the two for depthwise convolutions was faster in every measured layer.
    bool second_choice = name.find("brdgmm") != std::string::npos;
    return reordered || second_choice ? 4 : 3;
}

template <class Op>
std::string way_name(const Implementation& i) {
    auto layout = [&](int argument) { return layout_name(memory_of(i.desc.get(), argument)); };
    return text("onednn:", i.name, '/', layout(Op::x), ',', layout(Op::weight), ',', layout(Op::y));
}

// oneDNN 2.6.3 mixes neighbouring pixels of channels-last images up where their channels fill no blocks of
// this kernel.
bool mixes_pixels(const std::string& name, const ConvGeometry& g, const Question& q) {
    constexpr int64_t block = 16;
    bool has_whole_blocks = g.ic % block == 0 && g.oc % block == 0;
    return !has_whole_blocks && name.starts_with("jit_bf16_1x1") && layout_name(q.x) == "acdb";
}

// The general products of oneDNN 3.2 give 0 for the sigmoid of NaN, and raise no flag that NanRepair sees.
template <class Op>
bool drops_nan(const std::string& name, const Problem& p) {
    if constexpr (!std::is_same_v<Op, Forward> || DNNL_VERSION_MAJOR == 2) return false;
    return is_general_product(name) && p.as<Conv2d::Params>().activation == Activation::sigmoid;
}

template <class Op>
std::vector<Way> ways_for(const Problem& p, const ConvGeometry& g, const Question& q) {
    std::vector<Way> result;
    bool reordered = q.x != *memory_desc(Op::x_spec(p)) || q.y != *memory_desc(Op::y_spec(p));
    bool weight_is_ready = std::is_same_v<Op, Forward> && p.is_constant(1);
    // oneDNN 2.6.3 gives wrong numbers, and reads beyond the weight, for windows on padding alone.
    const bool misreads_padding = has_empty_window(g);
    // With matrix instructions it reads values beyond the channels, whose products may be NaN.
    const bool misreads_channels = g.ic % 16 != 0;
    for (auto& i : list_implementations(Op{}, p, g, q, {})) {
        if (mixes_pixels(i.name, g, q) || drops_nan<Op>(i.name, p)) continue;
        if (misreads_padding && i.name.starts_with("brgconv")) continue;
        if (misreads_channels && i.name.starts_with("brgconv:avx512_core_amx")) continue;
        std::string name = way_name<Op>(i);
        int rank = rank_of(i.name, g, weight_is_ready, reordered);
        result.push_back({std::move(name), std::move(i.desc), rank});
    }
    return result;
}

template <class Op>
Support supports(const Problem& p) {
    for (auto specs : {p.inputs, p.outputs})
        for (auto& spec : specs) {
            if (spec.is_absent()) continue;
            if (!computes_in(spec.dtype)) return {not_computed};
            if (spec.numel() == 0) return {"an empty tensor"};
            if (!memory_desc(spec)) return {"a layout that oneDNN does not have"};
        }
    if (!Op::weight_spec(p).layout.is_plain()) return {"weights are given plain"};
    return has_dtypes_of_product(p);
}

template <class Op>
std::vector<Candidate> candidates(const Problem& problem) {
    const InRows<Op> rows(problem);
    const Problem& p = rows.problem;
    ConvGeometry g = Op::geometry(p);
    ThreadScope scope(threads_for(p, g));
    auto list = questions<Op>(p, g);
    std::vector<std::pair<int, Candidate>> ranked;
    for (size_t i = 0; i < list.size(); ++i)
        for (auto& way : ways_for<Op>(p, g, list[i])) {
            auto same = [&](auto& other) { return other.second.name == way.name; };
            if (std::any_of(ranked.begin(), ranked.end(), same)) continue;
            ranked.push_back({way.rank, {way.name, i, attributes_of(way.name)}});
        }
    std::stable_sort(ranked.begin(), ranked.end(), [](auto& a, auto& b) { return a.first < b.first; });
    std::vector<Candidate> result;
    for (auto& [rank, candidate] : ranked) result.push_back(std::move(candidate));
    return result;
}

// One of those that ways_for() lists.
template <class Op>
PrimitiveDesc find_way(const Problem& p, const ConvGeometry& g, const Question& q, const std::string& name) {
    auto list =
        list_implementations(Op{}, p, g, q, [&](const Implementation& i) { return way_name<Op>(i) == name; });
    MGE_CHECK(!list.empty() && way_name<Op>(list.back()) == name, "no implementation named ", name);
    return std::move(list.back().desc);
}

const void* constant(const PrepareContext& context, size_t input) {
    return input < context.constants.size() ? context.constants[input] : nullptr;
}

std::vector<Operand> operands(Forward, const PrepareContext& context, const ConvGeometry& g) {
    auto& p = context.problem;
    DType dtype = p.inputs[0].dtype;
    std::vector<Operand> list{input(DNNL_ARG_SRC, 0, *memory_desc(p.inputs[0]), constant(context, 0)),
                              input(DNNL_ARG_WEIGHTS, 1, weight_desc(g, dtype), constant(context, 1)),
                              output(DNNL_ARG_DST, 0, *memory_desc(p.outputs[0]))};
    if (p.has_input(bias)) list.push_back(input(DNNL_ARG_BIAS, bias, bias_desc(g, p.outputs[0].dtype)));
    return list;
}
std::vector<Operand> operands(BackwardData, const PrepareContext& context, const ConvGeometry& g) {
    auto& p = context.problem;
    DType dtype = p.inputs[0].dtype;
    return {input(DNNL_ARG_WEIGHTS, 0, weight_desc(g, dtype), constant(context, 0)),
            input(DNNL_ARG_DIFF_DST, 1, *memory_desc(p.inputs[1]), constant(context, 1)),
            output(DNNL_ARG_DIFF_SRC, 0, *memory_desc(p.outputs[0]))};
}
std::vector<Operand> operands(BackwardWeight, const PrepareContext& context, const ConvGeometry& g) {
    auto& p = context.problem;
    DType dtype = p.inputs[0].dtype;
    return {input(DNNL_ARG_SRC, 0, *memory_desc(p.inputs[0]), constant(context, 0)),
            input(DNNL_ARG_DIFF_DST, 1, *memory_desc(p.inputs[1]), constant(context, 1)),
            output(DNNL_ARG_DIFF_WEIGHTS, 0, weight_desc(g, dtype))};
}

template <class Op>
Prepared prepare(const PrepareContext& given) {
    const InRows<Op> rows(given.problem);
    const Problem& p = rows.problem;
    const PrepareContext context{p, given.candidate, given.constants, given.select};
    ConvGeometry g = Op::geometry(p);
    int threads = threads_for(p, g);
    ThreadScope scope(threads);
    Question question = questions<Op>(p, g).at(context.candidate.id);
    PrimitiveDesc desc = find_way<Op>(p, g, question, context.candidate.name);
    if constexpr (std::is_same_v<Op, Forward>) {
        std::optional<Operand> added;
        if (p.has_input(residual)) added = input(DNNL_ARG_DST, residual, *memory_desc(p.inputs[residual]));
        return prepared(CallState{Call(desc, operands(Op{}, context, g), added ? &*added : nullptr,
                                       packing_of(context), p.as<Conv2d::Params>().activation),
                                  threads});
    }
    return prepared(CallState{Call(desc, operands(Op{}, context, g), nullptr, packing_of(context)), threads});
}

template <class Op>
Algorithm family() {
    return {"onednn", supports<Op>, prepare<Op>, run_call, {}, candidates<Op>};
}

}  // namespace

Algorithm onednn_conv2d() { return family<Forward>(); }
Algorithm onednn_conv2d_backward_data() { return family<BackwardData>(); }
Algorithm onednn_conv2d_backward_weight() { return family<BackwardWeight>(); }

}  // namespace mge::ops
