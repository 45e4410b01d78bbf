// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/crypt/encrypted_file.h"

#include <algorithm>

#include "libmge/base/files/file.h"
#include "libmge/model/crypt/container_bytes.h"
#include "libmge/model/crypt/container_file.h"
#include "libmge/model/crypt/crypto_error.h"

namespace mge {
namespace {

SecretBytes read_whole(const InputFile& file) {
    SecretBytes content(file.bytes());
    file.read(0, content.span());
    return content;
}

SecretBytes decrypt_bare(std::span<const std::byte> file, const std::string& label,
                         const FileCipher& wanted) {
    auto cipher = find_cipher(wanted.name);
    SecretBytes key = key_for(*cipher, wanted.key, {label, cipher->name, {}});
    try {
        return cipher->decrypt(file, key);
    } catch (const CryptoError& e) {
        throw CryptoError(text("'", label, "': ", e.what()));
    }
}

void write(std::ostream& stream, std::span<const std::byte> bytes) {
    stream.write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
}

// `fill(chunk, plain)` gives the content, a chunk at a time.
template <class Fill>
void write_container(const std::string& path, EncryptedContainer& container, const Fill& fill) {
    SecretBytes plain(std::min<uint64_t>(container.header().chunk_bytes, container.header().plain_bytes));
    std::vector<std::byte> sealed(plain.size() + gcm_tag_bytes);
    write_file_atomically(path, [&](std::ostream& stream) {
        write(stream, container.sealed_header());
        for (uint64_t chunk = 0; chunk < container.chunk_count(); ++chunk) {
            auto content = plain.span().first(container.plain_bytes(chunk));
            fill(chunk, content);
            auto out = std::span(sealed).first(container.sealed_bytes(chunk));
            container.seal(chunk, content, out);
            write(stream, out);
        }
    });
}

void write_bare(const std::string& path, const std::string& label, std::span<const std::byte> content,
                const FileCipher& wanted) {
    SecretBytes sealed = encrypt_in_memory(content, label, wanted);
    write_file_atomically(path, [&](std::ostream& stream) { write(stream, sealed); });
}

// Work on one file may go over it more than once.
class Meter {
public:
    Meter(const CryptProgress& report, uint64_t total) : report_(report), total_(total) {}
    void add(uint64_t bytes) {
        done_ += bytes;
        if (report_) report_(done_, total_);
    }

private:
    const CryptProgress& report_;
    uint64_t total_, done_ = 0;
};

void check_all(ContainerFile& source, Meter& meter) {
    source.check_all([&](uint64_t chunk) { meter.add(source.container().plain_bytes(chunk)); });
}

EncryptedContainer new_container(const std::string& label, uint64_t bytes, const KeyProvider& provider,
                                 uint32_t chunk_bytes = default_chunk_bytes) {
    auto cipher = find_cipher(container_cipher);
    return {key_for(*cipher, provider, {label, container_cipher, {}}), bytes, chunk_bytes};
}

// MegEngine's formats are one piece.
void rekey_in_memory(const std::string& in, const std::string& out, const FileCipher& from,
                     const FileCipher& to) {
    SecretBytes content = decrypt_to_memory(in, from);
    if (to.name != container_cipher) return write_bare(out, in, content, to);
    auto container = new_container(out, content.size(), to.key);
    write_container(out, container, [&](uint64_t chunk, std::span<std::byte> plain) {
        std::ranges::copy(content.span().subspan(container.plain_offset(chunk), plain.size()), plain.data());
    });
}

}  // namespace

SecretBytes decrypt_to_memory(const std::string& path, const FileCipher& cipher) {
    InputFile file(path);
    if (cipher.name != container_cipher) return decrypt_to_memory(read_whole(file), path, cipher);
    ContainerFile source(file, cipher.key);
    auto& container = source.container();
    SecretBytes content(container.header().plain_bytes);
    for (uint64_t chunk = 0; chunk < container.chunk_count(); ++chunk)
        source.read(chunk,
                    content.span().subspan(container.plain_offset(chunk), container.plain_bytes(chunk)));
    return content;
}

SecretBytes decrypt_to_memory(std::span<const std::byte> file, const std::string& label,
                              const FileCipher& cipher) {
    check_kind(file, label, cipher.name);
    if (cipher.name != container_cipher) return decrypt_bare(file, label, cipher);
    auto header = read_encrypted_header(file, file.size(), label);
    return open_container(file, key_for(*find_cipher(cipher.name), cipher.key, key_request(header, label)),
                          label);
}

bool is_encrypted_file(const std::string& path) {
    InputFile file(path);
    FileStart start;
    return is_encrypted(read_start(file, start));
}

SecretBytes encrypt_in_memory(std::span<const std::byte> content, const std::string& label,
                              const FileCipher& wanted) {
    auto cipher = find_cipher(wanted.name);
    if (!cipher->encrypt) throw UserError(text("the cipher '", cipher->name, "' only decrypts"));
    return cipher->encrypt(content, key_for(*cipher, wanted.key, {label, cipher->name, {}}));
}

void encrypt_file(const std::string& in, const std::string& out, const FileCipher& cipher,
                  const CryptProgress& progress) {
    InputFile file(in);
    if (cipher.name != container_cipher) return write_bare(out, in, read_whole(file), cipher);
    auto container = new_container(out, file.bytes(), cipher.key);
    Meter meter(progress, file.bytes());
    write_container(out, container, [&](uint64_t chunk, std::span<std::byte> plain) {
        file.read(container.plain_offset(chunk), plain);
        meter.add(plain.size());
    });
}

void decrypt_file(const std::string& in, const std::string& out, const FileCipher& cipher,
                  const CryptProgress& progress) {
    if (cipher.name != container_cipher) {
        SecretBytes content = decrypt_to_memory(in, cipher);
        return write_file_atomically(
            out, [&](std::ostream& stream) { write(stream, content); }, FileReaders::owner);
    }
    InputFile file(in);
    ContainerFile source(file, cipher.key);
    auto& container = source.container();
    Meter meter(progress, 2 * container.header().plain_bytes);
    check_all(source, meter);
    auto write_chunks = [&](std::ostream& stream) {
        for (uint64_t chunk = 0; chunk < container.chunk_count(); ++chunk) {
            write(stream, source.read(chunk));
            meter.add(container.plain_bytes(chunk));
        }
    };
    write_file_atomically(out, write_chunks, FileReaders::owner);
}

void rekey_file(const std::string& in, const std::string& out, const FileCipher& from, const FileCipher& to,
                const CryptProgress& progress) {
    if (from.name != container_cipher || to.name != container_cipher)
        return rekey_in_memory(in, out, from, to);
    InputFile file(in);
    ContainerFile source(file, from.key);
    auto& header = source.container().header();
    Meter meter(progress, 2 * header.plain_bytes);
    check_all(source, meter);
    auto container = new_container(out, header.plain_bytes, to.key, header.chunk_bytes);
    write_container(out, container, [&](uint64_t chunk, std::span<std::byte> plain) {
        source.read(chunk, plain);
        meter.add(plain.size());
    });
}

}  // namespace mge
