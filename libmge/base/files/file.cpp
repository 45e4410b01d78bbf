// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/files/file.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <streambuf>
#include <utility>
#include <vector>

#include "libmge/base/env.h"
#include "libmge/base/error.h"
#include "libmge/base/files/input_pipe.h"
#include "libmge/base/files/mapped_range.h"
#include "libmge/base/files/pages.h"
#include "libmge/base/interruption.h"
#include "libmge/base/log.h"
#include "libmge/base/numbers/ceil_div.h"

namespace mge {
namespace {

using std::chrono::steady_clock;

[[noreturn]] void throw_system(const std::string& path, const char* action) {
    int code = errno;
    std::string message = text("cannot ", action, " '", path, "': ", std::strerror(code));
    if (code == ENOMEM) throw MemoryError(message);
    throw FileError(message, code);
}

struct Descriptor {
    int fd = -1;
    ~Descriptor() {
        if (fd >= 0) ::close(fd);
    }
};

// The target of a chain of symbolic links, which need not exist.
std::string resolve_links(const std::string& path) {
    constexpr int longest_chain = 40;  // as the system follows
    std::filesystem::path at = path;
    std::error_code error;
    for (int i = 0; std::filesystem::is_symlink(at, error); ++i) {
        if (i == longest_chain) throw UserError(text("cannot create '", path, "': its links lead nowhere"));
        at = at.parent_path() / std::filesystem::read_symlink(at, error);  // an absolute target replaces the
                                                                           // path
    }
    return at;
}

std::string folder_of(const std::string& path) {
    size_t slash = path.rfind('/');
    return slash == path.npos ? "./" : path.substr(0, slash + 1);
}

// A random name in the target's folder.
std::string unguessable_name(const std::string& target) {
    std::array<uint8_t, 12> random;
    for (size_t got = 0; got < random.size();) {
        ssize_t n = ::getrandom(random.data() + got, random.size() - got, 0);
        if (n < 0 && errno != EINTR) throw_system(target, "draw a random name for");
        got += size_t(std::max<ssize_t>(n, 0));
    }
    std::string name = folder_of(target) + ".part.";
    for (uint8_t byte : random) {
        name += "0123456789abcdef"[byte >> 4];
        name += "0123456789abcdef"[byte & 15];
    }
    return name;
}

// Writes to a descriptor. Errors name the path.
class DescriptorBuffer : public std::streambuf {
public:
    explicit DescriptorBuffer(int fd) : fd_(fd) {
        struct stat info {};
        may_block_ = ::fstat(fd, &info) == 0 && !S_ISREG(info.st_mode);
        setp(buffer_.data(), buffer_.data() + buffer_.size());
    }
    // Rethrows the exception that interrupted a wait, which a stream would swallow.
    void rethrow() const {
        if (interruption_) std::rethrow_exception(interruption_);
    }
    int code() const { return code_; }  // errno of the failed write

protected:
    int overflow(int c) override {
        if (!flush()) return traits_type::eof();
        if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
        return traits_type::not_eof(c);
    }
    std::streamsize xsputn(const char* data, std::streamsize n) override {
        if (n < epptr() - pptr()) return std::streambuf::xsputn(data, n);
        return flush() && write_all(data, size_t(n)) ? n : 0;
    }
    int sync() override { return flush() ? 0 : -1; }

private:
    bool flush() {
        bool is_written = write_all(pbase(), size_t(pptr() - pbase()));
        setp(buffer_.data(), buffer_.data() + buffer_.size());
        return is_written;
    }
    bool write_all(const char* data, size_t n) {
        while (n > 0) {
            size_t part = may_block_ ? wait_until_writable(n) : n;
            if (part == 0) return false;
            ssize_t done = ::write(fd_, data, part);
            if (done < 0 && errno == EINTR) continue;
            if (done < 0) code_ = errno;
            if (done <= 0) return false;
            data += done;
            n -= size_t(done);
        }
        return true;
    }

    // Returns how many of `n` bytes a pipe accepts at once: its reader may be slow. Returns 0 after an
    // interruption.
    size_t wait_until_writable(size_t n) {
        try {
            pollfd waiting{fd_, POLLOUT, 0};
            auto is_ready = [&] {
                return wait_for_events({&waiting, 1}, steady_clock::now() + std::chrono::hours(1)) > 0;
            };
            while (!interruption_ && !is_ready()) continue;
        } catch (...) {
            interruption_ = std::current_exception();
        }
        return interruption_ ? 0 : std::min(n, size_t(PIPE_BUF));
    }

