// SPDX-License-Identifier: Apache-2.0
// Encrypted files of our own: the envelope, and a model that only its key opens.
#include "libmge/model/crypt/container.h"
#include "libmge/model/crypt/encrypted_file.h"
#include "libmge/model/open.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/models.h"
#include "tests/fuzz/mutate_bytes.h"

namespace mge::fuzz {
namespace {

FileCipher cipher() { return {container_cipher, provide_key(SecretBytes(sample_key()))}; }

std::string sealed(const std::string& content, uint32_t chunk_bytes) {
    EncryptedContainer container(sample_key(), content.size(), chunk_bytes);
    auto header = container.sealed_header();
    std::string file = text_of(header);
    for (uint64_t i = 0; i < container.chunk_count(); ++i) {
        std::string chunk(container.sealed_bytes(i), '\0');
        auto plain = bytes_of(content).subspan(container.plain_offset(i), container.plain_bytes(i));
        container.seal(i, plain, std::as_writable_bytes(std::span(chunk)));
        file += chunk;
    }
    return file;
}

std::string opened(const std::string& file) {
    SecretBytes content = decrypt_to_memory(bytes_of(file), "input", cipher());
    return text_of(content.span());
}

constexpr uint32_t chunk_sizes[] = {smallest_chunk_bytes, 2048, default_chunk_bytes};

// Chunks in each other's place, missing ones and repeated ones.
void move_chunk(std::string& file, Random& random) {
    size_t sealed_bytes = smallest_chunk_bytes + gcm_tag_bytes, start = encrypted_header_bytes;
    size_t count = file.size() < start ? 0 : (file.size() - start) / sealed_bytes;
    if (count < 2) return mutate_bytes(file, random);
    size_t from = start + random.below(count) * sealed_bytes, to = start + random.below(count) * sealed_bytes;
    std::string chunk = file.substr(from, sealed_bytes);
    if (random.one_in(3))
        file.erase(from, sealed_bytes);
    else if (random.one_in(2))
        file.insert(to, chunk);
    else
        file.replace(to, sealed_bytes, chunk);
}

}  // namespace

void try_input(Bytes input) {
    if (!is_encrypted(input)) throw ModelError("a file of another kind");
    auto owner = std::make_shared<std::string>(text_of(input));
    Bytes file = bytes_of(*owner);
    // The information in the file without a key, and with a wrong one.
    read_encrypted_header(file, file.size(), "input");
    use(open_model({file, owner, "input"}, {.key = cipher().key}), input);
}

std::vector<std::string> seeds() {
    std::vector<std::string> result = data_files("fuzz/encrypted");
    for (auto& model : model_files())
        for (uint32_t chunk_bytes : chunk_sizes) result.push_back(sealed(model, chunk_bytes));
    result.push_back(sealed("", default_chunk_bytes));
    result.push_back(sealed("no model", default_chunk_bytes));
    result.push_back(sealed(sealed(model_files()[0], default_chunk_bytes), default_chunk_bytes));
    return result;
}

// Salts are random, so the bytes differ from run to run; what is behind them does not.
void mutate(std::string& input, Random& random) {
    switch (random.below(4)) {
        case 0:
            return mutate_bytes(input, random);
        case 1:
            return move_chunk(input, random);
        default:
            break;
    }
    try {
        std::string content = opened(input);
        mutate_model(content, random);
        input = sealed(content, random.pick(chunk_sizes));
    } catch (const Error&) {
        mutate_integer(input, random);
    }
}

}  // namespace mge::fuzz
