// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "libmge/model/crypt/aes_gcm.h"
#include "libmge/model/crypt/crypto_error.h"
#include "libmge/model/crypt/megengine_ciphers.h"
#include "libmge/model/crypt/openssl.h"
#include "libmge/model/crypt/openssl_call.h"

namespace mge {
namespace {

constexpr size_t block_bytes = 16, length_bytes = 8;
constexpr size_t piece_bytes = 1 << 24;  // EVP counts in int

struct FreeContext {
    void operator()(EVP_CIPHER_CTX* context) const { openssl().EVP_CIPHER_CTX_free(context); }
};
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

CipherContext start(std::span<const std::byte> key, std::span<const std::byte> iv, bool encrypting) {
    CipherContext context(openssl().EVP_CIPHER_CTX_new());
    check_openssl(context && openssl().EVP_CipherInit_ex(context.get(), openssl().EVP_aes_256_cbc(), nullptr,
                                                         octets(key), octets(iv), encrypting) == 1,
                  "EVP_CipherInit_ex");
    return context;
}

// Returns how many bytes came out; false from the last step means wrong padding.
bool run(EVP_CIPHER_CTX* context, std::span<const std::byte> in, std::span<std::byte> out, size_t& produced) {
    int written = 0;
    produced = 0;
    for (size_t at = 0; at < in.size(); at += piece_bytes) {
        auto piece = in.subspan(at, std::min(piece_bytes, in.size() - at));
        check_openssl(openssl().EVP_CipherUpdate(context, octets(out.subspan(produced)), &written,
                                                 octets(piece), int(piece.size())) == 1,
                      "EVP_CipherUpdate");
        produced += size_t(written);
    }
    bool good = openssl().EVP_CipherFinal_ex(context, octets(out.subspan(produced)), &written) == 1;
    produced += good ? size_t(written) : 0;
    return good;
}

uint64_t read_big_endian(std::span<const std::byte> bytes) {
    uint64_t value = 0;
    for (std::byte b : bytes) value = value << 8 | uint64_t(b);
    return value;
}

void write_big_endian(uint64_t value, std::span<std::byte> bytes) {
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(value >> (8 * (bytes.size() - 1 - i)));
}

}  // namespace

SecretBytes encrypt_megengine_aes(std::span<const std::byte> plain, std::span<const std::byte> key) {
    size_t padded = plain.size() / block_bytes * block_bytes + block_bytes;
    SecretBytes file(block_bytes + padded + length_bytes);
    auto iv = file.span().first(block_bytes);
    fill_random(iv);
    size_t produced = 0;
    check_openssl(run(start(key, iv, true).get(), plain, file.span().subspan(block_bytes, padded), produced),
                  "EVP_CipherFinal_ex");
    MGE_CHECK(produced == padded);
    write_big_endian(plain.size(), file.span().last(length_bytes));
    return file;
}

SecretBytes decrypt_megengine_aes(std::span<const std::byte> file, std::span<const std::byte> key) {
    if (file.size() < 2 * block_bytes + length_bytes || (file.size() - length_bytes) % block_bytes)
        throw CryptoError(text("not a whole AES_default file: ", file.size(), " bytes"));
    auto sealed = file.subspan(block_bytes, file.size() - block_bytes - length_bytes);
    SecretBytes plain(sealed.size() + block_bytes);
    size_t produced = 0;
    bool good = run(start(key, file.first(block_bytes), false).get(), sealed, plain.span(), produced);
    if (!good || read_big_endian(file.last(length_bytes)) != produced)
        throw CryptoError("wrong key, or a damaged AES_default file (its padding and length do not match)");
    plain.shrink(produced);
    return plain;
}

}  // namespace mge
