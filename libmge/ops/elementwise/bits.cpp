// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/bits.h"

#include "libmge/op/define.h"

namespace mge::ops {

constinit const OpInfo BitwiseAnd::info = define<BitwiseAnd>();
constinit const OpInfo BitwiseNot::info = define<BitwiseNot>();
constinit const OpInfo BitwiseOr::info = define<BitwiseOr>();
constinit const OpInfo BitwiseXor::info = define<BitwiseXor>();
constinit const OpInfo LeftShift::info = define<LeftShift>();
constinit const OpInfo LogicalAnd::info = define<LogicalAnd>();
constinit const OpInfo LogicalNot::info = define<LogicalNot>();
constinit const OpInfo LogicalOr::info = define<LogicalOr>();
constinit const OpInfo LogicalXor::info = define<LogicalXor>();
constinit const OpInfo RightShift::info = define<RightShift>();

}  // namespace mge::ops
