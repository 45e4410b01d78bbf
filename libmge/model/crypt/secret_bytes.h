// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

#include "libmge/base/api.h"

namespace mge {

// Bytes that must not outlive their use: keys and decrypted content. Page-aligned memory of their own, left
// out of core dumps, wiped before it goes back to the system; short ones (keys) are kept out of swap as well
// where the system allows it. Moves, never copies by accident.
class MGE_API SecretBytes {
public:
    SecretBytes() = default;
    explicit SecretBytes(size_t size);  // zeros; MemoryError when there is no memory
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
    // Wipes what is cut off. `size` is at most the present size.
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
