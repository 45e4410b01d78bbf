// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/pack.h"

#include <flatbuffers/flatbuffers.h>

#include <filesystem>

#include "libmge/base/error.h"
#include "libmge/base/files/file.h"
#include "libmge/base/log.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/model/crypt/encrypted_file.h"
#include "libmge/model/import/megengine/fastrun_cache.h"
#include "libmge/model/open.h"
#include "libmge/model/pack_info.h"
#include "packed_generated.h"

namespace mge {
namespace {

constexpr std::string_view packed_mark = "packed_model";
// Limits of flatbuffers' verifier: a file of one model has five tables.
constexpr size_t packed_depth = 16, packed_tables = 1000;
// Offsets in a flatbuffer have 31 bits; the rest is for the table itself.
constexpr size_t largest_content = (size_t(1) << 31) - (size_t(1) << 16);

using Octets = flatbuffers::Vector<uint8_t>;

std::span<const std::byte> bytes(const Octets* vector) {
    return vector ? std::as_bytes(std::span(vector->data(), vector->size())) : std::span<const std::byte>();
}
std::string string(const flatbuffers::String* s) { return s ? s->str() : std::string(); }

bool looks_like_json(std::span<const std::byte> info) { return !info.empty() && info[0] == std::byte('{'); }

// A tool of MegEngine swaps the names of the two ciphers. Such a file is detected by plain content with a
// cipher's name, and vice versa.
void undo_swapped_names(PackedParts& parts, const std::string& label) {
    if (parts.info_cipher == parts.model_cipher) return;
    bool plain_info = looks_like_json(parts.info), plain_model = recognise_model(parts.model).has_value();
    bool swapped = (is_plain_cipher(parts.model_cipher) && !plain_model && plain_info) ||
                   (is_plain_cipher(parts.info_cipher) && !plain_info && !parts.info.empty() && plain_model);
    if (!swapped) return;
    log_warning(text("'", label, "' names the ciphers of model and info in reverse; they are swapped"));
    std::swap(parts.info_cipher, parts.model_cipher);
}

// Decrypted bytes with their owner; the file's own bytes without a cipher.
struct Opened {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
};

Opened open_part(std::span<const std::byte> part, const std::string& cipher, std::shared_ptr<const void> file,
                 const std::string& label, const KeyProvider& key) {
    if (is_plain_cipher(cipher)) return {part, std::move(file)};
    auto content = std::make_shared<SecretBytes>(decrypt_to_memory(part, label, {cipher, key}));
    return {content->span(), content};
}

SecretBytes seal_part(std::span<const std::byte> part, const std::string& name, const std::string& label,
                      const KeyProvider& key) {
    return is_plain_cipher(name) ? SecretBytes(part) : encrypt_in_memory(part, label, {name, key});
}

std::vector<uint8_t> build_table(const PackedParts& parts) {
    flatbuffers::FlatBufferBuilder builder(1024);
    auto octets = [&](std::span<const std::byte> part) {
        return part.empty()
                   ? flatbuffers::Offset<Octets>()
                   : builder.CreateVector(reinterpret_cast<const uint8_t*>(part.data()), part.size());
    };
    auto data = packed_file::CreateData(builder, octets(parts.model));
    auto info =
        packed_file::CreateInfo(builder, octets(parts.info), octets(parts.cache), octets(parts.binary_cache));
    auto string = [&](const std::string& s) { return builder.CreateString(s); };
    auto cache_parser =
        parts.cache_parser.empty() ? flatbuffers::Offset<flatbuffers::String>() : string(parts.cache_parser);
    auto header = packed_file::CreateHeader(builder, string(parts.name), string(parts.info_cipher),
                                            string(parts.info_parser), string(parts.model_cipher),
                                            cache_parser, parts.is_fast_run_cache);
    auto model = packed_file::CreateModel(builder, header, info, data);
    builder.Finish(packed_file::CreateFile(builder, builder.CreateVector(&model, 1)));
    return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

void write_bytes(const std::string& path, std::span<const std::byte> content, bool was_secret) {
    write_file_atomically(
        path,
        [&](std::ostream& stream) {
            stream.write(reinterpret_cast<const char*>(content.data()), std::streamsize(content.size()));
        },
        was_secret ? FileReaders::owner : FileReaders::anyone);
}

}  // namespace

bool is_packed(std::span<const std::byte> bytes) { return text_of(bytes).starts_with(packed_mark); }

bool is_own_cache(std::span<const std::byte> bytes) { return text_of(bytes).starts_with("SQLite format 3"); }

std::vector<CacheRow> rows_of_cache(std::span<const std::byte> cache, const std::string& label) {
    return is_own_cache(cache) ? FastrunCache::from_bytes(cache, label)->rows()
                               : megengine::parse_fastrun_cache(cache, label);
}

std::vector<CacheRow> rows_of_packed_cache(const PackedParts& parts, const std::string& label) {
    if (parts.cache.empty() || !parts.is_fast_run_cache) return {};
    if (parts.cache_parser != default_cache_parser)
        throw ModelError(text("'", label, "': its cache is for the parser '", parts.cache_parser,
                              "'; this program has ", default_cache_parser));
    return rows_of_cache(parts.cache, text("the fast-run cache in '", label, "'"));
}

PackedParts read_packed_parts(std::span<const std::byte> file, const std::string& label) {
    auto fail = [&](const char* what) {
        throw ModelError(text("'", label, "' is not a valid packed model: ", what));
    };
    if (!is_packed(file)) fail("it has no signature of a packed model");
    auto* table = reinterpret_cast<const uint8_t*>(file.data()) + packed_mark.size();
    flatbuffers::Verifier verifier(table, file.size() - packed_mark.size(), packed_depth, packed_tables);
    if (!packed_file::VerifyFileBuffer(verifier)) fail("its table is damaged or truncated");
    auto* models = packed_file::GetFile(table)->models();
    if (!models || models->size() != 1) fail("it must hold exactly one model");
    auto* model = models->Get(0);
    auto* header = model->header();
    if (!header || !header->name() || !header->model_cipher() || !header->info_cipher() ||
        !header->info_parser())
        fail("its header lacks a name");
    if (!model->data() || bytes(model->data()->data()).empty()) fail("it has no model data");
    PackedParts parts{string(header->name()),         string(header->info_cipher()),
                      string(header->model_cipher()), string(header->info_parser()),
                      string(header->cache_parser()), header->is_fast_run_cache()};
    parts.model = bytes(model->data()->data());
    if (auto* info = model->info()) {
        parts.info = bytes(info->data());
        parts.cache = bytes(info->cache());
        parts.binary_cache = bytes(info->binary_cache());
    }
    return parts;
}

UnsealedParts unseal_packed(std::span<const std::byte> file, std::shared_ptr<const void> owner,
                            const std::string& label, const KeyProvider& key, bool with_info) {
    UnsealedParts result;
    result.parts = read_packed_parts(file, label);
    undo_swapped_names(result.parts, label);
    auto& parts = result.parts;
    if (with_info) {
        auto info = open_part(parts.info, parts.info_cipher, owner, label + " (info)", key);
        result.info = info.bytes;
        result.info_owner = info.owner;
    }
    auto model = open_part(parts.model, parts.model_cipher, owner, label, key);
    result.model = model.bytes;
    result.owner = model.owner;
    return result;
}

PackedModel open_packed(std::span<const std::byte> file, std::shared_ptr<const void> owner,
                        const std::string& label, const KeyProvider& key) {
    UnsealedParts unsealed = unseal_packed(file, std::move(owner), label, key);
    PackedModel result{unsealed.parts, {}, unsealed.model, unsealed.owner};
    auto& parts = result.parts;
    if (!parts.info.empty() && parts.info_parser != default_info_parser)
        throw ModelError(text("'", label, "': its info is for the parser '", parts.info_parser,
                              "'; this program has ", default_info_parser));
    result.info = parse_packed_info(text_of(unsealed.info), label, parts.name);
    return result;
}

void write_packed(const std::string& out, const PackedParts& parts) {
    if (parts.model.size() + parts.info.size() + parts.cache.size() + parts.binary_cache.size() >
        largest_content)
        throw UserError(text("'", out, "' would be too large: the format of packed models ends at 2 GiB"));
    auto table = build_table(parts);
    write_file_atomically(out, [&](std::ostream& stream) {
        stream << packed_mark;
        stream.write(reinterpret_cast<const char*>(table.data()), std::streamsize(table.size()));
    });
}

void pack_model(const std::string& model, const std::string& out, const PackOptions& options) {
    auto file = MappedFile::open(model);
    auto kind = recognise_model(file->bytes());
    if (!kind || kind == ModelKind::packed || kind == ModelKind::encrypted)
        throw ModelError(text("'", model, "' is not a model that can be packed; ",
                              kind == ModelKind::packed      ? "it is already packed; unpack it first"
                              : kind == ModelKind::encrypted ? "it is encrypted; decrypt it first"
                                                             : "its format is unknown"));
    auto cache = options.cache.empty() ? nullptr : MappedFile::open(options.cache);
    if (cache && is_encrypted(cache->bytes()))
        throw ModelError(text("'", options.cache,
                              "' is encrypted, but a packed model needs a plain cache; "
                              "decrypt it first"));
    auto info =
        complete_packed_info(options.info, options.name, std::filesystem::path(model).stem().string());
    SecretBytes sealed_model = seal_part(file->bytes(), options.model_cipher, out, options.key);
    SecretBytes sealed_info = seal_part(bytes_of(info.json), options.info_cipher, out, options.key);
    PackedParts parts{info.name, options.info_cipher, options.model_cipher, default_info_parser};
    parts.model = sealed_model;
    parts.info = sealed_info;
    if (cache) {
        rows_of_cache(cache->bytes(), options.cache);  // or the model could not be loaded
        parts.cache = cache->bytes();
        parts.cache_parser = default_cache_parser;
        parts.is_fast_run_cache = true;
        if (is_own_cache(parts.cache))
            log_warning(
                text("'", options.cache, "' is a cache of MGE; MegEngine Lite's runtime cannot read it"));
    }
    write_packed(out, parts);
}

UnpackPaths unpack_model(const std::string& packed, const UnpackPaths& paths, const KeyProvider& key) {
    auto file = MappedFile::open(packed);
    PackedModel model = open_packed(file->bytes(), file, packed, key);
    UnpackPaths written;
    if (!paths.model.empty()) {
        write_bytes(paths.model, model.model, !is_plain_cipher(model.parts.model_cipher));
        written.model = paths.model;
    }
    if (!paths.info.empty() && !model.info.json.empty()) {
        write_bytes(paths.info, bytes_of(model.info.json), !is_plain_cipher(model.parts.info_cipher));
        written.info = paths.info;
    }
    if (!paths.cache.empty() && !model.parts.cache.empty()) {
        write_bytes(paths.cache, model.parts.cache, false);
        written.cache = paths.cache;
    }
    return written;
}

}  // namespace mge
