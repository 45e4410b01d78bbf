// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

#include "libmge/base/api.h"

namespace mge {

// Bytes that must not outlive their use: keys and decrypted content. They have their own pages, are excluded
// from core dumps and wiped before they are freed; short ones (keys) are also locked in memory if the system
// allows it. Movable only, to prevent accidental copies.
class MGE_API SecretBytes {
public:
    SecretBytes() = default;
    explicit SecretBytes(size_t size);  // zeros; MemoryError if out of memory
    explicit SecretBytes(std::span<const std::byte> content);
    ~SecretBytes();
    SecretBytes(SecretBytes&& other) noexcept;
    SecretBytes& operator=(SecretBytes&& other) noexcept;

    std::byte* data() { return data_; }
    const std::byte* data() const { return data_; }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    std::span<std::byte> span() { return {data_, size_}; }
    std::span<const std::byte> span() const { return {data_, size_}; }
    operator std::span<const std::byte>() const { return span(); }

    SecretBytes copy() const { return SecretBytes(span()); }
    // Wipes the removed part. `size` is at most the current size.
    void shrink(size_t size);

private:
    void release();
    std::byte* data_ = nullptr;
    size_t size_ = 0, mapped_ = 0;
};

// Overwrites memory in a way that the compiler cannot remove.
MGE_API void wipe(std::span<std::byte> memory);

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
inline std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace mge
