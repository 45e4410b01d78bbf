// SPDX-License-Identifier: Apache-2.0
#pragma once
// Saves the state of a training run, so that it can resume exactly. The format is a .mge file without
// operators: its values are the parameters and the optimizer's state, with checksums.

#include <map>
#include <string>

#include "libmge/train/optimizer.h"

namespace mge {

// Additional state of the program: the epoch, the random state, …
using CheckpointNotes = std::map<std::string, std::string>;

// Writes the file atomically. Without an optimizer, only the parameters are saved.
MGE_API void save_checkpoint(const std::string& path, const Parameters& parameters,
                             const Optimizer* optimizer = nullptr, const CheckpointNotes& notes = {});

// Restores parameters, optimizer state and learning rate, and returns the notes. Throws ModelError, and
// changes nothing, if the file is damaged or not a checkpoint, or if its parameters or optimizer do not
// match. Without an optimizer, only the parameters are loaded.
MGE_API CheckpointNotes load_checkpoint(const std::string& path, Parameters& parameters,
                                        Optimizer* optimizer = nullptr);

}  // namespace mge
