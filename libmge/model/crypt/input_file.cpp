// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/crypt/input_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "libmge/base/error.h"
#include "libmge/base/files/file.h"

namespace mge {
namespace {

std::string reason(int code) { return std::strerror(code); }

}  // namespace

InputFile::InputFile(std::string path) : path_(std::move(path)), fd_(open_input(path_)) {
    struct stat info {};
    if (::fstat(fd_, &info) == 0) {
        bytes_ = uint64_t(info.st_size);
        return;
    }
    int code = errno;
    ::close(fd_);
    throw UserError(text("cannot read '", path_, "': ", reason(code)));
}

InputFile::~InputFile() { ::close(fd_); }

void InputFile::read(uint64_t offset, std::span<std::byte> part) const {
    while (!part.empty()) {
        ssize_t got = ::pread(fd_, part.data(), part.size(), off_t(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw UserError(text("cannot read '", path_, "': ", reason(errno)));
        if (got == 0)
            throw UserError(text("cannot read '", path_, "': the file became shorter while it was read"));
        part = part.subspan(size_t(got));
        offset += uint64_t(got);
    }
}

}  // namespace mge
