// SPDX-License-Identifier: Apache-2.0
// All pooling operators come down to a PoolGeometry and to one of five computations.
#include <algorithm>
#include <limits>

#include "libmge/kernel/cpu/convolution/pool_kernels.h"
#include "libmge/kernel/cpu/in_other_dtype.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/rows/half.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/nn/pooling/onednn.h"
#include "libmge/ops/nn/pooling/problem_geometry.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

struct State {
    PoolGeometry g;
    DType dtype = DType::f32;
    // For the vectorised kernels.
    int64_t planes = 0;
    cpu::PoolPlane plane{};
    int threads = 1;  // each with a workspace of its own
};

template <class Op>
Prepared prepare(const PrepareContext& context) {
    return Prepared::make(State{geometry_of<Op>(context.problem), context.problem.outputs[0].dtype});
}

// The elements of x under result (oy, ox).
struct Window {
    int64_t top, bottom, left, right;
    double count;
};
Window window_at(const PoolGeometry& g, int64_t oy, int64_t ox) {
    int64_t top = oy * g.stride[0] - g.padding[0], left = ox * g.stride[1] - g.padding[1];
    Window w{std::max<int64_t>(top, 0), std::min(top + g.kernel[0], g.in[0]), std::max<int64_t>(left, 0),
             std::min(left + g.kernel[1], g.in[1]), 0};
    w.count =
        double(g.count_include_pad ? g.kernel[0] * g.kernel[1] : (w.bottom - w.top) * (w.right - w.left));
    return w;
}

// Calls fn(plane of x, plane of y, window, place in the plane of y) for every result of planes [begin, end).
template <class Fn>
void for_windows(const PoolGeometry& g, int64_t begin, int64_t end, Fn&& fn) {
    for (int64_t plane = begin; plane < end; ++plane)
        for (int64_t oy = 0; oy < g.out[0]; ++oy)
            for (int64_t ox = 0; ox < g.out[1]; ++ox)
                fn(plane * g.in[0] * g.in[1], plane * g.out[0] * g.out[1] + oy * g.out[1] + ox,
                   window_at(g, oy, ox));
}
// Calls fn(place in x) for the elements of a window.
template <class Fn>
void for_elements(const PoolGeometry& g, int64_t x_plane, const Window& w, Fn&& fn) {
    for (int64_t y = w.top; y < w.bottom; ++y)
        for (int64_t x = w.left; x < w.right; ++x) fn(x_plane + y * g.in[1] + x);
}

// --- forward: x -> y ---

template <class... T>
auto with_bytes(Types<T...>) -> Types<T..., uint8_t, int8_t>;
using MaxTypes = decltype(with_bytes(FloatTypes{}));

void run_max_reference(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    dispatch_dtype(s.dtype, MaxTypes{}, [&]<class T>(std::type_identity<T>) {
        for_windows(s.g, 0, s.g.images * s.g.channels, [&](int64_t plane, int64_t place, const Window& w) {
            float best = -std::numeric_limits<float>::infinity();
            for_elements(s.g, plane, w, [&](int64_t i) { best = std::max(best, float(launch.in<T>(0)[i])); });
            launch.out<T>(0)[place] = T(best);
        });
    });
}

void run_average_reference(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    dispatch_dtype(s.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        for_windows(s.g, 0, s.g.images * s.g.channels, [&](int64_t plane, int64_t place, const Window& w) {
            double sum = 0;
            for_elements(s.g, plane, w, [&](int64_t i) { sum += float(launch.in<T>(0)[i]); });
            launch.out<T>(0)[place] = T(float(sum / w.count));
        });
    });
}

bool is_layout(const TensorSpec& spec, std::string_view name) { return spec.layout == Layout::named(name); }

