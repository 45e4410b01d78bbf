// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory behind which nothing is mapped: who reads or writes beyond its end is stopped, where no sanitizer
// looks, too: in tiles of matrix instructions, in masked vectors and in code that is made at run time. What
// is not written yet is NaN, or −1.
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
