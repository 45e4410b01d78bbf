// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/stat.h>

#include <string>

#include "libmge/base/api.h"

namespace mge {

// A load reads a file several times, but a pipe returns its content once. While a scope lives, a named pipe
// that its thread opens again has the content of the first time.
class MGE_API PipeScope {
public:
    PipeScope();
    ~PipeScope();
    PipeScope(const PipeScope&) = delete;
    PipeScope& operator=(const PipeScope&) = delete;
};

// Reads a pipe (opened with O_NONBLOCK; `info` is its fstat) to its end, up to file_limit(), and returns the
// descriptor of a file with the content. An anonymous pipe cannot be written again, so its content is kept
// for all later openings. The wait for a stopped writer can be interrupted (base/interruption.h). UserError
// if no process writes to the pipe within a second.
int content_of_pipe(int fd, const struct stat& info, const std::string& path);

}  // namespace mge
