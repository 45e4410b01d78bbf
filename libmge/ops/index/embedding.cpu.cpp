// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/embedding.h"

#include <algorithm>
#include <cstring>

#include "libmge/kernel/cpu/check_indices.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

void run_rows(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<Embedding::Params>>();
    auto& weight = problem.inputs[0];
    int64_t rows = weight.shape[0], count = problem.inputs[1].numel();
    size_t bytes = size_t(weight.shape[1]) * size_of(weight.dtype);
    auto* index = launch.in<int32_t>(1);
    check_indices(Embedding::name, 0, index, count, rows);
    if (bytes == 0) return;
    par_for(launch.threads, count,
            std::max<int64_t>(1, parallel_grain / std::max<int64_t>(1, int64_t(bytes))),
            [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i)
                    std::memcpy(launch.out<char>(0) + size_t(i) * bytes,
                                launch.in<char>(0) + size_t(from_end(index[i], rows)) * bytes, bytes);
            });
}

// Each thread owns some columns of all rows, so that the order of additions is that of the indices.
void run_sums(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<EmbeddingBackward::Params>>();
    int64_t rows = problem.params.num_embeddings, width = problem.outputs[0].shape[1];
    int64_t count = problem.inputs[0].numel();
    auto* index = launch.in<int32_t>(0);
    check_indices(EmbeddingBackward::name, 0, index, count, rows);
    dispatch_dtype(problem.outputs[0].dtype, NumberTypes{}, [&]<class T>(std::type_identity<T>) {
        T* sums = launch.out<T>(0);
        std::fill(sums, sums + rows * width, T{});
        par_for(launch.threads, width, std::max<int64_t>(16, parallel_grain / std::max<int64_t>(1, count)),
                [&](int64_t begin, int64_t end) {
                    for (int64_t i = 0; i < count; ++i) {
                        T* row = sums + from_end(index[i], rows) * width;
                        const T* dy = launch.in<T>(1) + i * width;
                        for (int64_t c = begin; c < end; ++c) {
                            if constexpr (std::is_integral_v<T>)
                                row[c] = T(row[c] + dy[c]);
                            else
                                row[c] = T(float(row[c]) + float(dy[c]));
                        }
                    }
                });
    });
}

}  // namespace

KernelList kernels(Cpu, Embedding) {
    return one_algorithm<copy_problem<Embedding::Params>, run_rows>("rows");
}
KernelList kernels(Cpu, EmbeddingBackward) {
    return one_algorithm<copy_problem<EmbeddingBackward::Params>, run_sums>("columns");
}

}  // namespace mge::ops