    int fd_, code_ = 0;
    bool may_block_ = false;
    std::exception_ptr interruption_;
    std::vector<char> buffer_ = std::vector<char>(65536);  // not on a small stack
};

// Opening a pipe would block forever if the other end is never opened.
int open_without_waiting(const std::string& path) {
    int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) throw_system(path, "open");
    return fd;
}

// Reads from the beginning. Returns the number of bytes, which is smaller if the file is truncated meanwhile.
size_t read_all(int fd, char* to, size_t bytes, const std::string& path) {
    for (size_t at = 0; at < bytes;) {
        ssize_t n = ::pread(fd, to + at, bytes - at, off_t(at));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw_system(path, "read");
        if (n == 0) return at;
        at += size_t(n);
    }
    return bytes;
}

// A device or a pipe: a rename would replace it by a file.
bool is_special(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

// Keeps errno.
bool is_pipe(const std::string& path) {
    struct stat info {};
    int code = errno;
    bool result = ::stat(path.c_str(), &info) == 0 && S_ISFIFO(info.st_mode);
    errno = code;
    return result;
}

// Opens the writing end of a pipe, or a device. A pipe's reader may be a moment behind the writer.
int open_special(const std::string& path) {
    constexpr auto longest = std::chrono::seconds(2);
    auto end = steady_clock::now() + longest;
    for (;;) {
        int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd >= 0) {
            ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
            return fd;
        }
        if (errno != ENXIO || !is_pipe(path)) throw_system(path, "create");
        if (steady_clock::now() >= end)
            throw UserError(text("cannot write '", path, "': it is a pipe without a reader"));
        wait_for_events({}, steady_clock::now() + std::chrono::milliseconds(20));
    }
}

}  // namespace

int open_input(const std::string& path) {
    Descriptor file{open_without_waiting(path)};
    struct stat info {};
    if (::fstat(file.fd, &info) != 0) throw_system(path, "examine");
    if (S_ISREG(info.st_mode)) return std::exchange(file.fd, -1);
    if (S_ISFIFO(info.st_mode)) return content_of_pipe(file.fd, info, path);
    throw UserError(text("cannot read '", path, "': it is not a regular file or a pipe"));
}

std::string read_text(const std::string& path) {
    Descriptor file{open_input(path)};
    struct stat info {};
    if (::fstat(file.fd, &info) != 0) throw_system(path, "examine");
    std::string content(size_t(info.st_size), '\0');
    content.resize(read_all(file.fd, content.data(), content.size(), path));
    return content;
}

// The identity of the file, and of its mapping.
struct MappedFile::Identity {
    struct stat info {};
    bool is_same_file(const struct stat& now) const {
        return now.st_dev == info.st_dev && now.st_ino == info.st_ino;
    }
    bool was_written(const struct stat& now) const {
        return now.st_mtim.tv_sec != info.st_mtim.tv_sec || now.st_mtim.tv_nsec != info.st_mtim.tv_nsec;
    }
};

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {}

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path, FileAccess access) {
    Descriptor file{open_input(path)};
    auto identity = std::make_unique<Identity>();
    if (::fstat(file.fd, &identity->info) != 0) throw_system(path, "examine");
    auto size = size_t(identity->info.st_size);
    // Constructs the owner of the mapping first, so that it is unmapped after any failure.
    std::shared_ptr<MappedFile> mapped(new MappedFile(path));
    mapped->identity_ = std::move(identity);
    if (size == 0) return mapped;
    bool is_copied = access == FileAccess::copied || env_string("MGE_MAP_FILES") == "0";
    // Pages come as they are read, by whichever thread reads them.
    void* data = is_copied ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                           : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (data == MAP_FAILED) throw_system(path, "map");
    mapped->bytes_ = {static_cast<const std::byte*>(data), size};
    if (is_copied) {
        if (read_all(file.fd, static_cast<char*>(data), size, path) < size)
            throw ModelError(text("'", path, "' was cut while it was read"));
        return mapped;
    }
    mapped->range_ = &add_mapped_range(mapped->bytes_.data(), size, mapped.get());
    return mapped;
}

