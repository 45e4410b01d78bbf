// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/crypt/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "libmge/base/error.h"

namespace mge {
namespace {

std::string reason(int code) { return std::strerror(code); }

}  // namespace

InputFile::InputFile(std::string path) : path_(std::move(path)) {
    // Opening a pipe that nobody writes to would wait for ever.
    fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd_ < 0) throw UserError(text("cannot open '", path_, "': ", reason(errno)));
    struct stat info {};
    bool known = ::fstat(fd_, &info) == 0;
    int code = errno;
    if (known && S_ISREG(info.st_mode)) {
        bytes_ = uint64_t(info.st_size);
        return;
    }
    ::close(fd_);
    throw UserError(text("cannot read '", path_, "': ", known ? "it is not a regular file" : reason(code)));
}

InputFile::~InputFile() { ::close(fd_); }

void InputFile::read(uint64_t offset, std::span<std::byte> part) const {
    while (!part.empty()) {
        ssize_t got = ::pread(fd_, part.data(), part.size(), off_t(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw UserError(text("cannot read '", path_, "': ", reason(errno)));
        if (got == 0) throw UserError(text("cannot read '", path_, "': it became shorter meanwhile"));
        part = part.subspan(size_t(got));
        offset += uint64_t(got);
    }
}

}  // namespace mge
