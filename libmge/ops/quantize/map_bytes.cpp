// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/map_bytes.h"

#include "libmge/ops/quantize/quantisation.h"

namespace mge::ops {

TensorSpecs MapBytes::infer(const Params&, Specs in) {
    if (!is_byte(in[0].dtype) || !is_byte(in[1].dtype))
        throw_type_error(name, "maps uint8 or int8 to uint8 or int8, got ", in[0].dtype, " and ",
                         in[1].dtype);
    if (!(in[1].shape == Shape{256}))
        throw_user(name, text("the table must have shape (256,), got ", in[1].shape));
    return {{in[1].dtype, in[0].shape, {}}};
}

}  // namespace mge::ops
