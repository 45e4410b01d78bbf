// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/files/input_pipe.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include "libmge/base/error.h"
#include "libmge/base/files/file.h"
#include "libmge/base/files/file_limit.h"
#include "libmge/base/interruption.h"

namespace mge {
namespace {

using std::chrono::steady_clock;

[[noreturn]] void throw_pipe_error(const std::string& path, const char* action) {
    int code = errno;
    throw FileError(text("cannot ", action, " '", path, "': ", std::strerror(code)), code);
}

class PipeContent {
public:
    PipeContent() = default;
    explicit PipeContent(int fd) : fd_(fd) {}
    PipeContent(PipeContent&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    PipeContent& operator=(PipeContent&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~PipeContent() {
        if (fd_ >= 0) ::close(fd_);
    }
    int fd() const { return fd_; }

    // Opened anew, so that every reader begins at the first byte.
    int open(const std::string& path) const {
        int fresh = ::open(text("/proc/self/fd/", fd_).c_str(), O_RDONLY | O_CLOEXEC);
        if (fresh < 0) throw_pipe_error(path, "open what came from");
        return fresh;
    }

private:
    int fd_ = -1;
};

struct KeptPipe {
    dev_t device = 0;
    ino_t inode = 0;
    PipeContent content;
    bool is_being_read = false;
};
using PipeList = std::list<KeptPipe>;

KeptPipe* find_pipe(PipeList& pipes, const struct stat& info) {
    auto is_same = [&](const KeptPipe& pipe) {
        return pipe.device == info.st_dev && pipe.inode == info.st_ino;
    };
    auto found = std::ranges::find_if(pipes, is_same);
    return found == pipes.end() ? nullptr : &*found;
}

// True if a process writes to the pipe, or has written.
bool wait_for_writer(int fd, steady_clock::time_point end) {
    pollfd waiting{fd, POLLIN, 0};
    return wait_for_events({&waiting, 1}, end) > 0;
}

void copy_pipe(int from, int to, const std::string& path) {
    FileBudget budget(path, 0);
    std::vector<char> part(size_t(1) << 16);
    for (;;) {
        ssize_t n = ::read(from, part.data(), part.size());
        if (n < 0 && errno == EAGAIN) {
            wait_for_writer(from, steady_clock::now() + std::chrono::hours(1));
            continue;
        }
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw_pipe_error(path, "read");
        if (n == 0) return;
        budget.take(uint64_t(n));
        for (ssize_t done = 0; done < n;) {
            ssize_t written = ::write(to, part.data() + done, size_t(n - done));
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) throw_pipe_error(path, "keep what came from");
            done += written;
        }
    }
}

PipeContent read_pipe(int fd, const std::string& path) {
    // The reader may be a moment ahead of the writer.
    if (!wait_for_writer(fd, steady_clock::now() + std::chrono::seconds(1)))
        throw UserError(text("cannot read '", path, "': it is a pipe without a writer"));
    PipeContent content(::memfd_create("mge_input", MFD_CLOEXEC));
    if (content.fd() < 0) throw_pipe_error(path, "keep what comes from");
    copy_pipe(fd, content.fd(), path);
    return content;
}

// Pipes of this thread's scopes.
struct NamedPipes {
    int scopes = 0;
    PipeList pipes;
};
thread_local NamedPipes named_pipes;

int content_of_named(int fd, const struct stat& info, const std::string& path) {
    if (auto* pipe = find_pipe(named_pipes.pipes, info)) return pipe->content.open(path);
    PipeContent content = read_pipe(fd, path);
    int fresh = content.open(path);
    if (named_pipes.scopes > 0)
        named_pipes.pipes.push_back({info.st_dev, info.st_ino, std::move(content), false});
    return fresh;
}

struct AnonymousPipes {
    std::mutex mutex;  // is not held while a pipe is read
    PipeList pipes;
};

AnonymousPipes& anonymous_pipes() {
    static AnonymousPipes pipes;
    return pipes;
}

int content_of_anonymous(int fd, const struct stat& info, const std::string& path) {
    AnonymousPipes& all = anonymous_pipes();
    std::unique_lock lock(all.mutex);
    KeptPipe* pipe = nullptr;
    while ((pipe = find_pipe(all.pipes, info)) && pipe->is_being_read) {
        lock.unlock();
        wait_for_events({}, steady_clock::now() + std::chrono::milliseconds(20));
        lock.lock();
    }
    if (!pipe) {
        all.pipes.push_back({info.st_dev, info.st_ino, {}, true});
        auto mine = std::prev(all.pipes.end());
        lock.unlock();
        try {
            PipeContent content = read_pipe(fd, path);
            lock.lock();
            mine->content = std::move(content);
        } catch (...) {
            if (!lock) lock.lock();
            all.pipes.erase(mine);
            throw;
        }
        mine->is_being_read = false;
        pipe = &*mine;
    }
    return pipe->content.open(path);
}

bool is_anonymous(int fd) {
    struct statfs system {};
    return ::fstatfs(fd, &system) == 0 && system.f_type == PIPEFS_MAGIC;
}

}  // namespace

PipeScope::PipeScope() { ++named_pipes.scopes; }

PipeScope::~PipeScope() {
    if (--named_pipes.scopes == 0) named_pipes.pipes.clear();
}

int content_of_pipe(int fd, const struct stat& info, const std::string& path) {
    return is_anonymous(fd) ? content_of_anonymous(fd, info, path) : content_of_named(fd, info, path);
}

}  // namespace mge
