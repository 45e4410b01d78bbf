// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state of a training in a file, so that it can go on as if nothing had happened. The file is a .mge file
// without operators: its values are the parameters and the parts of the optimizer's state, with checksums.

#include <map>
#include <string>

#include "libmge/train/optimizer.h"

namespace mge {

// What a program wants to remember besides: the epoch, the state of its random numbers, …
using CheckpointNotes = std::map<std::string, std::string>;

// Writes the file whole or not at all. Without an optimizer: the parameters alone.
MGE_API void save_checkpoint(const std::string& path, const Parameters& parameters,
                             const Optimizer* optimizer = nullptr, const CheckpointNotes& notes = {});

// Puts everything back and gives the notes. ModelError when the file is damaged, no checkpoint, or its
// parameters or optimizer are others than these: nothing has changed then. The learning rate comes back too.
// Without an optimizer the parameters alone are read.
MGE_API CheckpointNotes load_checkpoint(const std::string& path, Parameters& parameters,
                                        Optimizer* optimizer = nullptr);

}  // namespace mge