MappedFile::~MappedFile() {
    if (bytes_.empty()) return;
    if (range_) remove_mapped_range(*range_);
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

const MappedFile* MappedFile::of(const void* data) {
    auto* range = mapped_range_of(data);
    return range ? range->file.load() : nullptr;
}

bool MappedFile::is_cut() const { return range_ && range_->is_cut; }

// A file that took its place leaves the mapped one as it is.
void MappedFile::require_whole() const {
    struct stat now {};
    bool is_there = ::stat(path_.c_str(), &now) == 0 && identity_->is_same_file(now);
    if (is_cut() || (is_there && now.st_size < identity_->info.st_size))
        throw ModelError(text("'", path_, "' was cut while it was in use: of ", bytes_.size(), " bytes ",
                              is_there ? text(now.st_size, " are") : "not all are",
                              " left; load the whole file again, and replace files in use by renaming"));
    if (is_there && identity_->was_written(now))
        log_warning(text("'", path_,
                         "' was written to while it is in use, so that results may be wrong; load "
                         "it again, and replace files in use by renaming"));
}

int cut_files() { return cut_ranges(); }

bool is_mapped(const void* data) { return mapped_range_of(data); }

std::span<std::byte> whole_pages(std::span<const std::byte> bytes) {
    const uintptr_t page = page_size();
    auto begin = reinterpret_cast<uintptr_t>(bytes.data()), end = begin + bytes.size();
    begin = round_up(begin, page);
    end = end / page * page;
    return {reinterpret_cast<std::byte*>(begin), begin < end ? end - begin : 0};
}

bool release_pages(std::span<const std::byte> bytes) {
    if (!is_mapped(bytes.data())) return false;
    auto pages = whole_pages(bytes);
    if (pages.empty()) return true;
    // The mapping is private and never written, so the file has the content of dropped pages. As huge pages
    // they would be read again with any neighbour.
    ::madvise(pages.data(), pages.size(), MADV_DONTNEED);
    ::madvise(pages.data(), pages.size(), MADV_NOHUGEPAGE);
    return true;
}

NewFile::NewFile(const std::string& path, FileReaders readers, Replace replace, Unopened)
    : path_(path), readers_(readers), replace_(replace), is_special_(is_special(path)) {}

// Later failures leak no descriptor: the object is complete, and its destructor runs.
NewFile::NewFile(const std::string& path, FileReaders readers, Replace replace)
    : NewFile(path, readers, replace, Unopened{}) {
    if (is_special_) {
        descriptor_ = open_special(path);
        return;
    }
    target_ = replace == Replace::yes ? resolve_links(path) : path;
    unsigned mode = readers == FileReaders::owner ? S_IRUSR | S_IWUSR : 0666;
    if (!open_nameless(mode)) open_named(mode);
}

NewFile::~NewFile() {
    if (is_named_) ::unlink(temporary_.c_str());
    if (descriptor_ >= 0) ::close(descriptor_);
}

// It gets its name through /proc.
bool NewFile::open_nameless(unsigned mode) {
    descriptor_ = ::open(folder_of(target_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    if (descriptor_ >= 0 && ::access(link().c_str(), W_OK) == 0) return true;
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
    return false;
}

void NewFile::open_named(unsigned mode) {
    temporary_ = unguessable_name(target_);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (descriptor_ < 0) throw_system(path_, "create");
    is_named_ = true;
}

std::string NewFile::link() const { return text("/proc/self/fd/", descriptor_); }

// New content is for those that the old was for.
void NewFile::keep_mode() {
    struct stat old {};
    if (readers_ == FileReaders::anyone && ::stat(target_.c_str(), &old) == 0)
        (void)!::fchmod(descriptor_, old.st_mode & 0777);
}

// The name must not exist, not even as a dangling link.
void NewFile::give_new_name() {
    const char* source = temporary_.c_str();
    std::string nameless = link();
    if (!is_named_) {
        if (::linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, target_.c_str(), AT_SYMLINK_FOLLOW) != 0)
            throw_system(path_, "create");
        return;
    }
    // Not every C library has a function for this call of Linux.
    if (::syscall(SYS_renameat2, AT_FDCWD, source, AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) == 0) {
        is_named_ = false;
        return;
    }
    // Some file systems do not support such a rename; the destructor removes the first name.
    if (errno != EINVAL || ::link(source, target_.c_str()) != 0) throw_system(path_, "create");
}

void NewFile::give_name() {
    if (!is_named_) {
        temporary_ = unguessable_name(target_);
        if (::linkat(AT_FDCWD, link().c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0)
            throw_system(path_, "name");
        is_named_ = true;
    }
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) throw_system(path_, "replace");
    is_named_ = false;
}

void NewFile::finish(Durable durable) {
    if (is_special_) return;
    if (durable == Durable::yes && ::fsync(descriptor_) != 0) throw_system(path_, "flush");
    if (replace_ == Replace::no) return give_new_name();
    keep_mode();
    give_name();
}

void write_file_atomically(const std::string& path, const std::function<void(std::ostream&)>& write,
                           FileReaders readers, Replace replace, Durable durable) {
    if (path == "-")
        throw UserError("cannot write to '-': it is not a file; for a file of that name use './-'");
    const int cut_before = cut_files();
    NewFile file(path, readers, replace);
    DescriptorBuffer buffer(file.descriptor());
    std::ostream stream(&buffer);
    stream.imbue(std::locale::classic());  // the locale of all readers
    write(stream);
    stream.flush();
    buffer.rethrow();
    if (!stream) {
        errno = buffer.code();
        throw_system(path, "write");
    }
    if (cut_files() > cut_before)
        throw ModelError(text("cannot write '", path, "': a file that it is made of was cut meanwhile"));
    file.finish(durable);
}

}  // namespace mge