// Planes with their channels innermost, at least in blocks, are as good as plain ones.
Support supports_layouts(const TensorSpec& image, Specs others) {
    for (auto& other : others)
        if (other.layout != image.layout) return {"all images must have the same layout"};
    if (!image.layout.is_plain() && !is_layout(image, "nhwc") && !is_layout(image, "nChw16c") &&
        !is_layout(image, "nChw8c"))
        return {"only the layouts plain, nhwc, nChw8c and nChw16c"};
    return supported;
}
Support supports_images(const TensorSpec& image, Specs others) {
    return image.dtype == DType::f32 ? supports_layouts(image, others) : Support{"only f32"};
}
Support supports_simd(const Problem& problem) { return supports_images(problem.outputs[0], problem.inputs); }
// The first input is only looked at for its shape.
Support supports_average_backward(const Problem& problem) {
    return supports_images(problem.outputs[0], problem.inputs.subspan(1));
}

// Cases in which our own rows were faster than oneDNN: work that costs less than its call, means of whole
// planes, and all maxima, because oneDNN's must be checked afterwards.
template <class Op, PoolKind Kind>
bool prefers_own(const Problem& problem) {
    if (Kind == PoolKind::max) return true;
    PoolGeometry g = geometry_of<Op>(problem);
    constexpr int64_t few_elements = 1 << 15;
    if (g.y_shape().numel() * g.kernel[0] * g.kernel[1] < few_elements) return true;
    return Kind == PoolKind::average && g.kernel == g.in && !is_layout(problem.inputs[0], "nhwc");
}
// An algorithm that is listed twice: before oneDNN if it is preferred, otherwise after it.
template <class Op, PoolKind Kind, Support (*Supports)(const Problem&), bool Preferred>
Support supports_at(const Problem& problem) {
    if (Support support = Supports(problem); !support) return support;
    if (prefers_own<Op, Kind>(problem) != Preferred) return {"stands at its other place in the list"};
    return supported;
}

template <class Op>
State planes_of(const Problem& problem) {
    auto& image = problem.outputs[0];
    State state{geometry_of<Op>(problem), image.dtype};
    auto& g = state.g;
    int64_t inner = image.layout.is_plain()      ? 1
                    : is_layout(image, "nhwc")   ? g.channels
                    : is_layout(image, "nChw8c") ? 8
                                                 : 16;
    state.planes = g.images * ((g.channels + inner - 1) / std::max<int64_t>(inner, 1));
    state.plane = {g.in[0],     g.in[1],     inner,        g.out[1],     g.kernel[0],         g.kernel[1],
                   g.stride[0], g.stride[1], g.padding[0], g.padding[1], g.count_include_pad, g.out[0]};
    return state;
}

template <class Op>
Prepared prepare_simd(const PrepareContext& context) {
    return Prepared::make(planes_of<Op>(context.problem));
}

template <bool IsMax>
void run_simd(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto& kernels = cpu::pool_kernels();
    auto* row_kernel = IsMax ? kernels.max_row : kernels.average_row;
    int64_t rows = s.g.out[0], x_plane = s.plane.h * s.plane.w * s.plane.inner;
    int64_t y_row = s.plane.out_w * s.plane.inner;
    // A vector of window elements costs about as much as a plain element.
    int64_t row_cost = y_row * s.plane.kernel_h * s.plane.kernel_w / 4 + 1;
    par_for(launch.threads, s.planes * rows, parallel_grain / row_cost + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
            row_kernel(s.plane, launch.in<float>(0) + i / rows * x_plane, launch.out<float>(0) + i * y_row,
                       i % rows);
    });
}

bool holds_bytes(const TensorSpec& image) { return image.dtype == DType::u8 || image.dtype == DType::i8; }
Support supports_byte_rows(const Problem& problem) {
    auto& image = problem.outputs[0];
    return holds_bytes(image) ? supports_layouts(image, problem.inputs) : Support{"only uint8 and int8"};
}

