// SPDX-License-Identifier: Apache-2.0
#pragma once
// Automatic mixed precision. While it is on for a thread, apply() gives operators their floating inputs in
// the dtype in which they belong, where it promotes dtypes: so eager work, tapes and traces see conversions
// like any others, and gradients come back in the dtype of what they belong to.

#include <cstdint>

#include "libmge/op/op.h"

namespace mge {

// The dtype in which an operator takes the inputs that are promoted. Products (`autocast` says narrow) are
// low, what promotes integers to floats is high, everything else stays as it is given; an operator of which
// that is not true has a member `cast_to`.
enum class CastTo : uint8_t { as_given, low, high };

// As an operator's `cast_to`, which may depend on its parameters: these do not matter.
struct CastAlways {
    CastTo to;
    constexpr CastTo operator()(const auto&) const { return to; }
};

struct MixedPrecision {
    bool enabled = false;
    DType low = DType::f16, high = DType::f32;
};

// Of this thread. Defined by apply.cpp, which looks at it in each call.
MGE_API MixedPrecision mixed_precision();
// UserError when a dtype is not floating.
MGE_API void set_mixed_precision(const MixedPrecision& settings);

// Off for the life of the scope.
class MGE_API MixedPrecisionPaused {
public:
    MixedPrecisionPaused();
    ~MixedPrecisionPaused();
    MixedPrecisionPaused(const MixedPrecisionPaused&) = delete;
    MixedPrecisionPaused& operator=(const MixedPrecisionPaused&) = delete;

private:
    bool was_enabled_;
};

// Defined by ops/cast_to.cpp: this layer knows no operator.
MGE_API CastTo cast_of(const OpInfo& op, const void* params);

}  // namespace mge
