// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/convert/convert_narrow.h"

#include <bit>
#include <limits>

#include "libmge/base/error.h"
#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/elementwise/convert/convert_narrow.cuda.h"

namespace mge::ops {
namespace {

constexpr uint32_t sign_bit = uint32_t(1) << 31;
constexpr auto infinite = std::bit_cast<uint32_t>(std::numeric_limits<float>::infinity());

uint8_t code_of(const ConvertNarrow::Params& p, float x) {
    return narrow_bits(p.dtype, double(x), p.overflow, p.rounding);
}

// The smallest size above `from` that becomes another code; beyond infinity where there is none.
template <class CodeOf>
uint32_t next_code(uint32_t from, CodeOf code) {
    uint32_t same = from, other = infinite + 1;
    while (other - same > 1) {
        uint32_t middle = same + (other - same) / 2;
        (code(middle) == code(from) ? same : other) = middle;
    }
    return other;
}

cuda::NarrowCodes codes_of(const ConvertNarrow::Params& p) {
    cuda::NarrowCodes codes{};
    codes.nan = code_of(p, std::numeric_limits<float>::quiet_NaN());
    for (uint32_t sign : {0u, 1u}) {
        auto code = [&](uint32_t size) {
            return code_of(p, std::bit_cast<float>(sign ? size | sign_bit : size));
        };
        int& count = codes.count[sign];
        for (uint32_t size = 0; size <= infinite; size = next_code(size, code)) {
            MGE_CHECK(count < cuda::NarrowCodes::most, p.dtype, " has too many codes");
            codes.least[sign][count] = size;
            codes.code[sign][count++] = code(size);
        }
    }
    return codes;
}

struct State {
    DType from;
    int64_t numel;
    unsigned mask;  // for integers; 0: by codes
    cuda::NarrowCodes codes;
};

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem.as<ConvertNarrow::Params>();
    auto& x = context.problem.inputs[0];
    if (is_narrow_int(p.dtype))
        return Prepared::make(State{x.dtype, x.numel(), (1u << narrow_width(p.dtype)) - 1, {}});
    return Prepared::make(State{x.dtype, x.numel(), 0, codes_of(p)});
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    if (s.numel == 0) return;
    auto stream = cuda::stream_of(launch);
    int type = cuda::type_index(s.from);
    auto* y = launch.out<uint8_t>(0);
    if (s.mask)
        cuda::convert_to_low_bits(stream, type, launch.inputs[0], y, s.numel, s.mask);
    else
        cuda::convert_by_codes(stream, type, launch.inputs[0], y, s.numel, s.codes);
}

}  // namespace

KernelList kernels(Cuda, ConvertNarrow) { return one_algorithm<prepare, run>("codes"); }

}  // namespace mge::ops
