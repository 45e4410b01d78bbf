// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "libmge/base/error.h"

namespace mge {
namespace {

[[noreturn]] void throw_system(const std::string& path, const char* action) {
    int code = errno;
    throw UserError(text("cannot ", action, " '", path, "': ", std::strerror(code)));
}

struct Descriptor {
    int fd;
    ~Descriptor() {
        if (fd >= 0) ::close(fd);
    }
};

struct TemporaryFile {
    std::string path;
    bool kept = false;
    ~TemporaryFile() {
        if (!kept) ::unlink(path.c_str());
    }
};

void flush_to_disk(const std::string& path) {
    Descriptor file{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
    if (file.fd < 0 || ::fsync(file.fd) != 0) throw_system(path, "flush");
}

void write_stream(const std::string& path, const std::function<void(std::ostream&)>& write) {
    std::ofstream stream(path, std::ios::binary | std::ios::trunc);
    if (!stream) throw_system(path, "create");
    write(stream);
    stream.flush();
    if (!stream) throw_system(path, "write");
}

// Empty and private before anything is written to it.
void create_for_owner(const std::string& path) {
    ::unlink(path.c_str());  // what a killed process of the same number left
    Descriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR)};
    if (file.fd < 0) throw_system(path, "create");
}

// A device or a pipe: there is nothing to keep whole, and renaming would replace it by a file.
bool is_special(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
    Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (file.fd < 0) throw_system(path, "open");
    struct stat info {};
    if (::fstat(file.fd, &info) != 0) throw_system(path, "examine");
    if (!S_ISREG(info.st_mode)) throw UserError(text("cannot read '", path, "': it is not a regular file"));
    auto size = size_t(info.st_size);
    if (size == 0) return std::shared_ptr<const MappedFile>(new MappedFile(path, {}));
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file.fd, 0);
    if (data == MAP_FAILED) throw_system(path, "map");
    return std::shared_ptr<const MappedFile>(
        new MappedFile(path, {static_cast<const std::byte*>(data), size}));
}

MappedFile::~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void write_file_atomically(const std::string& path, const std::function<void(std::ostream&)>& write,
                           FileReaders readers) {
    if (is_special(path)) return write_stream(path, write);
    TemporaryFile temporary{text(path, ".part.", ::getpid())};
    if (readers == FileReaders::owner) create_for_owner(temporary.path);
    write_stream(temporary.path, write);
    flush_to_disk(temporary.path);
    if (::rename(temporary.path.c_str(), path.c_str()) != 0) throw_system(path, "replace");
    temporary.kept = true;
}

}  // namespace mge
