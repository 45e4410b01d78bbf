// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/permutation.h"

#include "libmge/ops/random/random_state.h"

namespace mge::ops {
namespace {

// The largest n for which all of 0 … n - 1 are exact.
int64_t most_numbers(DType dtype) {
    switch (dtype) {
        case DType::u8:
        case DType::bf16:
            return 256;
        case DType::i8:
            return 128;
        case DType::u16:
            return 65536;
        case DType::i16:
            return 32768;
        case DType::f16:
            return 2048;
        case DType::f32:
            return 1 << 24;
        case DType::i32:
        case DType::i64:
            return int64_t(1) << 31;
        default:
            return 0;
    }
}

}  // namespace

Permutation::Params Permutation::resolve(const Params& p, std::span<const Tensor> values) {
    if (values.empty() || !values[0]) return p;
    IntList count = host_values(values[0]);
    if (count.size() != 1) throw_value_error(name, "count must be one number, got ", count.size());
    return {count[0], p.dtype};
}

TensorSpecs Permutation::infer(const Params& p, Specs in) {
    check_random_state(name, in[0]);
    if (p.n < 0 || p.n > most_numbers(p.dtype))
        throw_value_error(name, "n is ", p.n, "; ", p.dtype, " allows 0 … ", most_numbers(p.dtype));
    return {{p.dtype, {p.n}, {}}};
}

}  // namespace mge::ops
