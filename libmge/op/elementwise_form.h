// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/physical_form.h"

namespace mge {

// Returns the physical form of an elementwise operator: each output element depends on the input elements at
// the same (broadcast) position.
MGE_API std::optional<PhysicalForm> elementwise_form(const std::shared_ptr<const void>& params,
                                                     const Layout& layout, Specs inputs, Specs outputs);

}  // namespace mge
