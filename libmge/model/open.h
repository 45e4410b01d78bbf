// SPDX-License-Identifier: Apache-2.0
#pragma once
// The door for model files of every kind: what a file is, its contents tell, never its name.
//
//     Model model = open_model("resnet.mge");   // our own container, MegEngine's, ONNX's, or a packed Lite
//     one Model secret = open_model("resnet.enc", {.key = provide_key(std::move(key))});

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "libmge/model/crypt/key.h"
#include "libmge/model/model.h"

namespace mge {

enum class ModelKind { mge, megengine, packed, encrypted, onnx };

// A model's bytes: a mapped file, or what came out of an envelope. `owner` keeps them alive, `label` names
// them in errors.
struct ModelBytes {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
    std::string label;
};

struct OpenOptions {
    // Gives the keys of encrypted models. Whoever has a key expects an encrypted model: a plain one is
    // refused then, so that nobody can put it in the other's place, unless `allow_plain`.
    KeyProvider key;
    // How a model is encrypted that does not say so itself: a name of crypt/cipher.h. Empty or NONE: not at
    // all.
    std::string cipher;
    bool allow_plain = false;
    // The weights of a file of MegEngine's are stored in the form of Lite's has_compression, some in 8 or 16
    // bits. Such files are recognised anyway by how many bytes their weights have, unless all have three
    // elements.
    bool has_compressed_weights = false;
    // Of a .mge file, in whatever envelope.
    WeightCheck weight_check = WeightCheck::all;
};

// What the first bytes say; nullopt when they say nothing, as those of an encrypted file.
MGE_API std::optional<ModelKind> recognise_model(std::span<const std::byte> bytes);

// Reads and verifies the whole model. Encrypted ones are decrypted into memory that is wiped when the last
// tensor that uses it is gone. ModelError names the file, the place and the reason; CryptoError when an
// encrypted model was changed, the key is wrong or missing, or what a cipher gives is no model; UserError
// when the file cannot be read at all.
MGE_API Model open_model(const std::string& path, const OpenOptions& options = {});
MGE_API Model open_model(const ModelBytes& file, const OpenOptions& options = {});

// The plain or packed model that the file is or holds encrypted, not yet read. Throws as open_model does for
// what is no model.
MGE_API ModelBytes decrypt_model(const std::string& path, const OpenOptions& options = {});
MGE_API ModelBytes decrypt_model(const ModelBytes& file, const OpenOptions& options = {});

struct UnsealedParts;
// The model of a packed file whose parts were decrypted.
MGE_API Model open_part(const UnsealedParts& packed, const std::string& label, const OpenOptions& options);

}  // namespace mge
