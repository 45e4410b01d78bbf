// SPDX-License-Identifier: Apache-2.0
#pragma once
// The checksums of a file's contents: verified when the file is read, except those of weights that are
// verified on first use (WeightCheck::as_used).

#include <memory>
#include <vector>

#include "libmge/kernel/packed_copies.h"
#include "libmge/model/checked_file.h"
#include "libmge/tensor/tensor.h"
#include "mge_generated.h"

namespace mge {

class TensorChecks {
public:
    // They must outlive it; the tensors are those of the table. Its indices are not checked yet.
    TensorChecks(const CheckedFile& file, const file::Model& table, const Tensors& tensors)
        : file_(file), table_(table), tensors_(tensors), is_late_(tensors.size()) {}

    // Defers weights that have a packed copy for this machine.
    void leave_packed_weights();
    // Verifies all that are not deferred: ModelError for the first damaged one. Uses all threads for large
    // models.
    void verify() const;
    // Verifies a deferred weight; null if there are none. Keeps no reference to the file, which is freed with
    // the last tensor.
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
