// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/model/crypt/crypto_error.h"
#include "libmge/model/crypt/megengine_ciphers.h"
#include "libmge/model/crypt/megengine_stream.h"

namespace mge {
namespace {

constexpr size_t word_bytes = sizeof(uint64_t);

struct Keys {
    uint64_t hash, cipher;
};

uint64_t load(std::span<const std::byte> bytes, size_t word) {
    uint64_t value;
    std::memcpy(&value, bytes.data() + word * word_bytes, word_bytes);
    return value;
}

void store(std::span<std::byte> bytes, size_t word, uint64_t value) {
    std::memcpy(bytes.data() + word * word_bytes, &value, word_bytes);
}

Keys keys_of(std::span<const std::byte> key) { return {load(key, 0), load(key, 1)}; }

// Room for the padded content and the word behind it, the content in place.
SecretBytes padded_copy(std::span<const std::byte> plain) {
    size_t words = ceil_div(plain.size(), word_bytes);
    SecretBytes file((words + 1) * word_bytes);
    if (!plain.empty()) std::memcpy(file.data(), plain.data(), plain.size());
    return file;
}

// The number of words in front of the last one.
size_t content_words(std::span<const std::byte> file, const char* format) {
    if (file.size() < word_bytes || file.size() % word_bytes)
        throw CryptoError(
            text("not a whole ", format, " file: ", file.size(), " bytes are not a multiple of 8"));
    return file.size() / word_bytes - 1;
}

uint64_t hash_words(std::span<const std::byte> bytes, size_t words, uint64_t seed) {
    MegengineHash hash(seed);
    for (size_t w = 0; w < words; ++w) hash.feed(load(bytes, w));
    return hash.value();
}

}  // namespace

SecretBytes encrypt_megengine_rc4(std::span<const std::byte> plain, std::span<const std::byte> key) {
    Keys keys = keys_of(key);
    SecretBytes file = padded_copy(plain);
    size_t words = file.size() / word_bytes - 1;
    // The content's hash starts a second stream, so that equal beginnings do not show.
    uint64_t content_hash = hash_words(file, words, keys.hash);
    MegengineStream inner(content_hash), outer(keys.cipher);
    MegengineHash inner_hash(keys.hash);
    for (size_t w = 0; w < words; ++w) {
        uint64_t word = load(file, w) ^ inner.next();
        inner_hash.feed(word);
        store(file.span(), w, word ^ outer.next());
    }
    store(file.span(), words, content_hash ^ inner_hash.value() ^ outer.next());
    return file;
}

SecretBytes decrypt_megengine_rc4(std::span<const std::byte> file, std::span<const std::byte> key) {
    Keys keys = keys_of(key);
    size_t words = content_words(file, "RC4_default");
    SecretBytes plain(words * word_bytes);
    MegengineStream outer(keys.cipher);
    MegengineHash inner_hash(keys.hash);
    for (size_t w = 0; w < words; ++w) {
        uint64_t word = load(file, w) ^ outer.next();
        inner_hash.feed(word);
        store(plain.span(), w, word);
    }
    uint64_t content_hash = load(file, words) ^ inner_hash.value() ^ outer.next();
    MegengineStream inner(content_hash);
    for (size_t w = 0; w < words; ++w) store(plain.span(), w, load(plain, w) ^ inner.next());
    // MegEngine itself does not check it; the recovered hash is as strong as SIMPLE_FAST_RC4's checksum.
    if (hash_words(plain, words, keys.hash) != content_hash)
        throw CryptoError(
            "wrong key, or a damaged RC4_default file (the hash of its content does not match)");
    return plain;
}

SecretBytes encrypt_megengine_simple_fast_rc4(std::span<const std::byte> plain,
                                              std::span<const std::byte> key) {
    Keys keys = keys_of(key);
    SecretBytes file = padded_copy(plain);
    size_t words = file.size() / word_bytes - 1;
    MegengineStream stream(keys.cipher);
    for (size_t w = 0; w < words; ++w) store(file.span(), w, load(file, w) ^ stream.next());
    store(file.span(), words, hash_words(file, words, keys.hash));
    return file;
}

SecretBytes decrypt_megengine_simple_fast_rc4(std::span<const std::byte> file,
                                              std::span<const std::byte> key) {
    Keys keys = keys_of(key);
    size_t words = content_words(file, "SIMPLE_FAST_RC4_default");
    if (hash_words(file, words, keys.hash) != load(file, words))
        throw CryptoError(
            "wrong key, or a damaged SIMPLE_FAST_RC4_default file (its checksum does not match)");
    SecretBytes plain(words * word_bytes);
    MegengineStream stream(keys.cipher);
    for (size_t w = 0; w < words; ++w) store(plain.span(), w, load(file, w) ^ stream.next());
    return plain;
}

SecretBytes default_megengine_rc4_key() {
    constexpr std::array<uint8_t, 16> words{108, 105, 101, 106, 103, 102, 107, 104,
                                            124, 127, 126, 121, 120, 125, 123, 122};
    SecretBytes key(megengine_rc4_key_bytes[1]);
    std::memcpy(key.data(), words.data(), words.size());
    return key;
}

}  // namespace mge
