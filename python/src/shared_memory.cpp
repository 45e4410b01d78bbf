// SPDX-License-Identifier: Apache-2.0
#include "python/src/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "libmge/base/error.h"
#include "libmge/eager/written_elsewhere.h"

namespace mge::python {
namespace {

struct SharedStorage : Storage {
    int descriptor = -1;
    WrittenElsewhere written_elsewhere;
};

void release_shared(Storage* storage) {
    std::unique_ptr<SharedStorage> shared(static_cast<SharedStorage*>(storage));
    munmap(shared->data, shared->bytes);
    ::close(shared->descriptor);
}

[[noreturn]] void throw_refused(size_t bytes) {
    throw_user("share_memory", text("no ", bytes, " bytes of shared memory: ", std::strerror(errno)));
}

// Writing is faster than copying into a mapping, whose pages would be cleared first.
bool write_all(int descriptor, const void* data, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        ssize_t count = pwrite(descriptor, static_cast<const char*>(data) + done, bytes - done, off_t(done));
        if (count < 0 && errno != EINTR) return false;
        if (count > 0) done += size_t(count);
    }
    return true;
}

// Always takes ownership of the descriptor.
StorageRef map(int descriptor, size_t bytes) {
    auto storage = std::make_unique<SharedStorage>();
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (data == MAP_FAILED) {
        ::close(descriptor);
        throw_refused(bytes);
    }
    storage->data = data;
    storage->bytes = bytes;
    storage->release = release_shared;
    storage->descriptor = descriptor;
    storage->written_elsewhere = WrittenElsewhere(storage.get());
    return StorageRef(storage.release());
}

}  // namespace

StorageRef make_shared_memory(const void* data, size_t bytes) {
    size_t size = std::max<size_t>(bytes, 1);
    int descriptor = memfd_create("megengine", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) throw_refused(size);
    // Sealed, so that no process can truncate it.
    bool is_made = ftruncate(descriptor, off_t(size)) == 0 && write_all(descriptor, data, bytes) &&
                   fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
    if (!is_made) {
        ::close(descriptor);
        throw_refused(size);
    }
    return map(descriptor, size);
}

StorageRef open_shared_memory(int descriptor, size_t bytes) {
    struct stat about;
    if (bytes == 0 || fstat(descriptor, &about) != 0 || size_t(about.st_size) < bytes) {
        ::close(descriptor);
        throw_user("share_memory", text("the descriptor holds no ", bytes, " bytes of shared memory"));
    }
    return map(descriptor, bytes);
}

int descriptor_of(const Storage& storage) {
    return storage.release == release_shared ? static_cast<const SharedStorage&>(storage).descriptor : -1;
}

}  // namespace mge::python
