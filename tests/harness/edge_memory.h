// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory followed by unmapped pages: accesses beyond its end are detected also where sanitizers cannot: in
// tiles of matrix instructions, in masked vectors and in code generated at run time. Unwritten elements are
// NaN, or −1.
#include "libmge/tensor/tensor.h"

namespace mge::test {

// `alignment`: of the beginning, and then of the end as well.
StorageRef edge_storage(size_t bytes, size_t alignment = 1);
// Aligned as programs align it.
StorageRef edge_workspace(size_t bytes);
// These begin wherever their last element leaves them, as arrays of users may.
Tensor edge_tensor(const TensorSpec& spec);
Tensor edge_copy(const Tensor& tensor);

}  // namespace mge::test
