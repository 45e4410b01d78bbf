// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/compressed/expand_weight.h"

#include "libmge/ops/quantize/compressed/compressed_weight.h"

namespace mge::ops {

TensorSpecs ExpandWeight::infer(const Params& p, Specs in) {
    auto weight = compressed_weight(name, p.bits, p.group, p.columns, in[0], in[1],
                                    in.size() > 2 ? in[2] : TensorSpec{});
    return {{DType::f32, {weight.rows, weight.columns}, {}}};
}

double ExpandWeight::operations(const Params&, Specs, Specs out) { return 2 * element_count(out[0]); }

}  // namespace mge::ops
