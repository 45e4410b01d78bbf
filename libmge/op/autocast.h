// SPDX-License-Identifier: Apache-2.0
#pragma once
// Automatic mixed precision. While it is enabled for a thread, apply() converts floating inputs of operators
// to their preferred dtype, as part of dtype promotion. Eager execution, tapes and traces see ordinary
// conversions, and gradients have the dtypes of their values.

#include <cstdint>

#include "libmge/op/op.h"

namespace mge {

// The dtype to which an operator's promoted inputs are converted. The default is `low` for products
// (`autocast` is narrow), `high` for operators that promote integers to floats, and `as_given` for others. An
// operator with another preference has a member `cast_to`.
enum class CastTo : uint8_t { as_given, low, high };

// An operator's `cast_to` that does not depend on its parameters.
struct CastAlways {
    CastTo to;
    constexpr CastTo operator()(const auto&) const { return to; }
};

struct MixedPrecision {
    bool enabled = false;
    DType low = DType::f16, high = DType::f32;
};

// The setting of this thread. Defined by apply.cpp, which reads it in each call.
MGE_API MixedPrecision mixed_precision();
// Throws UserError unless both dtypes are floating.
MGE_API void set_mixed_precision(const MixedPrecision& settings);

// Disables mixed precision for the life of the scope.
class MGE_API MixedPrecisionPaused {
public:
    MixedPrecisionPaused();
    ~MixedPrecisionPaused();
    MixedPrecisionPaused(const MixedPrecisionPaused&) = delete;
    MixedPrecisionPaused& operator=(const MixedPrecisionPaused&) = delete;

private:
    bool was_enabled_;
};

// Defined by ops/cast_to.cpp, a higher layer.
MGE_API CastTo cast_of(const OpInfo& op, const void* params);

}  // namespace mge
