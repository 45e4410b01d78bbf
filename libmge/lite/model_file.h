// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model as a network gets it: read, decrypted, and configured by what a packed file says about itself.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libmge/model/model.h"
#include "libmge/model/open.h"
#include "lite/network.h"

namespace lite {

// What decides how a file is read, and how its network will run.
struct Configuration {
    Config config;
    NetworkIO io;
    std::optional<size_t> threads;  // absent: as the network was told, or 1
    bool is_in_place = false;
};

struct ModelFile {
    mge::Model model;
    Configuration configuration;
    std::string extra_info;              // of a packed file; "": none
    std::vector<uint8_t> fastrun_cache;  // of a packed file, for add_to_persistent_cache(); empty: none
};

// Reads any kind of model file. A packed file's information replaces what `given` says, unless `uses_info` is
// false. Error names what is wrong and where.
ModelFile read_model_file(const std::string& path, const Configuration& given, bool uses_info = true);
// The memory is used in place where it can be, and has to outlive the model.
ModelFile read_model_file(const void* data, size_t bytes, const Configuration& given, bool uses_info = true);

}  // namespace lite
