// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/crypt/secret_bytes.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "libmge/base/error.h"
#include "libmge/base/files/pages.h"

namespace mge {
namespace {

// Locking is for keys: a process may lock only little, and a model is too large for it.
constexpr size_t locked_limit = 16384;

}  // namespace

SecretBytes::SecretBytes(size_t size) : size_(size) {
    if (size == 0) return;
    mapped_ = round_up_to_pages(size);
    void* memory = mapped_ < size
                       ? MAP_FAILED
                       : ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw MemoryError(text("there is not enough memory for ", size, " bytes of decrypted content"));
    data_ = static_cast<std::byte*>(memory);
    ::madvise(memory, mapped_, MADV_DONTDUMP);
    if (size <= locked_limit) ::mlock(memory, mapped_);  // if refused, the key may be swapped to disk
}

SecretBytes::SecretBytes(std::span<const std::byte> content) : SecretBytes(content.size()) {
    std::ranges::copy(content, data_);
}

SecretBytes::~SecretBytes() { release(); }

SecretBytes::SecretBytes(SecretBytes&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, 0)) {}

SecretBytes& SecretBytes::operator=(SecretBytes&& other) noexcept {
    if (this == &other) return *this;
    release();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    mapped_ = std::exchange(other.mapped_, 0);
    return *this;
}

void SecretBytes::shrink(size_t size) {
    MGE_CHECK(size <= size_);
    wipe(span().subspan(size));
    size_ = size;
}

void SecretBytes::release() {
    if (!data_) return;
    wipe(span());
    ::munmap(data_, mapped_);
    data_ = nullptr;
}

void wipe(std::span<std::byte> memory) {
    if (memory.empty()) return;
    std::memset(memory.data(), 0, memory.size());
    asm volatile("" : : "r"(memory.data()) : "memory");  // somebody may look at it: the zeros are written
}

}  // namespace mge
