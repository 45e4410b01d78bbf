// SPDX-License-Identifier: Apache-2.0
#pragma once
// The entry point for model files of every format, which is detected from the contents, never from the name.
//
//     Model model = open_model("resnet.mge");  // .mge, MegEngine, ONNX or packed
//     Model secret = open_model("resnet.enc", {.key = provide_key(std::move(key))});

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "libmge/base/files/file.h"
#include "libmge/model/crypt/key.h"
#include "libmge/model/model.h"

namespace mge {

enum class ModelKind { mge, megengine, packed, encrypted, onnx };

// A model's bytes: a mapped file, or the contents of an envelope. `owner` keeps them alive, `label` names
// them in errors. `is_public`: they are those of a file that is not encrypted.
struct ModelBytes {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
    std::string label;
    bool is_public = false;
};

struct OpenOptions {
    // Provides the keys of encrypted models. With a key, a plain model is refused, so that an attacker cannot
    // substitute it, unless `allow_plain`.
    KeyProvider key;
    // The cipher of an encrypted model without a header: a name of crypt/cipher.h. Empty or NONE: not
    // encrypted.
    std::string cipher;
    bool allow_plain = false;
    // The weights of a MegEngine file are compressed as by Lite's has_compression, some to 8 or 16 bits. Such
    // files are recognised by the size of their weights anyway, unless all weights have three elements.
    bool has_compressed_weights = false;
    // For a .mge file in any envelope.
    WeightCheck weight_check = WeightCheck::all;
    // For the file at a path, and for files with external weights.
    FileAccess access = FileAccess::mapped;
};

// Returns the format by the first bytes; nullopt without a signature, such as those of MegEngine's ciphers.
MGE_API std::optional<ModelKind> recognise_model(std::span<const std::byte> bytes);

// Reads and verifies the whole model. Encrypted ones are decrypted into memory that is wiped when the last
// tensor that uses it is freed. ModelError names the file, the position and the reason; CryptoError if an
// encrypted model was changed, the key is wrong or missing, or the result of a cipher is not a model;
// UserError if the file cannot be read.
MGE_API Model open_model(const std::string& path, const OpenOptions& options = {});
MGE_API Model open_model(const ModelBytes& file, const OpenOptions& options = {});

// The plain or packed model in the file, decrypted if necessary, but not yet read. Throws like open_model for
// a file that is not a model.
MGE_API ModelBytes decrypt_model(const std::string& path, const OpenOptions& options = {});
MGE_API ModelBytes decrypt_model(const ModelBytes& file, const OpenOptions& options = {});

struct UnsealedParts;
// The model of a packed file, whose parts were decrypted.
MGE_API Model open_part(const UnsealedParts& packed, const ModelBytes& file, const OpenOptions& options);

}  // namespace mge
