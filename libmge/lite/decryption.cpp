// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/decryption.h"

#include <mutex>

#include "libmge/lite/as_lite_error.h"
#include "libmge/model/crypt/cipher.h"
#include "libmge/model/crypt/crypto_error.h"
#include "lite/global.h"

namespace lite {
namespace {

using mge::SecretBytes;
using Key = std::vector<uint8_t>;

// Keys of our own encrypted files. The engine does not store any for them.
struct ContainerKey {
    std::mutex mutex;
    SecretBytes key;
};

ContainerKey& container_key() {
    static ContainerKey instance;
    return instance;
}

void set_container_key(const DecryptionFunc& func, const std::optional<Key>& key) {
    if (func)
        throw Error(
            mge::text("the decryption '", mge::container_cipher, "' cannot be replaced, only its key"));
    if (!key) return;
    auto bytes = std::as_bytes(std::span(*key));
    mge::check_key(*mge::find_cipher(mge::container_cipher), bytes);
    auto& [mutex, kept] = container_key();
    std::lock_guard lock(mutex);
    kept = SecretBytes(bytes);
}

// Vectors of keys and of decrypted content, which are wiped when they are no longer needed.
class Wiped {
public:
    explicit Wiped(Key content) : content(std::move(content)) {}
    ~Wiped() { mge::wipe(std::as_writable_bytes(std::span(content))); }
    Wiped(const Wiped&) = delete;
    Wiped& operator=(const Wiped&) = delete;

    Key content;
};

mge::CipherFunction cipher_function(const std::string& name, const DecryptionFunc& func) {
    if (!func) return {};
    return [name, func](std::span<const std::byte> input, std::span<const std::byte> key) {
        auto* first = reinterpret_cast<const uint8_t*>(key.data());
        Wiped own_key(Key(first, first + key.size()));
        Wiped plain(func(input.data(), input.size(), own_key.content));
        if (plain.content.empty())
            throw mge::CryptoError(mge::text("the decryption '", name, "' returned no data"));
        return SecretBytes(std::as_bytes(std::span(plain.content)));
    };
}

}  // namespace

mge::KeyProvider model_keys() {
    return [](const mge::KeyRequest& request) {
        if (request.cipher != mge::container_cipher) return SecretBytes();
        auto& [mutex, key] = container_key();
        std::lock_guard lock(mutex);
        if (key.empty())
            throw mge::CryptoError(mge::text("'", request.file, "' is encrypted with ", request.cipher,
                                             "; update_decryption_or_key(\"", request.cipher,
                                             "\", …) sets the key"));
        return key.copy();
    };
}

bool register_decryption_and_key(std::string name, const DecryptionFunc& func, const Key& key) {
    return as_lite_error([&] {
        auto kept = std::make_shared<const SecretBytes>(std::as_bytes(std::span(key)));
        mge::register_cipher({name, cipher_function(name, func), {}, {}, kept, {}});
        return true;
    });
}

void update_decryption(const std::string& name, const DecryptionFunc& func, const std::optional<Key>& key) {
    as_lite_error([&] {
        if (name == mge::container_cipher) return set_container_key(func, key);
        std::optional<std::span<const std::byte>> bytes;
        if (key) bytes = std::as_bytes(std::span(*key));
        mge::update_cipher(name, cipher_function(name, func), bytes);
    });
}

bool update_decryption_or_key(std::string name, const DecryptionFunc& func, const Key& key) {
    update_decryption(name, func, key.empty() ? std::nullopt : std::optional(key));
    return true;
}

}  // namespace lite
