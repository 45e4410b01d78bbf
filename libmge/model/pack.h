// SPDX-License-Identifier: Apache-2.0
#pragma once
// Packed Lite models: a model, a JSON text about it and measured times of algorithms in one file, each
// perhaps encrypted. The layout is MegEngine Lite's; docs/formats/packed.md.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/api.h"
#include "libmge/model/crypt/key.h"

namespace mge {

struct CacheRow;

inline constexpr const char* no_cipher = "NONE";
inline bool is_plain_cipher(std::string_view name) { return name.empty() || name == no_cipher; }
inline constexpr const char *default_info_parser = "LITE_default", *default_cache_parser = "LITE_parse_cache";

// The parts as stored in the file. The spans point into it.
struct PackedParts {
    std::string name;
    std::string info_cipher = no_cipher, model_cipher = no_cipher;
    std::string info_parser, cache_parser;
    bool is_fast_run_cache = false;  // `cache` contains measured times; otherwise there is only
                                     // `binary_cache`
    std::span<const std::byte> info, model, cache, binary_cache;
};

// The information of a packed model; an info that is not `valid` contains nothing else.
struct PackedInfo {
    std::string json;  // empty if absent
    bool valid = false;
    std::string name, version;
    bool has_compression = false;
    std::string extra;  // "extra_info" as compact JSON
};

// The parts opened.
struct PackedModel {
    PackedParts parts;
    PackedInfo info;
    std::span<const std::byte> model;
    std::shared_ptr<const void> owner;  // keeps `model` alive
};

// The decrypted parts, and their owners.
struct UnsealedParts {
    PackedParts parts;  // as stored in the file, except that swapped names of ciphers are corrected
    std::span<const std::byte> info;
    std::shared_ptr<const void> info_owner;
    std::span<const std::byte> model;
    std::shared_ptr<const void> owner;  // keeps `model` alive
};

// True when the bytes start like a packed model.
MGE_API bool is_packed(std::span<const std::byte> bytes);
// True if the bytes start like one of MGE's own fast-run caches, unlike MegEngine's.
bool is_own_cache(std::span<const std::byte> bytes);

// The rows of a fast-run cache, ours or MegEngine's. ModelError that names `label` otherwise.
std::vector<CacheRow> rows_of_cache(std::span<const std::byte> cache, const std::string& label);
// The measured times that are packed with a model; empty where its cache is of a device's compiler.
// ModelError for one that is damaged, or for another parser than the built-in one.
std::vector<CacheRow> rows_of_packed_cache(const PackedParts& parts, const std::string& label);

// ModelError names `label`, the place and the reason. `file` stays as it is while the result is used; 4-byte
// aligned.
MGE_API PackedParts read_packed_parts(std::span<const std::byte> file, const std::string& label);

// Decrypts the parts with the ciphers that the file names, the info only if `with_info`. `owner` keeps `file`
// alive. CryptoError when a part cannot be decrypted, ModelError when the file is damaged.
MGE_API UnsealedParts unseal_packed(std::span<const std::byte> file, std::shared_ptr<const void> owner,
                                    const std::string& label, const KeyProvider& key, bool with_info = true);

// The same, and checks the info of the built-in parser, LITE_default: ModelError when it does not belong to
// the model.
MGE_API PackedModel open_packed(std::span<const std::byte> file, std::shared_ptr<const void> owner,
                                const std::string& label, const KeyProvider& key);

// Writes these parts unchanged to a file, completely or not at all.
MGE_API void write_packed(const std::string& out, const PackedParts& parts);

// Contents of a packed model. Names of ciphers: NONE or a registered one; the parts are given unencrypted.
struct PackOptions {
    std::string name;   // name of the model; empty: the info's, otherwise the file's
    std::string info;   // JSON; `valid`, `name` and `version` are added where they are missing
    std::string cache;  // path of a fast-run cache: MegEngine's, or ours
    std::string model_cipher = no_cipher, info_cipher = no_cipher;
    KeyProvider key;
};

// Writes OUT completely or not at all. The model may have any format except packed; MegEngine's runtime only
// supports its own.
MGE_API void pack_model(const std::string& model, const std::string& out, const PackOptions& options);

// Target paths of a packed model's parts; empty: not written.
struct UnpackPaths {
    std::string model, info, cache;
};
// Writes the parts that are there, decrypted ones for their owner only. Returns which were written.
MGE_API UnpackPaths unpack_model(const std::string& packed, const UnpackPaths& paths, const KeyProvider& key);

}  // namespace mge
