// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/stat.h>

#include <string>

#include "libmge/base/api.h"

namespace mge {

// One load looks at a file several times, and a pipe gives its content once. While a scope lives, a named
// pipe that its thread opens again has the content of the first time.
class MGE_API PipeScope {
public:
    PipeScope();
    ~PipeScope();
    PipeScope(const PipeScope&) = delete;
    PipeScope& operator=(const PipeScope&) = delete;
};

// Reads a pipe (opened with O_NONBLOCK, `info` is its fstat) to its end, as far as file_limit() allows, and
// returns the descriptor of a file with the content. Nobody can write to an anonymous pipe again, so its
// content is kept for all later openings. The wait for a writer that has stopped can be interrupted
// (base/socket.h). UserError for a pipe that nobody writes to within a second.
int content_of_pipe(int fd, const struct stat& info, const std::string& path);

}  // namespace mge
