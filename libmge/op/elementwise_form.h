// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/physical_form.h"

namespace mge {

// The physical form of an operator that computes an element of its output from those at the same (broadcast)
// place of its inputs.
MGE_API std::optional<PhysicalForm> elementwise_form(const std::shared_ptr<const void>& params,
                                                     const Layout& layout, std::span<const TensorSpec> inputs,
                                                     std::span<const TensorSpec> outputs);

}  // namespace mge
