// SPDX-License-Identifier: Apache-2.0
#pragma once
// The checksums of what a file holds: verified when the file is read, but for weights that are left to
// whoever first reads them (WeightCheck::as_used).

#include <memory>
#include <vector>

#include "libmge/kernel/packed_copies.h"
#include "libmge/model/checked_file.h"
#include "libmge/tensor/tensor.h"
#include "mge_generated.h"

namespace mge {

class TensorChecks {
public:
    // They have to outlive it; the tensors are those of the table. Nobody has looked at its indices yet.
    TensorChecks(const CheckedFile& file, const file::Model& table, const Tensors& tensors)
        : file_(file), table_(table), tensors_(tensors), is_late_(tensors.size()) {}

    // Leaves weights that a packed copy stands for on this machine.
    void leave_packed_weights();
    // All that is not left: ModelError for the first that is damaged. By all threads where there is much.
    void verify() const;
    // Verifies one of those that were left; null when there is none. Keeps nothing of the file, which goes
    // when the last tensor does.
    std::shared_ptr<const VerifyConstant> late_verification() const;

private:
    std::vector<int> readers_of_tensors() const;
    uint64_t stored_checksum(size_t index) const;
    bool is_intact(size_t index) const;

    const CheckedFile& file_;
    const file::Model& table_;
    const Tensors& tensors_;
    std::vector<bool> is_late_;  // by tensor
};

}  // namespace mge
