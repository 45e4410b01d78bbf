// SPDX-License-Identifier: Apache-2.0
#include "tests/harness/edge_memory.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>

namespace mge::test {
namespace {

constexpr int unwritten = 0xff;
constexpr size_t workspace_alignment = 64;

size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

// Pages of which only the last must not be touched.
class Pages {
public:
    explicit Pages(size_t usable) : size_(usable + page()) {
        base_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base_ == MAP_FAILED) throw std::bad_alloc();
        if (::mprotect(base() + usable, page(), PROT_NONE) != 0) throw std::bad_alloc();
    }
    Pages(const Pages&) = delete;
    ~Pages() {
        ASAN_UNPOISON_MEMORY_REGION(base_, size_);
        ::munmap(base_, size_);
    }
    std::byte* base() const { return static_cast<std::byte*>(base_); }
    static size_t page() { return size_t(::sysconf(_SC_PAGESIZE)); }

private:
    size_t size_;
    void* base_;
};

}  // namespace

StorageRef edge_storage(size_t bytes, size_t alignment) {
    size_t taken = round_up(bytes, alignment), usable = round_up(taken, Pages::page());
    auto pages = std::make_shared<Pages>(usable);
    std::byte* data = pages->base() + (usable - taken);
    std::memset(pages->base(), unwritten, usable);
    ASAN_POISON_MEMORY_REGION(pages->base(), usable - taken);
    return borrow_storage(data, bytes, std::move(pages));
}

StorageRef edge_workspace(size_t bytes) { return edge_storage(bytes, workspace_alignment); }

Tensor edge_tensor(const TensorSpec& spec) { return Tensor(spec, edge_storage(spec.bytes())); }

Tensor edge_copy(const Tensor& tensor) {
    Tensor copy = edge_tensor(tensor.spec());
    if (size_t bytes = tensor.spec().bytes()) std::memcpy(copy.data(), tensor.data(), bytes);
    return copy;
}

}  // namespace mge::test