void run_byte_rows(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    const int64_t rows = s.g.out[0], x_plane = s.plane.h * s.plane.w * s.plane.inner;
    const int64_t y_row = s.plane.out_w * s.plane.inner;
    const int64_t row_cost = y_row * s.plane.kernel_h * s.plane.kernel_w / 16 + 1;
    auto run = [&](auto* max_row, const auto* x, auto* y) {
        par_for(launch.threads, s.planes * rows, parallel_grain / row_cost + 1,
                [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i)
                        max_row(s.plane, x + i / rows * x_plane, y + i * y_row, i % rows);
                });
    };
    auto& kernels = cpu::pool_kernels();
    if (s.dtype == DType::u8)
        run(kernels.max_row_u8, launch.in<uint8_t>(0), launch.out<uint8_t>(0));
    else
        run(kernels.max_row_i8, launch.in<int8_t>(0), launch.out<int8_t>(0));
}

// --- halves: maxima compare them as integers; for means each row of y widens the rows of x in its windows,
// so that images are never widened as a whole ---

Support supports_halves(const Problem& problem) {
    auto& image = problem.outputs[0];
    return is_half(image.dtype) ? supports_layouts(image, problem.inputs) : Support{"only f16 and bf16"};
}

template <class Op>
Prepared prepare_half_order(const PrepareContext& context) {
    State state = planes_of<Op>(context.problem);
    state.threads = context.problem.threads;
    const int64_t row = state.plane.w * state.plane.inner;
    return Prepared::make(state, size_t(state.threads * row) * sizeof(int16_t));
}

void run_half_order(const Prepared& prepared, const Launch& launch) {
    constexpr int16_t f16_infinity = 0x7c00, bf16_infinity = 0x7f80;
    auto& s = prepared.state<State>();
    auto& p = s.plane;
    const int64_t rows = s.g.out[0], x_row = p.w * p.inner, y_row = p.out_w * p.inner;
    const int64_t row_cost = (x_row * p.kernel_h + y_row * p.kernel_w) / 8 + 1;
    in_parts(std::min(launch.threads, s.threads), s.planes * rows, parallel_grain / row_cost + 1,
             [&](int part, int64_t begin, int64_t end) {
                 auto* columns = static_cast<int16_t*>(launch.workspace) + part * x_row;
                 for (int64_t i = begin; i < end; ++i)
                     cpu::pool_kernels().max_row_half(p, launch.in<uint16_t>(0) + i / rows * p.h * x_row,
                                                      launch.out<uint16_t>(0) + i * y_row, i % rows,
                                                      s.dtype == DType::f16 ? f16_infinity : bf16_infinity,
                                                      columns);
             });
}

int64_t floats_of_row(const cpu::PoolPlane& p) {
    return (std::min(p.kernel_h, p.h) * p.w + p.out_w) * p.inner;
}

template <class Op>
Prepared prepare_half_rows(const PrepareContext& context) {
    State state = planes_of<Op>(context.problem);
    state.threads = context.problem.threads;
    return Prepared::make(state, size_t(state.threads * floats_of_row(state.plane)) * sizeof(float));
}

template <class H>
void average_half_rows(const State& s, const Launch& launch) {
    auto& p = s.plane;
    const int64_t rows = s.g.out[0], x_row = p.w * p.inner, y_row = p.out_w * p.inner;
    const int64_t row_cost = y_row * p.kernel_h * p.kernel_w / 4 + p.kernel_h * x_row / 8 + 1;
    in_parts(std::min(launch.threads, s.threads), s.planes * rows, parallel_grain / row_cost + 1,
             [&](int part, int64_t begin, int64_t end) {
                 float* x = static_cast<float*>(launch.workspace) + part * floats_of_row(p);
                 float* y = x + floats_of_row(p) - y_row;
                 for (int64_t i = begin; i < end; ++i) {
                     const int64_t top = i % rows * p.stride_h - p.padding_h,
                                   first = std::clamp<int64_t>(top, 0, p.h),
                                   last = std::clamp(top + p.kernel_h, first, p.h);
                     cpu::halves_to_floats(launch.in<H>(0) + (i / rows * p.h + first) * x_row, x,
                                           (last - first) * x_row);
                     cpu::PoolPlane window = p;
                     window.h = last - first;
                     window.padding_h = first - top;
                     cpu::pool_kernels().average_row(window, x, y, 0);
                     cpu::floats_to_halves(y, launch.out<H>(0) + i * y_row, y_row);
                 }
             });
}
void run_half_rows(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    dispatch_dtype(s.dtype, cpu::HalfTypes(),
                   [&]<class H>(std::type_identity<H>) { average_half_rows<H>(s, launch); });
}

