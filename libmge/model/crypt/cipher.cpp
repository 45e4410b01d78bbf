// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/crypt/cipher.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <ranges>

#include "libmge/base/joined.h"
#include "libmge/model/crypt/container_bytes.h"
#include "libmge/model/crypt/crypto_error.h"
#include "libmge/model/crypt/megengine_ciphers.h"

namespace mge {
namespace {

template <size_t n>
std::vector<size_t> lengths(const std::array<size_t, n>& values) {
    return {values.begin(), values.end()};
}

std::shared_ptr<const SecretBytes> shared(SecretBytes key) {
    return std::make_shared<const SecretBytes>(std::move(key));
}

SecretBytes open_unnamed_container(std::span<const std::byte> file, std::span<const std::byte> key) {
    return open_container(file, key, "encrypted data");
}

std::array<Cipher, 4> built_in() {
    return {{
        {container_cipher, open_unnamed_container, seal_container, {aes_key_bytes}, nullptr, ""},
        {"AES_default", decrypt_megengine_aes, encrypt_megengine_aes, lengths(megengine_aes_key_bytes),
         shared(default_megengine_aes_key()),
         "AES_default hides the content but does not protect it: anyone who can write the file can change it "
         "unnoticed"},
        {"RC4_default", decrypt_megengine_rc4, encrypt_megengine_rc4, lengths(megengine_rc4_key_bytes),
         shared(default_megengine_rc4_key()),
         "RC4_default is a weak stream cipher with one key stream for all files of a key: two files reveal "
         "each other, "
         "and changes can pass unnoticed"},
        {"SIMPLE_FAST_RC4_default", decrypt_megengine_simple_fast_rc4, encrypt_megengine_simple_fast_rc4,
         lengths(megengine_rc4_key_bytes), shared(default_megengine_rc4_key()),
         "SIMPLE_FAST_RC4_default adds the same key stream to every file of a key: two files, or one whose "
         "beginning is "
         "known, reveal each other, and changes can pass unnoticed"},
    }};
}

struct Registry {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<const Cipher>> ciphers;
    Registry() {
        for (auto& cipher : built_in()) ciphers[cipher.name] = std::make_shared<const Cipher>(cipher);
    }
};

Registry& registry() {
    static Registry instance;
    return instance;
}

std::shared_ptr<const Cipher> find_locked(const Registry& registry, const std::string& name) {
    if (auto found = registry.ciphers.find(name); found != registry.ciphers.end()) return found->second;
    throw UserError(text("there is no cipher '", name, "'; the ciphers are ",
                         joined(std::views::keys(registry.ciphers))));
}

}  // namespace

void register_cipher(Cipher cipher) {
    if (cipher.name.empty() || cipher.name == "NONE" || !cipher.decrypt)
        throw UserError(
            text("the cipher '", cipher.name, "' needs a name other than NONE and a function that decrypts"));
    if (cipher.default_key) check_key(cipher, *cipher.default_key);
    auto& [mutex, ciphers] = registry();
    std::lock_guard lock(mutex);
    auto name = cipher.name;
    if (!ciphers.try_emplace(name, std::make_shared<const Cipher>(std::move(cipher))).second)
        throw UserError(text("a cipher has this name already: '", name, "'"));
}

void update_cipher(const std::string& name, CipherFunction decrypt,
                   std::optional<std::span<const std::byte>> key) {
    if (name == container_cipher) throw UserError(text("the cipher '", name, "' cannot be replaced"));
    std::lock_guard lock(registry().mutex);
    Cipher cipher = *find_locked(registry(), name);
    if (decrypt) cipher = {cipher.name, std::move(decrypt), {}, {}, cipher.default_key, cipher.weakness};
    if (key) {
        check_key(cipher, *key);
        cipher.default_key = shared(SecretBytes(*key));
    }
    registry().ciphers[name] = std::make_shared<const Cipher>(std::move(cipher));
}

std::shared_ptr<const Cipher> find_cipher(const std::string& name) {
    std::lock_guard lock(registry().mutex);
    return find_locked(registry(), name);
}

std::vector<std::string> cipher_names() {
    std::lock_guard lock(registry().mutex);
    std::vector<std::string> names;
    for (auto& [name, cipher] : registry().ciphers) names.push_back(name);
    return names;
}

void check_key(const Cipher& cipher, std::span<const std::byte> key) {
    if (cipher.key_bytes.empty() || std::ranges::find(cipher.key_bytes, key.size()) != cipher.key_bytes.end())
        return;
    throw CryptoError(text("a key for ", cipher.name, " has ", joined(cipher.key_bytes, " or "),
                           " bytes, but this key has ", key.size()));
}

SecretBytes default_megengine_aes_key() {
    SecretBytes key(megengine_aes_key_bytes[0]);
    for (size_t i = 0; i < key.size(); ++i) key.data()[i] = std::byte(i);
    return key;
}

}  // namespace mge
