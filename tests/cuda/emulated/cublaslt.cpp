// SPDX-License-Identifier: Apache-2.0
// cuBLASLt for the emulated GPU: products of column-major matrices, with the epilogues in use; arguments are
// refused as the headers document. Descriptors are the caller's memory, which contains our own structs.

#include "libmge/device/cuda/cublaslt.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/cuda/emulated/library_work.h"

struct cublasLtContext {};

namespace mge::cuda {
namespace {

struct Desc {
    cublasComputeType_t compute;
    cudaDataType_t scale;
    int32_t transposes_a, transposes_b;
    uint32_t epilogue;
    int32_t bias_type;
    const void* bias;
};
struct Layout {
    cudaDataType_t type;
    int32_t batches;
    uint64_t rows, columns;
    int64_t pitch, batch_stride;
};
struct Preference {
    uint64_t workspace;
    uint32_t schemes, alignment[4];
};
struct Algo {
    uint32_t id, tile, stages, splits, scheme, swizzle, custom;
    uint16_t inner, cluster;
};

template <class To, class From>
To& own(From* opaque) {
    static_assert(sizeof(To) <= sizeof(From));
    return *reinterpret_cast<To*>(opaque);
}
template <class To, class From>
const To& own(const From* opaque) {
    return *reinterpret_cast<const To*>(opaque);
}

// Sets a field of an attribute whose size has to be that of the field.
template <class T>
cublasStatus_t put(T& field, const void* value, size_t bytes) {
    if (!value || bytes != sizeof field) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&field, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t create(cublasLtHandle_t* handle) {
    *handle = std::make_unique<cublasLtContext>().release();
    return CUBLAS_STATUS_SUCCESS;
}
size_t version() { return 130100; }
const char* status_name(cublasStatus_t) { return "emulated"; }

cublasStatus_t init_desc(cublasLtMatmulDesc_t desc, size_t bytes, cublasComputeType_t compute,
                         cudaDataType_t scale) {
    if (bytes != sizeof *desc) return CUBLAS_STATUS_ALLOC_FAILED;
    own<Desc>(desc) = {compute, scale, 0, 0, CUBLASLT_EPILOGUE_DEFAULT, -1, nullptr};
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t set_desc(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t name, const void* value,
                        size_t bytes) {
    auto& d = own<Desc>(desc);
    switch (name) {
        case CUBLASLT_MATMUL_DESC_TRANSA:
            return put(d.transposes_a, value, bytes);
        case CUBLASLT_MATMUL_DESC_TRANSB:
            return put(d.transposes_b, value, bytes);
        case CUBLASLT_MATMUL_DESC_EPILOGUE:
            return put(d.epilogue, value, bytes);
        case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
            return put(d.bias, value, bytes);
        case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
            return put(d.bias_type, value, bytes);
        default:
            return CUBLAS_STATUS_INVALID_VALUE;
    }
}
cublasStatus_t init_layout(cublasLtMatrixLayout_t layout, size_t bytes, cudaDataType type, uint64_t rows,
                           uint64_t columns, int64_t pitch) {
    if (bytes != sizeof *layout) return CUBLAS_STATUS_ALLOC_FAILED;
    own<Layout>(layout) = {type, 1, rows, columns, pitch, 0};
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t set_layout(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t name,
                          const void* value, size_t bytes) {
    auto& l = own<Layout>(layout);
    if (name == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) return put(l.batches, value, bytes);
    if (name == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET) return put(l.batch_stride, value, bytes);
    return CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t init_preference(cublasLtMatmulPreference_t preference, size_t bytes) {
    if (bytes != sizeof *preference) return CUBLAS_STATUS_ALLOC_FAILED;
    own<Preference>(preference) = {0, ~0u, {256, 256, 256, 256}};
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t set_preference(cublasLtMatmulPreference_t preference,
                              cublasLtMatmulPreferenceAttributes_t name, const void* value, size_t bytes) {
    auto& p = own<Preference>(preference);
    switch (name) {
        case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
            return put(p.workspace, value, bytes);
        case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
            return put(p.schemes, value, bytes);
        case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
        case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
        case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
        case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
            return put(p.alignment[name - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value, bytes);
        default:
            return CUBLAS_STATUS_INVALID_VALUE;
    }
}

// --- what a product is ---

struct Product {
    Desc desc;
    Layout a, b, c, d;
    uint64_t depth;
};
bool has_epilogue(const Desc& d) {
    constexpr std::array known{CUBLASLT_EPILOGUE_DEFAULT,   CUBLASLT_EPILOGUE_BIAS,
                               CUBLASLT_EPILOGUE_RELU,      CUBLASLT_EPILOGUE_GELU,
                               CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS};
    return std::ranges::find(known, cublasLtEpilogue_t(d.epilogue)) != known.end();
}
bool adds_bias(const Desc& d) { return d.epilogue & CUBLASLT_EPILOGUE_BIAS; }

// CUBLAS_STATUS_INVALID_VALUE where extents, batches or types do not agree.
cublasStatus_t read_product(Product& p, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                            cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
    p = {own<Desc>(desc), own<Layout>(a), own<Layout>(b), own<Layout>(c), own<Layout>(d), 0};
    uint64_t rows = p.desc.transposes_a ? p.a.columns : p.a.rows,
             depth = p.desc.transposes_a ? p.a.rows : p.a.columns;
    uint64_t under = p.desc.transposes_b ? p.b.columns : p.b.rows,
             columns = p.desc.transposes_b ? p.b.rows : p.b.columns;
    p.depth = depth;
    bool is_half = p.d.type == CUDA_R_16F || p.d.type == CUDA_R_16BF;
    bool has_types = p.a.type == p.b.type && p.b.type == p.d.type && p.c.type == p.d.type &&
                     (is_half || p.d.type == CUDA_R_32F) && p.desc.scale == CUDA_R_32F &&
                     (p.desc.compute == CUBLAS_COMPUTE_32F ||
                      (!is_half && p.desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32));
    bool has_extents = depth == under && p.d.rows == rows && p.d.columns == columns && p.c.rows == rows &&
                       p.c.columns == columns;
    for (auto* layout : {&p.a, &p.b, &p.c, &p.d}) {
        has_extents &= layout->pitch >= int64_t(layout->rows) && layout->batches == p.d.batches;
        // Without a stride every batch is the same, which a result cannot be.
        has_extents &= layout->batches == 1 || layout->batch_stride > 0 || layout == &p.a || layout == &p.b;
    }
    bool has_bias = !adds_bias(p.desc) || (p.desc.bias && p.desc.bias_type == int32_t(p.d.type));
    return has_types && has_extents && has_epilogue(p.desc) && has_bias ? CUBLAS_STATUS_SUCCESS
                                                                        : CUBLAS_STATUS_INVALID_VALUE;
}

size_t workspace_of(const Product& p, const Algo& algo) {
    if (algo.splits < 2) return 0;
    return size_t(algo.splits) * p.d.rows * p.d.columns * size_t(p.d.batches) * sizeof(float);
}

constexpr uint32_t in_tf32 = 66;
std::vector<Algo> algorithms(const Product& p) {
    constexpr uint32_t compute_type = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    std::vector<Algo> found{{21, 18, 12, 1, 0, 0, 0, 0, 2}, {31, 20, 0, 2, compute_type, 1, 3, 1, 0}};
    if (p.desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32) found.push_back({in_tf32, 15, 5, 1, 0, 0, 0, 0, 0});
    return found;
}

cublasStatus_t heuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                         cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                         cublasLtMatmulPreference_t preference, int most,
                         cublasLtMatmulHeuristicResult_t results[], int* count) {
    Product p;
    if (auto status = read_product(p, desc, a, b, c, d); status != CUBLAS_STATUS_SUCCESS) return status;
    auto& limits = own<Preference>(preference);
    *count = 0;
    for (auto& algo : algorithms(p)) {
        bool is_allowed =
            workspace_of(p, algo) <= limits.workspace && (!algo.scheme || limits.schemes & algo.scheme);
        if (!is_allowed || *count == most) continue;
        auto& result = results[(*count)++];
        own<Algo>(&result.algo) = algo;
        result.workspaceSize = workspace_of(p, algo);
        result.state = CUBLAS_STATUS_SUCCESS;
    }
    return *count ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t init_algo(cublasLtHandle_t, cublasComputeType_t, cudaDataType_t, cudaDataType_t,
                         cudaDataType_t, cudaDataType_t, cudaDataType_t, int id, cublasLtMatmulAlgo_t* algo) {
    own<Algo>(algo) = {};
    own<Algo>(algo).id = uint32_t(id);
    return CUBLAS_STATUS_SUCCESS;
}

// Calls fn with the field of an attribute.
template <class A, class Fn>
cublasStatus_t with_field(A& algo, cublasLtMatmulAlgoConfigAttributes_t name, Fn fn) {
    switch (name) {
        case CUBLASLT_ALGO_CONFIG_ID:
            return fn(algo.id);
        case CUBLASLT_ALGO_CONFIG_TILE_ID:
            return fn(algo.tile);
        case CUBLASLT_ALGO_CONFIG_STAGES_ID:
            return fn(algo.stages);
        case CUBLASLT_ALGO_CONFIG_SPLITK_NUM:
            return fn(algo.splits);
        case CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME:
            return fn(algo.scheme);
        case CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING:
            return fn(algo.swizzle);
        case CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION:
            return fn(algo.custom);
        case CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID:
            return fn(algo.inner);
        case CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID:
            return fn(algo.cluster);
        default:
            return CUBLAS_STATUS_INVALID_VALUE;
    }
}
cublasStatus_t set_config(cublasLtMatmulAlgo_t* algo, cublasLtMatmulAlgoConfigAttributes_t name,
                          const void* value, size_t bytes) {
    if (name == CUBLASLT_ALGO_CONFIG_ID)
        return CUBLAS_STATUS_INVALID_VALUE;  // an error of
                                             // cublasLtMatmulAlgoInit
    return with_field(own<Algo>(algo), name, [&](auto& field) { return put(field, value, bytes); });
}
cublasStatus_t get_config(const cublasLtMatmulAlgo_t* algo, cublasLtMatmulAlgoConfigAttributes_t name,
                          void* value, size_t bytes, size_t* written) {
    return with_field(own<Algo>(algo), name, [&](auto& field) {
        if (bytes != sizeof field) return CUBLAS_STATUS_INVALID_VALUE;
        std::memcpy(value, &field, *written = sizeof field);
        return CUBLAS_STATUS_SUCCESS;
    });
}

cublasStatus_t check_algo(cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                          cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                          const cublasLtMatmulAlgo_t* given, cublasLtMatmulHeuristicResult_t* result) {
    Product p;
    if (auto status = read_product(p, desc, a, b, c, d); status != CUBLAS_STATUS_SUCCESS) return status;
    auto& algo = own<Algo>(given);
    for (auto& known : algorithms(p))
        if (std::memcmp(&known, &algo, sizeof algo) == 0) {
            result->workspaceSize = workspace_of(p, algo);
            result->state = CUBLAS_STATUS_SUCCESS;
            return CUBLAS_STATUS_SUCCESS;
        }
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

// --- what it computes ---

float from_bits(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
uint32_t bits_of(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
float read(const void* at, cudaDataType_t type, int64_t i) {
    if (type == CUDA_R_32F) return static_cast<const float*>(at)[i];
    if (type == CUDA_R_16F) return float(static_cast<const _Float16*>(at)[i]);
    return from_bits(uint32_t(static_cast<const uint16_t*>(at)[i]) << 16);
}
void write(void* at, cudaDataType_t type, int64_t i, float value) {
    if (type == CUDA_R_32F) {
        static_cast<float*>(at)[i] = value;
    } else if (type == CUDA_R_16F) {
        static_cast<_Float16*>(at)[i] = _Float16(value);
    } else {
        uint32_t bits = bits_of(value);
        static_cast<uint16_t*>(at)[i] =
            uint16_t(value == value ? (bits + 0x7fff + (bits >> 16 & 1)) >> 16 : 0x7fc0);
    }
}

struct Addresses {
    const void *a, *b, *c;
    void* d;
};

float activated(const Desc& d, float x) {
    if (d.epilogue & CUBLASLT_EPILOGUE_RELU) return x <= 0 ? 0 : x;  // NaN stays, as on an H100
    if (d.epilogue & CUBLASLT_EPILOGUE_GELU)
        return 0.5f * x * (1 + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
    return x;
}

// One matrix of a batch, as rows of factors that run along the depth of the product.
std::vector<double> factors(const void* from, const Layout& l, bool along_rows, int64_t batch, bool rounds) {
    uint64_t rows = along_rows ? l.columns : l.rows, depth = along_rows ? l.rows : l.columns;
    std::vector<double> result(rows * depth);
    for (uint64_t row = 0; row < rows; ++row)
        for (uint64_t k = 0; k < depth; ++k) {
            auto i = along_rows ? int64_t(k) + int64_t(row) * l.pitch : int64_t(row) + int64_t(k) * l.pitch;
            float value = read(from, l.type, batch * l.batch_stride + i);
            result[row * depth + k] = double(rounds ? from_bits(bits_of(value) & 0xffffe000) : value);
        }
    return result;
}

void multiply(const Product& p, const Addresses& at, float alpha, float beta, bool rounds) {
    for (int64_t batch = 0; batch < p.d.batches; ++batch) {
        auto a = factors(at.a, p.a, p.desc.transposes_a, batch, rounds);
        auto b = factors(at.b, p.b, !p.desc.transposes_b, batch, rounds);
        for (uint64_t column = 0; column < p.d.columns; ++column)
            for (uint64_t row = 0; row < p.d.rows; ++row) {
                double sum = 0;
                for (uint64_t k = 0; k < p.depth; ++k) sum += a[row * p.depth + k] * b[column * p.depth + k];
                auto value = alpha * float(sum);
                int64_t within = int64_t(row) + int64_t(column) * p.c.pitch;
                if (beta != 0) value += beta * read(at.c, p.c.type, batch * p.c.batch_stride + within);
                if (adds_bias(p.desc)) value += read(p.desc.bias, p.d.type, int64_t(row));
                write(at.d, p.d.type, batch * p.d.batch_stride + int64_t(row) + int64_t(column) * p.d.pitch,
                      activated(p.desc, value));
            }
    }
}

cublasStatus_t matmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void* alpha, const void* a,
                      cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                      const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                      cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo, void* workspace,
                      size_t workspace_bytes, cudaStream_t stream) {
    Product p;
    if (auto status = read_product(p, desc, a_layout, b_layout, c_layout, d_layout);
        status != CUBLAS_STATUS_SUCCESS)
        return status;
    size_t needed = workspace_of(p, own<Algo>(algo));
    auto is_aligned = [](const void* address) { return uintptr_t(address) % 16 == 0; };
    bool has_addresses = is_aligned(a) && is_aligned(b) && is_aligned(c) && is_aligned(d) &&
                         is_aligned(p.desc.bias) && a && b && c && d;
    bool has_workspace =
        !needed || (workspace && workspace_bytes >= needed && uintptr_t(workspace) % 256 == 0);
    if (!has_addresses || !has_workspace) return CUBLAS_STATUS_INVALID_VALUE;
    Addresses at{a, b, c, d};
    float by = *static_cast<const float*>(alpha), of_c = *static_cast<const float*>(beta);
    bool rounds_factors = own<Algo>(algo).id == in_tf32;
    bool is_enqueued = emulated::enqueue_on_stream(stream, [=] {
        // Other contents of the workspace are lost.
        if (needed) std::memset(workspace, 0xcd, needed);
        multiply(p, at, by, of_c, rounds_factors);
    });
    return is_enqueued ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace

const CublasLt& cublaslt() {
    static const CublasLt present{{},         create,          version,        status_name,
                                  matmul,     init_desc,       set_desc,       init_layout,
                                  set_layout, init_preference, set_preference, heuristic,
                                  init_algo,  check_algo,      get_config,     set_config};
    static const CublasLt missing{.why_not = "cannot open libcublasLt.so.13"};
    return emulated::are_libraries_hidden() ? missing : present;
}

}  // namespace mge::cuda
