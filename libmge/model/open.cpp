// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/open.h"

#include <algorithm>
#include <cstring>
#include <iomanip>

#include "libmge/base/files/input_pipe.h"
#include "libmge/base/threads/threads.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/device/device.h"
#include "libmge/eager/on_host.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/model/container.h"
#include "libmge/model/crypt/crypto_error.h"
#include "libmge/model/crypt/encrypted_file.h"
#include "libmge/model/import/megengine/megengine.h"
#include "libmge/model/import/onnx/onnx.h"
#include "libmge/model/import/onnx/wire/wire.h"
#include "libmge/model/pack.h"
#include "libmge/model/test_container.h"

namespace mge {
namespace {

// Our own reader uses weights in place, at aligned addresses; bytes from an envelope may have any alignment.
ModelBytes aligned(const ModelBytes& file) {
    if (reinterpret_cast<uintptr_t>(file.bytes.data()) % model_alignment == 0) return file;
    auto storage = std::make_shared<StorageRef>(queue_of(host_device).allocate(file.bytes.size()));
    std::memcpy((*storage)->data, file.bytes.data(), file.bytes.size());
    std::span bytes(static_cast<const std::byte*>((*storage)->data), file.bytes.size());
    return {bytes, storage, file.label};
}

// Bytes beyond the caller's size are never read, even if the header claims more.
Model open_mge(const ModelBytes& file, const OpenOptions& options) {
    check_model_header(file.bytes, file.label);
    ModelBytes here = aligned(file);
    return read_model(here.bytes, here.owner, here.label, options.weight_check);
}

Model open_test_container(const ModelBytes& file, const OpenOptions& options) {
    return read_test_container(file, [&](const ModelBytes& part) { return open_mge(part, options); });
}

#ifdef MGE_LITE_ONLY
// The library for deployment is without protobuf.
constexpr std::string_view known_kinds =
    "a .mge file nor a MegEngine model (convert ONNX models with 'mge-dump convert')";
#else
constexpr std::string_view known_kinds = "a .mge file nor a MegEngine or ONNX model";
Model open_onnx(const ModelBytes& file, const OpenOptions& options) {
    return onnx::read_model(file, onnx::usual_growth_slack, options.access);
}
#endif

Model open_megengine(const ModelBytes& file, const OpenOptions& options) {
    return megengine::read_model(file, options.has_compressed_weights);
}

Model open_packed_model(const ModelBytes& file, const OpenOptions& options);

struct Kind {
    ModelKind kind;
    bool (*recognise)(std::span<const std::byte> bytes);
    // For a file without an envelope.
    Model (*open)(const ModelBytes& file, const OpenOptions& options);
};

// Every format that is detected by its first bytes.
constexpr Kind kinds[] = {
    {ModelKind::mge, is_model, open_mge},
    {ModelKind::mge, is_test_container, open_test_container},
    {ModelKind::megengine, megengine::is_model, open_megengine},
    {ModelKind::packed, is_packed, open_packed_model},
    {ModelKind::encrypted, is_encrypted, nullptr},
#ifndef MGE_LITE_ONLY
    // Last, because it has no signature.
    {ModelKind::onnx, onnx::looks_like_model, open_onnx},
#endif
};

// Invalid environment variables are reported here; otherwise a reader that computes would blame the file.
Model open_as(const Kind& kind, const ModelBytes& file, const OpenOptions& options) {
    default_threads();
    cpu_isa();
    OnHost scope;
    Model model = kind.open(file, options);
    model.label = file.label;
    if (kind.kind != ModelKind::packed) model.is_public = file.is_public;  // open_part() knows that of a part
    return model;
}

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

bool is_pickle(std::span<const std::byte> bytes) {
    // Protocols 2 to 5 begin with the opcode PROTO and end with STOP. Encrypted bytes hardly ever do both.
    return bytes.size() > 2 && bytes[0] == std::byte{0x80} && bytes[1] >= std::byte{2} &&
           bytes[1] <= std::byte{5} && bytes.back() == std::byte{'.'};
}

// The end of the message about a file of unknown kind.
std::string_view hint_for(std::span<const std::byte> bytes) {
    if (is_pickle(bytes))
        return "; it looks like a pickle of megengine.save or megengine.traced_module: load it with "
               "megengine.load, and dump a traced function of the module for a model";
    return "; if it is encrypted in one of MegEngine's formats, name its cipher";
}

void refuse_plain(const ModelBytes& file, const OpenOptions& options) {
    if (options.key && !options.allow_plain)
        throw CryptoError(text("'", file.label, "' is not encrypted, although a key was given for it"));
}

// Wrong content from one of MegEngine's ciphers is an error of the key, not of the model.
[[noreturn]] void throw_no_model(const std::string& label, const std::string& cipher) {
    if (cipher == container_cipher)
        throw ModelError(text("'", label, "': its decrypted content is not a model"));
    throw CryptoError(text("'", label, "': its content decrypted with ", cipher,
                           " is not a model: the key or the cipher is wrong, or the file is damaged"));
}

// A plain or packed model, and whether it had an envelope of its own.
struct Unsealed {
    ModelBytes file;
    bool was_sealed = false;
};

Unsealed from_envelope(SecretBytes content, const std::string& label, const std::string& cipher) {
    auto owner = std::make_shared<const SecretBytes>(std::move(content));
    auto* kind = find_kind(owner->span());
    if (!kind || kind->kind == ModelKind::encrypted) throw_no_model(label, cipher);
    return {{owner->span(), owner, label}, true};
}

Unsealed unseal(const ModelBytes& file, const OpenOptions& options) {
    auto decrypt = [&](const std::string& cipher) {
        return from_envelope(decrypt_to_memory(file.bytes, file.label, {cipher, options.key}), file.label,
                             cipher);
    };
    if (!is_plain_cipher(options.cipher)) return decrypt(options.cipher);
    auto* kind = find_kind(file.bytes);
    if (!kind)
        throw ModelError(text("'", file.label, "' is not a model this program knows: it has ",
                              file.bytes.size(), " bytes and starts with ", first_bytes(file.bytes),
                              "- neither ", known_kinds, hint_for(file.bytes)));
    if (kind->kind == ModelKind::encrypted) return decrypt(container_cipher);
    // The parts of a packed one have ciphers of their own.
    if (kind->kind != ModelKind::packed) refuse_plain(file, options);
    return {file};
}

Unsealed unseal(const std::string& path, const OpenOptions& options) {
    // An encrypted file is read piece by piece into private memory, never mapped: the checked bytes are those
    // that are used.
    PipeScope scope;
    std::string cipher = options.cipher;
    if (is_plain_cipher(options.cipher)) cipher = is_encrypted_file(path) ? container_cipher : no_cipher;
    if (cipher != no_cipher)
        return from_envelope(decrypt_to_memory(path, {cipher, options.key}), path, cipher);
    auto file = MappedFile::open(path, options.access);
    return unseal(ModelBytes{file->bytes(), file, path, true}, options);
}

Model open_unsealed(const Unsealed& model, OpenOptions options) {
    // The key has already been used for the envelope.
    options.allow_plain |= model.was_sealed;
    Model opened = open_as(*find_kind(model.file.bytes), model.file, options);
    if (auto* mapped = MappedFile::of(model.file.bytes.data())) mapped->require_whole();
    return opened;
}

Model open_packed_model(const ModelBytes& file, const OpenOptions& options) {
    ModelBytes here = aligned(file);
    PackedModel packed = open_packed(here.bytes, here.owner, here.label, options.key);
    rows_of_packed_cache(packed.parts, here.label);  // its user refuses an invalid one
    OpenOptions inner = options;
    inner.has_compressed_weights |= packed.info.has_compression;
    Model model = open_part({packed.parts, {}, {}, packed.model, packed.owner}, file, inner);
    if (!packed.info.json.empty()) model.metadata["lite_info"] = packed.info.json;
    return model;
}

}  // namespace

std::optional<ModelKind> recognise_model(std::span<const std::byte> bytes) {
    auto* kind = find_kind(bytes);
    return kind ? std::optional(kind->kind) : std::nullopt;
}

ModelBytes decrypt_model(const ModelBytes& file, const OpenOptions& options) {
    return unseal(file, options).file;
}

ModelBytes decrypt_model(const std::string& path, const OpenOptions& options) {
    return unseal(path, options).file;
}

Model open_part(const UnsealedParts& packed, const ModelBytes& packed_file, const OpenOptions& options) {
    const std::string& cipher = packed.parts.model_cipher;
    const bool is_plain = is_plain_cipher(cipher);
    ModelBytes file{packed.model, packed.owner, packed_file.label, packed_file.is_public && is_plain};
    if (is_plain) refuse_plain(file, options);
    auto* kind = find_kind(packed.model);
    // Only proper models: nested packed models could exhaust the stack.
    if (!kind || kind->kind == ModelKind::packed || kind->kind == ModelKind::encrypted) {
        if (!is_plain) throw_no_model(file.label, cipher);
        throw ModelError(text("'", file.label, "': its packed content is not a model"));
    }
    Model model = open_as(*kind, file, options);
    model.format = "packed " + model.format;
    return model;
}

Model open_model(const ModelBytes& file, const OpenOptions& options) {
    return open_unsealed(unseal(file, options), options);
}

Model open_model(const std::string& path, const OpenOptions& options) {
    return open_unsealed(unseal(path, options), options);
}

}  // namespace mge
