// SPDX-License-Identifier: Apache-2.0
#pragma once
// The engines that are plugin libraries beside libmge, opened when first asked for: libmge links none of
// them.

#include <memory>
#include <string>

#include "libmge/base/api.h"
#include "libmge/comm/communicator.h"

namespace mge {

struct EngineSettings {
    std::string host;  // an address of this machine that the others reach
    int rank = 0, size = 1;
};

// Opens the engine `name`: "gloo", "openmpi" or "mpich". UserError names the package to install if its plugin
// was not built, or if the engine's own library is missing on this machine.
MGE_API std::shared_ptr<Communicator> open_engine(const std::string& name, const EngineSettings& settings);

// The function that a plugin exports as `mge_open_engine`. The caller owns the result.
using OpenEngine = Communicator* (*)(const EngineSettings&);

}  // namespace mge
