// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/model_file.h"

#include <cstring>

#include "libmge/base/files/file.h"
#include "libmge/base/files/input_pipe.h"
#include "libmge/base/log.h"
#include "libmge/device/device.h"
#include "libmge/lite/as_lite_error.h"
#include "libmge/lite/decryption.h"
#include "libmge/lite/default_log_level.h"
#include "libmge/lite/model_info.h"
#include "libmge/model/pack.h"

namespace lite {
namespace {

using mge::ModelBytes;
using mge::text;

mge::OpenOptions open_options(const Configuration& configuration) {
    return {.key = model_keys(),
            .cipher = configuration.config.bare_model_cryption_name,
            .allow_plain = true,
            .has_compressed_weights = configuration.config.has_compression,
            .weight_check = mge::WeightCheck::as_used,
            .access = configuration.config.options.copy_model_files ? mge::FileAccess::copied
                                                                    : mge::FileAccess::mapped};
}

// The table of a packed model is read in place.
ModelBytes aligned(const ModelBytes& file) {
    if (reinterpret_cast<uintptr_t>(file.bytes.data()) % alignof(uint64_t) == 0) return file;
    auto copy = std::make_shared<std::vector<uint64_t>>(file.bytes.size() / sizeof(uint64_t) + 1);
    std::memcpy(copy->data(), file.bytes.data(), file.bytes.size());
    return {std::as_bytes(std::span(*copy)).first(file.bytes.size()), copy, file.label, file.is_public};
}

void keep_cache(const mge::PackedParts& parts, const std::string& label, ModelFile& result) {
    if (parts.cache.empty()) return;
    if (!parts.is_fast_run_cache) {
        mge::log_message(
            mge::LogLevel::info,
            text("'", label, "': its cache comes from another device's compiler and is not used"));
        return;
    }
    if (parts.cache_parser != mge::default_cache_parser)
        throw Error(text("'", label, "': its cache is for the parser '", parts.cache_parser,
                         "'; this program has ", mge::default_cache_parser));
    auto* first = reinterpret_cast<const uint8_t*>(parts.cache.data());
    result.fastrun_cache.assign(first, first + parts.cache.size());
}

ModelFile read_packed(const ModelBytes& given_file, const Configuration& given, bool uses_info) {
    ModelBytes file = aligned(given_file);
    auto packed = mge::unseal_packed(file.bytes, file.owner, file.label, model_keys(), uses_info);
    ModelFile result{{}, given, {}, {}};
    if (uses_info) {
        if (!packed.info.empty())
            apply_model_info({packed.info, packed.parts.info_parser, packed.parts.name, file.label},
                             result.configuration, result.extra_info);
        keep_cache(packed.parts, file.label, result);
    }
    result.model = mge::open_part(packed, file, open_options(result.configuration));
    return result;
}

ModelFile read_plain(const ModelBytes& file, const Configuration& given, bool uses_info) {
    if (mge::is_packed(file.bytes)) return read_packed(file, given, uses_info);
    auto options = open_options(given);
    options.cipher.clear();
    return {mge::open_model(file, options), given, {}, {}};
}

// A packed model specifies the encryption of its parts. The check is avoided if possible, because mapping a
// large file takes a while.
template <class IsPacked>
mge::OpenOptions envelope_options(const Configuration& given, IsPacked is_packed) {
    auto options = open_options(given);
    if (!options.cipher.empty() && is_packed()) options.cipher.clear();
    return options;
}

}  // namespace

ModelFile read_model_file(const std::string& path, const Configuration& given, bool uses_info) {
    return as_lite_error([&] {
        use_default_log_level();
        mge::PipeScope scope;
        auto options =
            envelope_options(given, [&] { return mge::is_packed(mge::MappedFile::open(path)->bytes()); });
        return read_plain(mge::decrypt_model(path, options), given, uses_info);
    });
}

ModelFile read_model_file(const void* data, size_t bytes, const Configuration& given, bool uses_info) {
    return as_lite_error([&] {
        use_default_log_level();
        if (!data || !bytes) throw Error("a model in memory needs an address and a number of bytes");
        if (bytes > PTRDIFF_MAX)
            throw Error(text("a model in memory has ", bytes, " bytes, more than the address space holds"));
        std::span content(static_cast<const std::byte*>(data), bytes);
        ModelBytes file{content, nullptr, "model in memory"};
        auto options = envelope_options(given, [&] { return mge::is_packed(content); });
        return read_plain(mge::decrypt_model(file, options), given, uses_info);
    });
}

}  // namespace lite
