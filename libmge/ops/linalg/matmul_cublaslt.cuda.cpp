// SPDX-License-Identifier: Apache-2.0
// cuBLASLt counts in columns. To it our row-major y = a b is the transposed y' = b' a': its first operand is
// our b, its rows are our columns, and the bias, one value per row, is ours.

#include "libmge/ops/linalg/matmul_algorithms.h"

#include <array>
#include <charconv>
#include <cstdint>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/device/cuda/cublaslt.h"
#include "libmge/kernel/activation.h"
#include "libmge/kernel/cuda/epilogue.h"
#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/linalg/matmul_geometry.h"

namespace mge::ops {
namespace {

using cuda::cublaslt;

enum Input : size_t { a, b, bias, residual };

constexpr int most_candidates = 16;
constexpr size_t most_workspace = size_t(32) << 20;
constexpr size_t workspace_alignment = 256;  // required by cuBLASLt's documentation
// Its fast kernels read 16 bytes at once. Operands may be views that begin anywhere: those go elsewhere.
constexpr uint32_t operand_alignment = 16;

// The properties that distinguish two algorithms of one problem. All of them form the name, the algorithm's
// number first.
struct Part {
    cublasLtMatmulAlgoConfigAttributes_t attribute;
    size_t bytes = sizeof(uint32_t);
};
constexpr std::array parts{
    Part{CUBLASLT_ALGO_CONFIG_ID},
    Part{CUBLASLT_ALGO_CONFIG_TILE_ID},
    Part{CUBLASLT_ALGO_CONFIG_STAGES_ID},
    Part{CUBLASLT_ALGO_CONFIG_SPLITK_NUM},
    Part{CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME},
    Part{CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING},
    Part{CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION},
    Part{CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, sizeof(uint16_t)},
    Part{CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, sizeof(uint16_t)},
};
constexpr std::string_view prefix = "cublaslt:";

cudaDataType_t data_type(DType dtype) {
    return dtype == DType::f16 ? CUDA_R_16F : dtype == DType::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

cublasComputeType_t compute_type(const Problem& p) {
    bool is_strict = p.inputs[a].dtype != DType::f32 || p.precision == Precision::strict;
    return is_strict ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_FAST_TF32;
}

// The epilogues that mean what ours do. Its relu keeps NaN (cuBLASLt 13.1 on an H100), where the activation
// relu gives 0. Its gelu is the formula of tanh, which differs from the exact one by up to 5e-4. Both are
// used where the precision is not strict.
bool has_epilogue(const Problem& p) {
    auto activation = p.as<Matmul::Params>().activation;
    return activation == Activation::none || activation == Activation::relu_keeps_nan ||
           ((activation == Activation::relu || activation == Activation::gelu) &&
            p.precision != Precision::strict);
}
cublasLtEpilogue_t epilogue_of(const Problem& p) {
    auto with_bias = [&](cublasLtEpilogue_t without, cublasLtEpilogue_t with) {
        return p.has_input(bias) ? with : without;
    };
    switch (p.as<Matmul::Params>().activation) {
        case Activation::relu:
        case Activation::relu_keeps_nan:
            return with_bias(CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_BIAS);
        case Activation::gelu:
            return with_bias(CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS);
        default:
            return with_bias(CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS);
    }
}

// How an operand's matrices follow each other; nullopt when no single stride says it.
std::optional<int64_t> batch_stride(const MatmulGeometry& g, const Shape& own, int64_t matrix) {
    if (own == g.batch) return matrix;
    if (own.numel() == 1) return 0;
    return std::nullopt;
}

// A product as cuBLASLt knows it. Plain memory: a run may change its copy.
struct Product {
    cublasLtMatmulDescOpaque_t desc{};
    cublasLtMatrixLayoutOpaque_t a{}, b{}, y{};
};

template <class T>
void set(cublasLtMatmulDescOpaque_t& desc, cublasLtMatmulDescAttributes_t attribute, T value) {
    cublaslt().check(cublaslt().set_desc(&desc, attribute, &value, sizeof value),
                     "cublasLtMatmulDescSetAttribute");
}
template <class T>
void set(cublasLtMatrixLayoutOpaque_t& layout, cublasLtMatrixLayoutAttribute_t attribute, T value) {
    cublaslt().check(cublaslt().set_layout(&layout, attribute, &value, sizeof value),
                     "cublasLtMatrixLayoutSetAttribute");
}
template <class T>
void set(cublasLtMatmulPreferenceOpaque_t& preference, cublasLtMatmulPreferenceAttributes_t attribute,
         T value) {
    cublaslt().check(cublaslt().set_preference(&preference, attribute, &value, sizeof value),
                     "cublasLtMatmulPreferenceSetAttribute");
}

struct Matrix {
    cudaDataType_t type;
    int64_t rows, columns, row_stride, column_stride;
    int64_t batches, batch_stride;
};

// In columns, or transposed where the rows are what is dense.
cublasOperation_t init_layout(cublasLtMatrixLayoutOpaque_t& layout, const Matrix& m) {
    bool is_transposed = m.row_stride != 1;
    int64_t rows = is_transposed ? m.columns : m.rows, columns = is_transposed ? m.rows : m.columns;
    // With one column the distance to the next means nothing, but it is checked.
    int64_t pitch = std::max(is_transposed ? m.row_stride : m.column_stride, rows);
    cublaslt().check(
        cublaslt().init_layout(&layout, sizeof layout, m.type, uint64_t(rows), uint64_t(columns), pitch),
        "cublasLtMatrixLayoutInit");
    set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t(m.batches));
    set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, m.batch_stride);
    return is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

MatmulGeometry geometry_of(const Problem& p) {
    return matmul_geometry(p.as<Matmul::Params>(), p.inputs[a].shape, p.inputs[b].shape);
}

Product product_of(const Problem& p) {
    auto g = geometry_of(p);
    auto type = data_type(p.inputs[a].dtype);
    int64_t n = g.batches();
    Product x;
    cublaslt().check(cublaslt().init_desc(&x.desc, sizeof x.desc, compute_type(p), CUDA_R_32F),
                     "cublasLtMatmulDescInit");
    auto first = init_layout(
        x.b, {type, g.n, g.k, g.b_stride_n, g.b_stride_k, n, *batch_stride(g, g.b_batch, g.k * g.n)});
    auto second = init_layout(
        x.a, {type, g.k, g.m, g.a_stride_k, g.a_stride_m, n, *batch_stride(g, g.a_batch, g.m * g.k)});
    init_layout(x.y, {type, g.n, g.m, 1, g.n, n, g.m * g.n});
    set(x.desc, CUBLASLT_MATMUL_DESC_TRANSA, int32_t(first));
    set(x.desc, CUBLASLT_MATMUL_DESC_TRANSB, int32_t(second));
    if (has_epilogue(p)) {
        set(x.desc, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(p));
        // Planning only checks the address's alignment.
        if (p.has_input(bias)) set(x.desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, uintptr_t(operand_alignment));
        if (p.has_input(bias)) set(x.desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type);
    }
    return x;
}

Support supports(const Problem& p) {
    if (Support plain = plain_layouts(p); !plain) return plain;
    auto dtype = p.inputs[a].dtype;
    if (!is_float(dtype)) return {"floats only"};
    for (auto& spec : p.inputs)
        if (!spec.is_absent() && spec.dtype != dtype) return {"one dtype for all operands"};
    auto g = geometry_of(p);
    if (g.batches() * g.m * g.n * g.k == 0) return {"an empty operand"};
    if (g.batches() > INT32_MAX || !batch_stride(g, g.a_batch, 1) || !batch_stride(g, g.b_batch, 1))
        return {"batches that are broadcast along some axes only"};
    if (!cublaslt().why_not.empty()) return {cublaslt().why_not.c_str()};
    return supported;
}

std::string name_of(const cublasLtMatmulAlgo_t& algo) {
    std::string name(prefix);
    for (auto& part : parts) {
        uint32_t value = 0;
        size_t written = 0;
        cublaslt().check(cublaslt().get_config(&algo, part.attribute, &value, part.bytes, &written),
                         "cublasLtMatmulAlgoConfigGetAttribute");
        name += (name.size() > prefix.size() ? "." : "") + std::to_string(value);
    }
    return name;
}

cublasLtMatmulPreferenceOpaque_t preference() {
    cublasLtMatmulPreferenceOpaque_t x{};
    cublaslt().check(cublaslt().init_preference(&x, sizeof x), "cublasLtMatmulPreferenceInit");
    set(x, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, most_workspace);
    // Parts of sums are neither rounded to halves nor added in the order of their arrival.
    set(x, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    for (auto attribute :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
        set(x, attribute, operand_alignment);
    return x;
}

std::vector<Candidate> candidates(const Problem& p) {
    auto handle = cuda::cublaslt_handle(p.device.index);
    Product x = product_of(p);
    auto limits = preference();
    std::array<cublasLtMatmulHeuristicResult_t, most_candidates> found{};
    int count = 0;
    auto status = cublaslt().heuristic(handle, &x.desc, &x.b, &x.a, &x.y, &x.y, &limits, most_candidates,
                                       found.data(), &count);
    std::vector<Candidate> result;
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return result;
    cublaslt().check(status, "cublasLtMatmulAlgoGetHeuristic");
    for (int i = 0; i < count; ++i)
        if (found[size_t(i)].state == CUBLAS_STATUS_SUCCESS)
            result.push_back({name_of(found[size_t(i)].algo),
                              0,
                              {.accuracy_depends_on_batch = true, .usable_depends_on_shape = true}});
    return result;
}

// The way back from a name.
cublasLtMatmulAlgo_t algorithm_of(const Problem& p, cublasLtHandle_t handle, std::string_view name) {
    std::array<uint32_t, parts.size()> values{};
    const char *at = name.data() + prefix.size(), *end = name.data() + name.size();
    for (auto& value : values) {
        at = std::from_chars(at, end, value).ptr;
        if (at != end) ++at;
    }
    auto type = data_type(p.inputs[a].dtype);
    cublasLtMatmulAlgo_t algo{};
    cublaslt().check(cublaslt().init_algo(handle, compute_type(p), CUDA_R_32F, type, type, type, type,
                                          int(values[0]), &algo),
                     "cublasLtMatmulAlgoInit");
    for (size_t i = 1; i < parts.size(); ++i)
        cublaslt().check(cublaslt().set_config(&algo, parts[i].attribute, &values[i], parts[i].bytes),
                         "cublasLtMatmulAlgoConfigSetAttribute");
    return algo;
}

struct State {
    Product product;
    cublasLtMatmulAlgo_t algo{};
    cublasLtHandle_t handle{};
    size_t workspace = 0;
    bool has_bias = false;
    // The remaining work.
    DType dtype{};
    cuda::EpilogueArguments epilogue{};
    Prepared tiled;  // for operands that are not aligned
};

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    State s;
    s.handle = cuda::cublaslt_handle(p.device.index);
    s.product = product_of(p);
    s.algo = algorithm_of(p, s.handle, context.candidate.name);
    cublasLtMatmulHeuristicResult_t fit{};
    auto& x = s.product;
    cublaslt().check(cublaslt().check_algo(s.handle, &x.desc, &x.b, &x.a, &x.y, &x.y, &s.algo, &fit),
                     "cublasLtMatmulAlgoCheck");
    s.workspace = fit.workspaceSize;
    auto activation = p.as<Matmul::Params>().activation;
    s.has_bias = has_epilogue(p) && p.has_input(bias);
    s.dtype = p.inputs[a].dtype;
    if (!has_epilogue(p)) {
        s.epilogue.numel = p.outputs[0].numel();
        s.epilogue.channels = geometry_of(p).n;
        s.epilogue.inner = 1;
        s.epilogue.activation = activation;
    }
    s.tiled = tiled_matmul().prepare(context);
    size_t workspace = s.workspace ? s.workspace + workspace_alignment : 0;
    return Prepared::make(std::move(s), workspace);
}

bool is_aligned(const void* address) { return uintptr_t(address) % operand_alignment == 0; }
bool are_aligned(const Launch& launch) {
    for (auto* input : launch.inputs)
        if (!is_aligned(input)) return false;
    return is_aligned(launch.outputs[0]);
}

void* aligned_workspace(const Launch& launch) {
    auto at = uintptr_t(launch.workspace);
    return reinterpret_cast<void*>(round_up(at, workspace_alignment));
}

void finish(const State& s, const Launch& launch, cuda::Stream stream) {
    cuda::EpilogueArguments x = s.epilogue;
    if (x.numel == 0) return;
    x.sums = x.y = launch.outputs[0];
    x.bias = launch.in_if_given<void>(bias);
    cuda::run_epilogue(stream, cuda::type_index(s.dtype), x);
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    if (!are_aligned(launch)) return tiled_matmul().run(s.tiled, launch);
    cuda::Stream stream = cuda::stream_of(launch);
    Product x = s.product;
    cublasLtMatmulAlgo_t algo = s.algo;
    if (s.has_bias) set(x.desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, launch.inputs[bias]);
    const void* added = launch.in_if_given<void>(residual);
    float one = 1, beta = added ? 1 : 0;
    void* y = launch.outputs[0];
    cublaslt().check(cublaslt().matmul(s.handle, &x.desc, &one, launch.inputs[b], &x.b, launch.inputs[a],
                                       &x.a, &beta, added ? added : y, &x.y, y, &x.y, &algo,
                                       aligned_workspace(launch), s.workspace, stream),
                     "cublasLtMatmul");
    finish(s, launch, stream);
}

}  // namespace

Algorithm cublaslt_matmul() { return {"cublaslt", supports, prepare, run, {}, candidates}; }

}  // namespace mge::ops
