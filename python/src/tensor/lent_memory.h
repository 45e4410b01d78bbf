// SPDX-License-Identifier: Apache-2.0
#pragma once
// GPU memory lent to other processes. It is kept until no process uses it, however they end. A block is sent
// with one end of a pipe. The receiver writes a byte, after which only it holds that end. When that end is
// closed, the next collect_loans() releases the block.

#include <memory>

#include "libmge/device/sharing.h"

namespace mge::python {

// Returns the pipe end to send. We keep it open; the receiver gets a copy.
int lend(StorageRef storage, SharedBlock block);

// Returns a lent block that another process sent back, or null for other blocks.
StorageRef find_lent(const SharedBlock& block);

// Releases blocks without users.
void collect_loans();

// Takes ownership of the receiver's end, and closes it with the returned object.
std::shared_ptr<const void> receive_loan(int descriptor);

}  // namespace mge::python
