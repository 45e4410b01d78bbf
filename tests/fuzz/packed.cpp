// SPDX-License-Identifier: Apache-2.0
// Packed Lite models, whose parts may be encrypted: envelope, info and the model in it.
#include <flatbuffers/flatbuffers.h>

#include "libmge/model/crypt/encrypted_file.h"
#include "libmge/model/open.h"
#include "libmge/model/pack.h"
#include "packed_generated.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/models.h"
#include "tests/fuzz/mutate_bytes.h"

namespace mge::fuzz {
namespace {

constexpr std::string_view mark = "packed_model";
constexpr const char* ciphers[] = {"NONE",       "", "AES_default", "RC4_default", "SIMPLE_FAST_RC4_default",
                                   "aes-256-gcm"};

KeyProvider key() { return provide_key(SecretBytes(sample_key())); }

// The parts of a file as they are when nothing is encrypted.
struct Parts {
    std::string name, info, model, cache, info_cipher = "NONE", model_cipher = "NONE",
                                          parser = "LITE_default";
};

std::string sealed(const std::string& part, const std::string& cipher) {
    if (part.empty() || cipher.empty() || cipher == "NONE") return part;
    try {
        return text_of(encrypt_in_memory(bytes_of(part), "input", {cipher, key()}).span());
    } catch (const Error&) {
        return part;  // no such cipher
    }
}

std::string packed(const Parts& parts) {
    flatbuffers::FlatBufferBuilder builder;
    auto octets = [&](const std::string& part) {
        return builder.CreateVector(reinterpret_cast<const uint8_t*>(part.data()), part.size());
    };
    auto data = packed_file::CreateData(builder, octets(sealed(parts.model, parts.model_cipher)));
    auto info =
        packed_file::CreateInfo(builder, octets(sealed(parts.info, parts.info_cipher)), octets(parts.cache));
    auto header = packed_file::CreateHeader(
        builder, builder.CreateString(parts.name), builder.CreateString(parts.info_cipher),
        builder.CreateString(parts.parser), builder.CreateString(parts.model_cipher),
        builder.CreateString("LITE_parse_cache"), !parts.cache.empty());
    auto model = packed_file::CreateModel(builder, header, info, data);
    builder.Finish(packed_file::CreateFile(builder, builder.CreateVector(&model, 1)));
    return std::string(mark) +
           std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

Parts parts_of(const std::string& file) {
    auto owner = std::make_shared<std::string>(file);
    PackedModel opened = open_packed(bytes_of(*owner), owner, "input", key());
    auto& parts = opened.parts;
    return {parts.name,        opened.info.json,   text_of(opened.model), text_of(parts.cache),
            parts.info_cipher, parts.model_cipher, parts.info_parser};
}

void change(Parts& parts, Random& random) {
    switch (random.below(6)) {
        case 0:
            parts.name = hostile_name(random);
            return;
        case 1:
            parts.info_cipher = random.pick(ciphers);
            return;
        case 2:
            parts.model_cipher = random.pick(ciphers);
            return;
        case 3:
            parts.parser = random.one_in(2) ? "LITE_default" : hostile_name(random);
            return;
        case 4:
            return mutate_model(parts.model, random);
        default:
            return mutate_text(parts.info, random);
    }
}

}  // namespace

void try_input(Bytes input) {
    if (!is_packed(input)) throw ModelError("a model of another kind");
    // As a mapped file begins: at an aligned address.
    auto owner = std::make_shared<std::vector<uint64_t>>(input.size() / 8 + 1);
    std::copy(input.begin(), input.end(), reinterpret_cast<std::byte*>(owner->data()));
    Bytes file = std::as_bytes(std::span(*owner)).first(input.size());
    use(open_model({file, owner, "input"}, {.key = key(), .allow_plain = true}), input);
}

std::vector<std::string> seeds() {
    std::vector<std::string> result = data_files("fuzz/packed");
    for (auto& file : data_files("packed", ".lite")) result.push_back(file);
    auto models = model_files();
    std::string info =
        R"({"valid":true,"name":"m","version":"8.14.0","has_compression":false,"extra_info":{"a":1}})";
    for (auto& model : models) result.push_back(packed({"m", info, model, ""}));
    result.push_back(packed({"m", info, models.back(), "", "aes-256-gcm", "aes-256-gcm"}));
    result.push_back(packed({"m", info, models.back(), "SQLite format 3"}));
    return result;
}

void mutate(std::string& input, Random& random) {
    if (random.one_in(3)) return mutate_bytes(input, random);
    try {
        Parts parts = parts_of(input);
        change(parts, random);
        if (std::string again = packed(parts); again.size() <= largest_input) input = again;
    } catch (const Error&) {
        mutate_integer(input, random);
    }
}

}  // namespace mge::fuzz
