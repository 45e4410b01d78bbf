// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lite/macro.h"

namespace lite {

// Packs a model, its information and its measured algorithms into one file. Throws lite::Error. Not
// thread-safe.
//
//     lite::ModelPacker packer("model.mge", "model.lite", "info.json");
//     packer.set_header();
//     packer.pack_model();
class LITE_API ModelPacker {
public:
    // Takes paths; "": absent.
    ModelPacker(std::string model_path, std::string packed_model_path, std::string info_data_path = "",
                std::string info_algo_policy_path = "", std::string info_binary_cache_path = "");
    // Takes contents; empty: absent.
    ModelPacker(std::vector<uint8_t> model_data, std::string packed_model_path,
                std::vector<uint8_t> info_data = {}, std::vector<uint8_t> info_algo_policy_data = {},
                std::vector<uint8_t> info_binary_cache_data = {});
    ~ModelPacker();

    // Sets the names of the ciphers by which model and information are encrypted; "NONE": not encrypted.
    // Encrypted parts are stored unchanged. Missing required fields are added to plain information.
    void set_header(std::string model_decryption_method = "NONE", std::string info_decryption_method = "NONE",
                    bool is_fast_run_cache = true);
    // Writes the file completely or not at all.
    void pack_model();

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace lite
