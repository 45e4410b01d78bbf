// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/open.h"

#include <algorithm>
#include <cstring>
#include <iomanip>

#include "libmge/base/file.h"
#include "libmge/device/device.h"
#include "libmge/model/container.h"
#include "libmge/model/crypt/crypto_error.h"
#include "libmge/model/crypt/encrypted_file.h"
#include "libmge/model/import/megengine/megengine.h"
#include "libmge/model/pack.h"

namespace mge {
namespace {

// Our own reader uses weights in place, at aligned addresses; bytes out of an envelope may lie anywhere.
ModelBytes aligned(const ModelBytes& file) {
    if (reinterpret_cast<uintptr_t>(file.bytes.data()) % model_alignment == 0) return file;
    auto storage = std::make_shared<StorageRef>(queue_of(host_device).allocate(file.bytes.size()));
    std::memcpy((*storage)->data, file.bytes.data(), file.bytes.size());
    std::span bytes(static_cast<const std::byte*>((*storage)->data), file.bytes.size());
    return {bytes, storage, file.label};
}

Model open_mge(const ModelBytes& file, const OpenOptions&) {
    ModelBytes here = aligned(file);
    return read_model(here.bytes, here.owner, here.label);
}

Model open_megengine(const ModelBytes& file, const OpenOptions&) { return megengine::read_model(file); }

Model open_packed_model(const ModelBytes& file, const OpenOptions& options);
Model open_encrypted(const ModelBytes& file, const OpenOptions& options);

// How a plain one is opened that came out of an envelope: its key was asked for already.
OpenOptions opened(const OpenOptions& options) {
    return OpenOptions{.key = options.key, .allow_plain = true};
}

struct Kind {
    ModelKind kind;
    bool (*recognise)(std::span<const std::byte> bytes);
    Model (*open)(const ModelBytes& file, const OpenOptions& options);
};

// Every kind of file that can be told by its first bytes.
constexpr Kind kinds[] = {
    {ModelKind::mge, is_model, open_mge},
    {ModelKind::megengine, megengine::is_model, open_megengine},
    {ModelKind::packed, is_packed, open_packed_model},
    {ModelKind::encrypted, is_encrypted, open_encrypted},
};

const Kind* find_kind(std::span<const std::byte> bytes) {
    auto found = std::ranges::find_if(kinds, [&](const Kind& kind) { return kind.recognise(bytes); });
    return found == std::end(kinds) ? nullptr : found;
}

std::string first_bytes(std::span<const std::byte> bytes) {
    TextStream stream;
    stream << std::hex << std::setfill('0');
    for (auto byte : bytes.first(std::min<size_t>(bytes.size(), 12)))
        stream << std::setw(2) << int(byte) << ' ';
    return stream.str();
}

bool names_cipher(const OpenOptions& options) {
    return !options.cipher.empty() && options.cipher != no_cipher;
}

void refuse_plain(const ModelBytes& file, const OpenOptions& options) {
    if (options.key && !options.allow_plain)
        throw CryptoError(text("'", file.label, "' is not encrypted, although a key was given for it"));
}

// What a cipher of MegEngine's gives with a wrong key is not an error of the model's.
[[noreturn]] void throw_no_model(const std::string& label, const std::string& cipher) {
    if (cipher == container_cipher)
        throw ModelError(text("'", label, "': what is encrypted in it is not a model"));
    throw CryptoError(text("'", label, "': what ", cipher,
                           " makes of it is not a model: a wrong key, another cipher, or damage"));
}

Model open_decrypted(SecretBytes content, const std::string& label, const std::string& cipher,
                     const OpenOptions& options) {
    auto owner = std::make_shared<const SecretBytes>(std::move(content));
    auto* kind = find_kind(owner->span());
    if (!kind || kind->kind == ModelKind::encrypted) throw_no_model(label, cipher);
    return kind->open({owner->span(), owner, label}, opened(options));
}

FileCipher container_of(const OpenOptions& options) { return {container_cipher, options.key}; }

Model open_encrypted(const ModelBytes& file, const OpenOptions& options) {
    return open_decrypted(decrypt_to_memory(file.bytes, file.label, container_of(options)), file.label,
                          container_cipher, options);
}

Model open_packed_model(const ModelBytes& file, const OpenOptions& options) {
    ModelBytes here = aligned(file);
    PackedModel packed = open_packed(here.bytes, here.owner, here.label, options.key);
    const std::string& cipher = packed.parts.model_cipher;
    bool is_plain = cipher.empty() || cipher == no_cipher;
    if (is_plain) refuse_plain(file, options);
    auto* kind = find_kind(packed.model);
    // Only models proper: a packed model in a packed model in … would be a way to exhaust the stack.
    if (!kind || (kind->kind != ModelKind::mge && kind->kind != ModelKind::megengine)) {
        if (!is_plain) throw_no_model(file.label, cipher);
        throw ModelError(text("'", file.label, "': what is packed in it is not a model"));
    }
    if (packed.info.has_compression)
        throw ModelError(
            text("'", file.label, "': its weights are compressed (has_compression), which is not supported"));
    Model model = kind->open({packed.model, packed.owner, file.label}, opened(options));
    model.format = "packed " + model.format;
    if (!packed.info.json.empty()) model.metadata["lite_info"] = packed.info.json;
    return model;
}

}  // namespace

std::optional<ModelKind> recognise_model(std::span<const std::byte> bytes) {
    auto* kind = find_kind(bytes);
    return kind ? std::optional(kind->kind) : std::nullopt;
}

Model open_model(const ModelBytes& file, const OpenOptions& options) {
    if (names_cipher(options))
        return open_decrypted(decrypt_to_memory(file.bytes, file.label, {options.cipher, options.key}),
                              file.label, options.cipher, options);
    auto* kind = find_kind(file.bytes);
    if (!kind)
        throw ModelError(
            text("'", file.label, "' is not a model this program knows: it has ", file.bytes.size(),
                 " bytes and starts with ", first_bytes(file.bytes),
                 "- neither a .mge file nor one of MegEngine; if it is encrypted in one of MegEngine's "
                 "formats, name its cipher"));
    if (kind->kind == ModelKind::mge || kind->kind == ModelKind::megengine) refuse_plain(file, options);
    return kind->open(file, options);
}

Model open_model(const std::string& path, const OpenOptions& options) {
    // An encrypted file is read piece by piece into memory of our own, never mapped: what is checked is what
    // is used.
    std::string cipher = options.cipher;
    if (!names_cipher(options)) cipher = is_encrypted_file(path) ? container_cipher : no_cipher;
    if (cipher != no_cipher)
        return open_decrypted(decrypt_to_memory(path, {cipher, options.key}), path, cipher, options);
    auto file = MappedFile::open(path);
    return open_model({file->bytes(), file, path}, options);
}

}  // namespace mge
