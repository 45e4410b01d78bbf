// SPDX-License-Identifier: Apache-2.0
#include "lite/pack_model.h"

#include <filesystem>

#include "libmge/base/files/file.h"
#include "libmge/lite/as_lite_error.h"
#include "libmge/lite/decryption.h"
#include "libmge/lite/persistent_cache.h"
#include "libmge/model/crypt/cipher.h"
#include "libmge/model/crypt/encrypted_file.h"
#include "libmge/model/open.h"
#include "libmge/model/pack.h"
#include "libmge/model/pack_info.h"

namespace lite {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes read_file(const std::string& path) {
    if (path.empty()) return {};
    auto file = mge::MappedFile::open(path);
    auto* first = reinterpret_cast<const uint8_t*>(file->bytes().data());
    return {first, first + file->bytes().size()};
}

std::span<const std::byte> bytes_of(const Bytes& bytes) { return std::as_bytes(std::span(bytes)); }

}  // namespace

struct ModelPacker::Parts {
    Bytes model, info, cache, binary_cache;
    std::string default_name, out;
    mge::PackedParts header;

    Parts() { header.is_fast_run_cache = true; }

    // The model's information completed with the fields that the format requires, as text.
    mge::PackedInfo complete_info() const {
        std::string text(info.begin(), info.end());
        if (!mge::is_plain_cipher(header.info_cipher)) {
            auto plain =
                mge::decrypt_to_memory(bytes_of(info), "the information", {header.info_cipher, model_keys()});
            text = mge::text_of(plain.span());
        }
        // Padding that some ciphers leave after the text is removed.
        if (auto end = text.rfind('}'); end != std::string::npos) text.resize(end + 1);
        return mge::complete_packed_info(text, {}, default_name);
    }

    void require_model() const {
        if (model.empty()) throw Error(mge::text("there is no model to pack into '", out, "'"));
        auto kind = mge::recognise_model(bytes_of(model));
        if (kind == mge::ModelKind::packed)
            throw Error("the model to pack is already packed; `mge-dump unpack` extracts its model");
        if (mge::is_plain_cipher(header.model_cipher) && !kind)
            throw Error(
                "the model to pack has an unknown format; set_header() sets its cipher if it has one");
    }
};

ModelPacker::ModelPacker(std::string model_path, std::string packed_model_path, std::string info_data_path,
                         std::string info_algo_policy_path, std::string info_binary_cache_path) {
    parts_ = as_lite_error([&] {
        auto parts = std::make_unique<Parts>();
        parts->model = read_file(model_path);
        parts->info = read_file(info_data_path);
        parts->cache = read_file(info_algo_policy_path);
        parts->binary_cache = read_file(info_binary_cache_path);
        parts->default_name = std::filesystem::path(model_path).stem().string();
        parts->out = std::move(packed_model_path);
        return parts;
    });
}

ModelPacker::ModelPacker(std::vector<uint8_t> model_data, std::string packed_model_path,
                         std::vector<uint8_t> info_data, std::vector<uint8_t> info_algo_policy_data,
                         std::vector<uint8_t> info_binary_cache_data) {
    parts_ = std::make_unique<Parts>();
    parts_->model = std::move(model_data);
    parts_->info = std::move(info_data);
    parts_->cache = std::move(info_algo_policy_data);
    parts_->binary_cache = std::move(info_binary_cache_data);
    parts_->default_name = std::filesystem::path(packed_model_path).stem().string();
    parts_->out = std::move(packed_model_path);
}

ModelPacker::~ModelPacker() = default;

void ModelPacker::set_header(std::string model_decryption_method, std::string info_decryption_method,
                             bool is_fast_run_cache) {
    as_lite_error([&] {
        for (auto& name : {model_decryption_method, info_decryption_method})
            if (!mge::is_plain_cipher(name)) mge::find_cipher(name);
    });
    auto& header = parts_->header;
    header.model_cipher =
        mge::is_plain_cipher(model_decryption_method) ? mge::no_cipher : model_decryption_method;
    header.info_cipher =
        mge::is_plain_cipher(info_decryption_method) ? mge::no_cipher : info_decryption_method;
    header.is_fast_run_cache = is_fast_run_cache;
}

void ModelPacker::pack_model() {
    as_lite_error([&] {
        parts_->require_model();
        auto parts = parts_->header;
        mge::PackedInfo complete{.name = parts_->default_name};
        if (!parts_->info.empty()) complete = parts_->complete_info();
        parts.name = complete.name;
        parts.info_parser = mge::default_info_parser;
        parts.model = bytes_of(parts_->model);
        bool is_text = !parts_->info.empty() && mge::is_plain_cipher(parts.info_cipher);
        parts.info = is_text ? std::as_bytes(std::span(complete.json)) : bytes_of(parts_->info);
        parts.cache = bytes_of(parts_->cache);
        parts.binary_cache = bytes_of(parts_->binary_cache);
        if (!parts.cache.empty()) parts.cache_parser = mge::default_cache_parser;
        if (parts.is_fast_run_cache && !parts.cache.empty())
            parse_cache(parts.cache, "the measured times to pack");
        mge::write_packed(parts_->out, parts);
    });
}

}  // namespace lite
