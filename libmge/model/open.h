// SPDX-License-Identifier: Apache-2.0
#pragma once
// The door for model files of every kind: what a file is, its contents tell, never its name.
//
//     Model model = open_model("resnet.mge");   // our own container, or MegEngine's

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "libmge/model/model.h"

namespace mge {

enum class ModelKind { mge, megengine, packed, encrypted };

// A model's bytes: a mapped file, or what came out of an envelope. `owner` keeps them alive, `label` names
// them in errors.
struct ModelBytes {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
    std::string label;
};

struct OpenOptions {};

// What the first bytes say; nullopt when they say nothing, as those of an encrypted file.
MGE_API std::optional<ModelKind> recognise_model(std::span<const std::byte> bytes);

// Reads and verifies the whole model. ModelError names the file, the place and the reason; UserError when the
// file cannot be read at all.
MGE_API Model open_model(const std::string& path, const OpenOptions& options = {});
MGE_API Model open_model(const ModelBytes& file, const OpenOptions& options = {});

}  // namespace mge
