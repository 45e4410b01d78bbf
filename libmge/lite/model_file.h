// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model for a network: read, decrypted, and configured by the information of a packed file.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libmge/model/model.h"
#include "libmge/model/open.h"
#include "lite/network.h"

namespace lite {

// The configuration for reading a file, and for its network.
struct Configuration {
    Config config;
    NetworkIO io;
    std::optional<size_t> threads;  // absent: as set for the network, or 1
    bool is_in_place = false;
};

struct ModelFile {
    mge::Model model;
    Configuration configuration;
    std::string extra_info;              // from a packed file; "" if absent
    std::vector<uint8_t> fastrun_cache;  // from a packed file, for add_to_persistent_cache(); empty if absent
};

// Reads a model file of any format. A packed file's information overrides `given`, unless `uses_info` is
// false. Error with the fault and its position.
ModelFile read_model_file(const std::string& path, const Configuration& given, bool uses_info = true);
// The memory is used in place where it can be, and has to outlive the model.
ModelFile read_model_file(const void* data, size_t bytes, const Configuration& given, bool uses_info = true);

}  // namespace lite