// --- means of whole planes, channels last: pieces of a plane apart, so that each thread reads the pixels
// that it computed; the same pieces for any number of threads ---

struct PlanePieces {
    int64_t images, rows, columns, channels, pieces;  // pieces: of an image
    int64_t first_row(int64_t piece) const { return rows * piece / pieces; }
};

template <class Op>
Support supports_pieces(const Problem& problem) {
    if (Support support = supports_simd(problem); !support) return support;
    if (!is_layout(problem.inputs[0], "nhwc")) return {"for channels last"};
    PoolGeometry g = geometry_of<Op>(problem);
    if (g.out != Pair{1, 1} || g.kernel != g.in || g.padding != Pair{0, 0})
        return {"for means of whole planes"};
    constexpr int64_t few_elements = 1 << 14;
    if (g.channels * g.in[0] * g.in[1] < few_elements) return {"so small that one thread is faster"};
    return supported;
}

template <class Op>
Prepared prepare_pieces(const PrepareContext& context) {
    PoolGeometry g = geometry_of<Op>(context.problem);
    constexpr int64_t most_pieces = 16;
    PlanePieces state{g.images, g.in[0], g.in[1], g.channels, std::min(g.in[0], most_pieces)};
    return Prepared::make(state, size_t(g.images * state.pieces * g.channels) * sizeof(float));
}

void run_pieces(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<PlanePieces>();
    const auto* x = launch.in<float>(0);
    auto* means = static_cast<float*>(launch.workspace);
    par_for(launch.threads, s.images * s.pieces, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            int64_t first = s.first_row(i % s.pieces), rows = s.first_row(i % s.pieces + 1) - first;
            cpu::PoolPlane piece{.h = rows,
                                 .w = s.columns,
                                 .inner = s.channels,
                                 .out_w = 1,
                                 .kernel_h = rows,
                                 .kernel_w = s.columns};
            cpu::pool_kernels().average_row(piece,
                                            x + (i / s.pieces * s.rows + first) * s.columns * s.channels,
                                            means + i * s.channels, 0);
        }
    });
    for (int64_t image = 0; image < s.images; ++image) {
        float* y = launch.out<float>(0) + image * s.channels;
        std::fill(y, y + s.channels, 0.0F);
        for (int64_t piece = 0; piece < s.pieces; ++piece, means += s.channels) {
            float share = float(s.first_row(piece + 1) - s.first_row(piece)) / float(s.rows);
            for (int64_t c = 0; c < s.channels; ++c) y[c] += means[c] * share;
        }
    }
}

// --- backward of max: x, y, dy -> dx; every element that equals the maximum gets dy ---

// References add up in double where the gradient meets: the result is rounded once.
template <class T, class Fn>
void scatter_reference(const State& s, const Launch& launch, Fn&& add) {
    int64_t size = s.g.in[0] * s.g.in[1];
    std::vector<double> sums(static_cast<size_t>(size));
    for (int64_t plane = 0; plane < s.g.images * s.g.channels; ++plane) {
        std::fill(sums.begin(), sums.end(), 0.0);
        for_windows(s.g, plane, plane + 1, [&](int64_t x_plane, int64_t place, const Window& w) {
            for_elements(s.g, x_plane, w, [&](int64_t i) { sums[size_t(i - x_plane)] += add(i, place, w); });
        });
        for (int64_t i = 0; i < size; ++i) launch.out<T>(0)[plane * size + i] = T(float(sums[size_t(i)]));
    }
}

