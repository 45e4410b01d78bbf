// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/crypt/examine_file.h"

#include <array>

#include "libmge/model/container.h"
#include "libmge/model/crypt/container_file.h"
#include "libmge/model/crypt/crypto_error.h"

namespace mge {
namespace {

struct PlainKind {
    size_t offset;
    std::string_view mark;
    const char* name;
};
constexpr std::array<PlainKind, 7> plain_kinds{{
    {0, {model_magic.data(), model_magic.size()}, "MGE model"},
    {0, "packed_model", "packed Lite model"},
    {0, "mgbtest0", "MegEngine model with test cases"},
    {8, "mgv2", "MegEngine model"},
    {0, "MGBC", "MegEngine model"},
    {0, "MGBS", "MegEngine model"},
    {0, "SQLite format 3", "SQLite database, e.g. a fast-run cache"},
}};

const char* plain_kind(std::span<const std::byte> start) {
    for (auto& kind : plain_kinds)
        if (text_of(start).substr(std::min(kind.offset, start.size())).starts_with(kind.mark))
            return kind.name;
    return nullptr;
}

// The length at the end of an AES_default file matches its size, which other files do not by chance.
bool looks_like_aes(const InputFile& file) {
    constexpr uint64_t block = 16, around = 24;
    if (file.bytes() < around + block || (file.bytes() - around) % block) return false;
    std::array<std::byte, 8> stored;
    file.read(file.bytes() - stored.size(), stored);
    uint64_t length = 0;
    for (std::byte b : stored) length = length << 8 | uint64_t(b);
    return length < file.bytes() && length / block * block + block == file.bytes() - around;
}

// The hashes of the RC4 family show whether a file was made with the default key.
bool opens_with_default_key(const InputFile& file, const char* cipher) {
    try {
        decrypt_to_memory(file.path(), {cipher, {}});
        return true;
    } catch (const CryptoError&) {
        return false;
    }
}

void guess(const InputFile& file, EncryptedFileInfo& info) {
    info.format = "unknown";
    if (looks_like_aes(file)) {
        info.cipher = "AES_default";
        info.has_default_key = opens_with_default_key(file, "AES_default");
    } else {
        for (const char* cipher : {"SIMPLE_FAST_RC4_default", "RC4_default"})
            if (opens_with_default_key(file, cipher)) {
                info.cipher = cipher;
                info.has_default_key = true;
                break;
            }
    }
    if (info.cipher.empty()) return;
    info.format = "MegEngine Lite encrypted";
    info.is_guess = true;
    info.authenticity = Authenticity::not_protected;
}

void examine_container(const InputFile& file, std::span<const std::byte> start,
                       const std::optional<FileCipher>& cipher, EncryptedFileInfo& info) {
    info.format = "MGE encrypted";
    info.cipher = container_cipher;
    info.header = read_encrypted_header(start, file.bytes(), file.path());
    info.content_bytes = info.header->plain_bytes;
    if (!cipher) return;
    check_kind(start, file.path(), cipher->name);
    ContainerFile(file, cipher->key).check_all();
    info.authenticity = Authenticity::authentic;
}

}  // namespace

const char* name_of(Authenticity authenticity) {
    switch (authenticity) {
        case Authenticity::not_checked:
            return "not checked (no key)";
        case Authenticity::authentic:
            return "authentic";
        case Authenticity::not_protected:
            return "not protected by this format";
    }
    return "";
}

EncryptedFileInfo examine_file(const std::string& path, const std::optional<FileCipher>& cipher) {
    InputFile file(path);
    FileStart buffer;
    auto start = read_start(file, buffer);
    EncryptedFileInfo info;
    info.file_bytes = file.bytes();
    if (is_encrypted(start)) {
        examine_container(file, start, cipher, info);
    } else if (cipher) {
        info.format = "MegEngine Lite encrypted";
        info.cipher = cipher->name;
        info.content_bytes = decrypt_to_memory(path, *cipher).size();
        info.authenticity = Authenticity::not_protected;
    } else if (const char* kind = plain_kind(start)) {
        info.format = text("not encrypted: ", kind);
        info.content_bytes = file.bytes();
        info.authenticity = Authenticity::not_protected;
    } else {
        guess(file, info);
    }
    return info;
}

}  // namespace mge
