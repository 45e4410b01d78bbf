// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "libmge/base/error.h"
#include "libmge/base/pages.h"
#include "libmge/base/per_process.h"

namespace mge {
namespace {

[[noreturn]] void throw_system(const std::string& path, const char* action) {
    int code = errno;
    std::string message = text("cannot ", action, " '", path, "': ", std::strerror(code));
    if (code == ENOMEM) throw MemoryError(message);
    throw UserError(message);
}

struct Descriptor {
    int fd;
    ~Descriptor() {
        if (fd >= 0) ::close(fd);
    }
};

// What a chain of symbolic links leads to, whether it is there or not.
std::string behind_links(const std::string& path) {
    constexpr int longest_chain = 40;  // as the system follows
    std::filesystem::path at = path;
    std::error_code error;
    for (int i = 0; std::filesystem::is_symlink(at, error); ++i) {
        if (i == longest_chain) throw UserError(text("cannot create '", path, "': its links lead nowhere"));
        at = at.parent_path() / std::filesystem::read_symlink(at, error);  // an absolute one stands alone
    }
    return at;
}

// A new file that gets its name when it is whole. Until then it has none, so that nothing is left of it when
// the process dies; where the file system has no such files, or /proc is missing, it has another name.
class NewFile {
public:
    NewFile(const std::string& path, FileReaders readers)
        : path_(path),
          target_(behind_links(path)),
          temporary_(text(target_, ".part.", ::getpid())),
          readers_(readers) {
        mode_t mode = readers == FileReaders::owner ? S_IRUSR | S_IWUSR : 0666;
        ::unlink(temporary_.c_str());  // what a killed process of the same number left
        size_t slash = target_.rfind('/');
        std::string folder = slash == target_.npos ? "." : target_.substr(0, slash + 1);
        file_.fd = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
        if (file_.fd >= 0 && ::access(link().c_str(), W_OK) == 0) return;
        if (file_.fd >= 0) ::close(file_.fd);
        file_.fd = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (file_.fd < 0) throw_system(path_, "create");
        is_named_ = true;
    }
    ~NewFile() {
        if (is_named_) ::unlink(temporary_.c_str());
    }
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    // Where it can be opened.
    std::string link() const { return text("/proc/self/fd/", file_.fd); }
    std::string place() const { return is_named_ ? temporary_ : link(); }

    // On the disk, and under its name.
    void finish() {
        if (::fsync(file_.fd) != 0) throw_system(path_, "flush");
        keep_mode();
        if (!is_named_ &&
            ::linkat(AT_FDCWD, link().c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0)
            throw_system(path_, "name");
        is_named_ = true;
        if (::rename(temporary_.c_str(), target_.c_str()) != 0) throw_system(path_, "replace");
        is_named_ = false;
    }

private:
    // New content is for those that the old was for.
    void keep_mode() {
        struct stat old {};
        if (readers_ == FileReaders::anyone && ::stat(target_.c_str(), &old) == 0)
            (void)!::fchmod(file_.fd, old.st_mode & 0777);
    }

    std::string path_, target_, temporary_;
    FileReaders readers_;
    Descriptor file_{-1};
    bool is_named_ = false;
};

// The files that are mapped now: first byte → end.
struct Mappings {
    std::mutex mutex;
    std::map<const std::byte*, const std::byte*> ends;

    bool holds(const std::byte* data) const {
        auto it = ends.upper_bound(data);
        return it != ends.begin() && data < std::prev(it)->second;
    }
};

Mappings& mappings() {
    static PerProcess<Mappings> tables([](Mappings* of_parent) {
        auto table = std::make_unique<Mappings>();
        if (!of_parent) return table;
        std::unique_lock lock(of_parent->mutex, std::try_to_lock);
        if (lock.owns_lock()) table->ends = of_parent->ends;
        return table;
    });
    return tables.get();
}

// `path` is what errors name.
void write_stream(const std::string& place, const std::string& path,
                  const std::function<void(std::ostream&)>& write) {
    std::ofstream stream(place, std::ios::binary | std::ios::trunc);
    if (!stream) throw_system(path, "create");
    write(stream);
    stream.flush();
    if (!stream) throw_system(path, "write");
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
    // First what holds the mapping: it is given back whatever fails.
    std::shared_ptr<MappedFile> mapped(new MappedFile(path));
    if (size == 0) return mapped;
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file.fd, 0);
    if (data == MAP_FAILED) throw_system(path, "map");
    auto* first = static_cast<const std::byte*>(data);
    mapped->bytes_ = {first, size};
    Mappings& table = mappings();
    std::lock_guard lock(table.mutex);
    table.ends[first] = first + size;
    return mapped;
}

MappedFile::~MappedFile() {
    if (bytes_.empty()) return;
    Mappings& table = mappings();
    std::lock_guard lock(table.mutex);
    table.ends.erase(bytes_.data());
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

bool is_mapped(const void* data) {
    Mappings& table = mappings();
    std::lock_guard lock(table.mutex);
    return table.holds(static_cast<const std::byte*>(data));
}

std::span<std::byte> whole_pages(std::span<const std::byte> bytes) {
    const uintptr_t page = page_size();
    auto begin = reinterpret_cast<uintptr_t>(bytes.data()), end = begin + bytes.size();
    begin = (begin + page - 1) / page * page;
    end = end / page * page;
    return {reinterpret_cast<std::byte*>(begin), begin < end ? end - begin : 0};
}

bool release_pages(std::span<const std::byte> bytes) {
    if (!is_mapped(bytes.data())) return false;
    auto pages = whole_pages(bytes);
    if (pages.empty()) return true;
    // A private mapping that nobody writes to: what is dropped lies in the file. As huge pages they would
    // come back with any neighbour that is read.
    ::madvise(pages.data(), pages.size(), MADV_DONTNEED);
    ::madvise(pages.data(), pages.size(), MADV_NOHUGEPAGE);
    return true;
}

void write_file_atomically(const std::string& path, const std::function<void(std::ostream&)>& write,
                           FileReaders readers) {
    if (path == "-") throw UserError("cannot write to '-': it is no file; one of that name is './-'");
    if (is_special(path)) return write_stream(path, path, write);
    NewFile file(path, readers);
    write_stream(file.place(), path, write);
    file.finish();
}

}  // namespace mge
