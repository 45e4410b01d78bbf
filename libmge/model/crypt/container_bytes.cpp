// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/crypt/container_bytes.h"

#include <algorithm>

namespace mge {

SecretBytes seal_container(std::span<const std::byte> content, std::span<const std::byte> key) {
    EncryptedContainer container(key, content.size());
    SecretBytes file(container.file_bytes());
    std::ranges::copy(container.sealed_header(), file.data());
    for (uint64_t chunk = 0; chunk < container.chunk_count(); ++chunk)
        container.seal(chunk, content.subspan(container.plain_offset(chunk), container.plain_bytes(chunk)),
                       file.span().subspan(container.sealed_offset(chunk), container.sealed_bytes(chunk)));
    return file;
}

SecretBytes open_container(std::span<const std::byte> file, std::span<const std::byte> key,
                           const std::string& label) {
    EncryptedContainer container(key, file, file.size(), label);
    SecretBytes content(container.header().plain_bytes);
    for (uint64_t chunk = 0; chunk < container.chunk_count(); ++chunk)
        container.open(chunk, file.subspan(container.sealed_offset(chunk), container.sealed_bytes(chunk)),
                       content.span().subspan(container.plain_offset(chunk), container.plain_bytes(chunk)));
    return content;
}

}  // namespace mge
