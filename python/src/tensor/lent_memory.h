// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of a GPU that this process has given other processes: it stays until none of them has it any more,
// however they end. With each block goes the end of a pipe. Who has received it says so by a byte, whereupon
// nobody else holds that end; when it is closed, the block is let go, at the next look.

#include <memory>

#include "libmge/device/sharing.h"

namespace mge::python {

// The end to send, which stays ours: the receiver gets a copy.
int lend(StorageRef storage, SharedBlock block);

// A block that this process has lent, and that has come back to it; null for others.
StorageRef find_lent(const SharedBlock& block);

// Lets go of what nobody has any more.
void collect_loans();

// The receiver's end, which is taken over, and closed with what is returned.
std::shared_ptr<const void> receive_loan(int descriptor);

}  // namespace mge::python
