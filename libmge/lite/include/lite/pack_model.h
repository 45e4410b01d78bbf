// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lite/macro.h"

namespace lite {

// Puts a model, what it says about itself, and the algorithms that were measured for it into one file.
//
//     lite::ModelPacker packer("model.mge", "model.lite", "info.json");
//     packer.set_header();
//     packer.pack_model();
class LITE_API ModelPacker {
public:
    // Paths; "": none.
    ModelPacker(std::string model_path, std::string packed_model_path, std::string info_data_path = "",
                std::string info_algo_policy_path = "", std::string info_binary_cache_path = "");
    // The same by contents; empty: none.
    ModelPacker(std::vector<uint8_t> model_data, std::string packed_model_path,
                std::vector<uint8_t> info_data = {}, std::vector<uint8_t> info_algo_policy_data = {},
                std::vector<uint8_t> info_binary_cache_data = {});
    ~ModelPacker();

    // By which decryption the model and the information are read; "NONE": they are plain. Encrypted ones are
    // stored as they were given, a plain information gets what the format requires and it lacks.
    void set_header(std::string model_decryption_method = "NONE", std::string info_decryption_method = "NONE",
                    bool is_fast_run_cache = true);
    // Writes the file, whole or not at all.
    void pack_model();

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace lite
