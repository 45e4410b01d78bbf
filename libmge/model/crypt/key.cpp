// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/crypt/key.h"

#include <algorithm>
#include <memory>

#include "libmge/model/crypt/aes_gcm.h"
#include "libmge/model/crypt/crypto_error.h"
#include "libmge/model/crypt/hex.h"

namespace mge {
namespace {

constexpr size_t key_id_bytes = 16;

bool is_space(std::byte b) { return b == std::byte(' ') || (b >= std::byte('\t') && b <= std::byte('\r')); }

std::span<const std::byte> trim(std::span<const std::byte> content) {
    while (!content.empty() && is_space(content.front())) content = content.subspan(1);
    while (!content.empty() && is_space(content.back())) content = content.first(content.size() - 1);
    return content;
}

bool allows(std::span<const size_t> lengths, size_t size) {
    return size > 0 && (lengths.empty() || std::ranges::find(lengths, size) != lengths.end());
}

std::string list(std::span<const size_t> lengths) {
    std::string result;
    for (size_t i = 0; i < lengths.size(); ++i) result += text(i ? " or " : "", lengths[i]);
    return result;
}

}  // namespace

KeyProvider provide_key(SecretBytes key) {
    auto shared = std::make_shared<const SecretBytes>(std::move(key));
    return [shared](const KeyRequest&) { return shared->copy(); };
}

SecretBytes generate_key() {
    SecretBytes key(aes_key_bytes);
    fill_random(key.span());
    return key;
}

SecretBytes parse_key(std::span<const std::byte> content, std::span<const size_t> lengths,
                      const std::string& where) {
    auto digits = trim(content);
    bool hexadecimal = digits.size() % 2 == 0 && std::ranges::all_of(digits, is_hex_digit);
    if (hexadecimal && allows(lengths, digits.size() / 2)) {
        SecretBytes key(digits.size() / 2);
        from_hex(digits, key.span());
        return key;
    }
    if (allows(lengths, content.size())) return SecretBytes(content);
    if (lengths.empty()) throw CryptoError(text("the key in ", where, " is empty"));
    throw CryptoError(text("the key in ", where, " has ", content.size(), " bytes; a key has ", list(lengths),
                           " bytes, or twice as many hexadecimal digits"));
}

SecretBytes format_key(std::span<const std::byte> key) {
    SecretBytes digits(2 * key.size() + 1);
    to_hex(key, digits.span().first(2 * key.size()));
    digits.span().back() = std::byte('\n');
    return digits;
}

std::string key_id(std::span<const std::byte> key) {
    return hex_of(hkdf_sha256(key, bytes_of("mge"), bytes_of("key id"), key_id_bytes));
}

}  // namespace mge