void run_max_backward_reference(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    dispatch_dtype(s.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        scatter_reference<T>(s, launch, [&](int64_t i, int64_t place, const Window&) {
            bool is_largest = float(launch.in<T>(0)[i]) == float(launch.in<T>(1)[place]);
            return is_largest ? double(float(launch.in<T>(2)[place])) : 0.0;
        });
    });
}

// --- select: x, y, v -> z; the sum of v where x is the largest ---

template <class T, class Sum>
void select_planes(const State& s, const Launch& launch, int64_t begin, int64_t end) {
    const T *x = launch.in<T>(0), *y = launch.in<T>(1), *v = launch.in<T>(2);
    for_windows(s.g, begin, end, [&](int64_t x_plane, int64_t place, const Window& w) {
        Sum sum = 0;
        for_elements(s.g, x_plane, w,
                     [&](int64_t i) { sum += float(x[i]) == float(y[place]) ? Sum(float(v[i])) : Sum(0); });
        launch.out<T>(0)[place] = T(float(sum));
    });
}

void run_select_reference(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    dispatch_dtype(s.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        select_planes<T, double>(s, launch, 0, s.g.images * s.g.channels);
    });
}

Support supports_select_planes(const Problem& problem) {
    if (problem.outputs[0].dtype != DType::f32) return {"only f32"};
    return plain_layouts(problem);
}

void run_select_planes(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    int64_t cost = s.g.out[0] * s.g.out[1] * s.g.kernel[0] * s.g.kernel[1] + 1;
    par_for(launch.threads, s.g.images * s.g.channels, parallel_grain / cost + 1,
            [&](int64_t begin, int64_t end) { select_planes<float, float>(s, launch, begin, end); });
}

// --- backward of average: x (its shape only), dy -> dx ---

void run_average_backward_reference(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    dispatch_dtype(s.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        scatter_reference<T>(s, launch, [&](int64_t, int64_t place, const Window& w) {
            return float(launch.in<T>(1)[place]) / w.count;
        });
    });
}

// --- both backward, f32: planes are independent of each other ---

template <class Fn>
void for_planes(const State& s, const Launch& launch, Fn&& fn) {
    // A vector of window elements costs about as much as a plain element.
    auto& p = s.plane;
    int64_t cost = (p.h * p.w + p.out_h * p.out_w * p.kernel_h * p.kernel_w) * p.inner / 8 + 1;
    par_for(launch.threads, s.planes, parallel_grain / cost + 1, [&](int64_t begin, int64_t end) {
        for (int64_t plane = begin; plane < end; ++plane)
            fn(plane * p.h * p.w * p.inner, plane * p.out_h * p.out_w * p.inner);
    });
}

void run_max_backward(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    const float *x = launch.in<float>(0), *y = launch.in<float>(1), *dy = launch.in<float>(2);
    float* dx = launch.out<float>(0);
    for_planes(s, launch, [&](int64_t at_x, int64_t at_y) {
        cpu::pool_backward().max(s.plane, x + at_x, y + at_y, dy + at_y, dx + at_x);
    });
}

void run_average_backward(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    const float* dy = launch.in<float>(1);
    float* dx = launch.out<float>(0);
    for_planes(s, launch, [&](int64_t at_x, int64_t at_y) {
        cpu::pool_backward().average(s.plane, dy + at_y, dx + at_x);
    });
}

// --- the lists ---

template <class Op, PoolKind Kind>
constexpr Algorithm onednn_pool() {
    return {"onednn",
            +[](const Problem& p) { return supports_onednn_pool(p, Kind); },
            +[](const PrepareContext& c) { return prepare_onednn_pool(c, geometry_of<Op>(c.problem), Kind); },
            run_onednn_pool,
            {},
            +[](const Problem& p) { return onednn_pool_candidates(p, geometry_of<Op>(p), Kind); }};
}

template <class Op>
constexpr std::array max_algorithms{
    Algorithm{"simd_rows", supports_simd, prepare_simd<Op>, run_simd<true>},
    Algorithm{"half_order", supports_halves, prepare_half_order<Op>, run_half_order},
    onednn_pool<Op, PoolKind::max>(),
    Algorithm{"byte_rows", supports_byte_rows, prepare_simd<Op>, run_byte_rows},
    cpu::in_f32<Cpu, Op>(),
    Algorithm{"reference", plain_layouts, prepare<Op>, run_max_reference, {.naive = true}}};
template <class Op, bool Preferred>
constexpr Algorithm average_rows{"simd_rows", supports_at<Op, PoolKind::average, supports_simd, Preferred>,
                                 prepare_simd<Op>, run_simd<false>};
template <class Op>
constexpr std::array average_algorithms{
    average_rows<Op, true>,
    Algorithm{"pieces", supports_pieces<Op>, prepare_pieces<Op>, run_pieces},
    onednn_pool<Op, PoolKind::average>(),
    average_rows<Op, false>,
    Algorithm{"half_rows", supports_halves, prepare_half_rows<Op>, run_half_rows},
    cpu::in_f32<Cpu, Op>(),
    Algorithm{"reference", plain_layouts, prepare<Op>, run_average_reference, {.naive = true}}};
template <class Op>
constexpr std::array max_backward_algorithms{
    Algorithm{"simd_planes", supports_simd, prepare_simd<Op>, run_max_backward}, cpu::in_f32<Cpu, Op>(),
    Algorithm{"reference", plain_layouts, prepare<Op>, run_max_backward_reference, {.naive = true}}};
template <class Op>
constexpr std::array<Algorithm, 2> select_algorithms{
    {{"planes", supports_select_planes, prepare<Op>, run_select_planes},
     {"reference", plain_layouts, prepare<Op>, run_select_reference, {.naive = true}}}};
template <class Op>
constexpr std::array average_backward_algorithms{
    Algorithm{"simd_planes", supports_average_backward, prepare_simd<Op>, run_average_backward},
    onednn_pool<Op, PoolKind::average_backward>(), cpu::in_f32<Cpu, Op>(),
    Algorithm{"reference", plain_layouts, prepare<Op>, run_average_backward_reference, {.naive = true}}};

}  // namespace

KernelList kernels(Cpu, MaxPool2d) { return max_algorithms<MaxPool2d>; }
KernelList kernels(Cpu, MaxPool2dBackward) { return max_backward_algorithms<MaxPool2dBackward>; }
KernelList kernels(Cpu, MaxPool2dSelect) { return select_algorithms<MaxPool2dSelect>; }
KernelList kernels(Cpu, AvgPool2d) { return average_algorithms<AvgPool2d>; }
KernelList kernels(Cpu, AvgPool2dBackward) { return average_backward_algorithms<AvgPool2dBackward>; }
KernelList kernels(Cpu, AdaptiveMaxPool2d) { return max_algorithms<AdaptiveMaxPool2d>; }
KernelList kernels(Cpu, AdaptiveMaxPool2dBackward) {
    return max_backward_algorithms<AdaptiveMaxPool2dBackward>;
}
KernelList kernels(Cpu, AdaptiveMaxPool2dSelect) { return select_algorithms<AdaptiveMaxPool2dSelect>; }
KernelList kernels(Cpu, AdaptiveAvgPool2d) { return average_algorithms<AdaptiveAvgPool2d>; }
KernelList kernels(Cpu, AdaptiveAvgPool2dBackward) {
    return average_backward_algorithms<AdaptiveAvgPool2dBackward>;
}

}  // namespace mge::ops
