// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/graphviz.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "libmge/base/error.h"

extern char** environ;

namespace mge::dump {
namespace {

// Anonymous temporary files for the input and output of `dot`, which close() removes.
using File = std::unique_ptr<FILE, int (*)(FILE*)>;
File temporary() {
    File file(std::tmpfile(), std::fclose);
    if (!file)
        throw UserError(text("no temporary file can be made in ", P_tmpdir, ": ", std::strerror(errno)));
    return file;
}

std::string contents(FILE* file) {
    std::rewind(file);
    std::string result;
    std::vector<char> buffer(65536);
    while (size_t n = std::fread(buffer.data(), 1, buffer.size(), file)) result.append(buffer.data(), n);
    return result;
}

}  // namespace

std::string run_graphviz(const std::string& dot, const std::string& format, const std::string& wanted_for) {
    File input = temporary(), output = temporary(), errors = temporary();
    std::fwrite(dot.data(), 1, dot.size(), input.get());
    std::rewind(input.get());
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ::fileno(input.get()), 0);
    posix_spawn_file_actions_adddup2(&actions, ::fileno(output.get()), 1);
    posix_spawn_file_actions_adddup2(&actions, ::fileno(errors.get()), 2);
    char program[] = "dot";
    std::string flag = "-T" + format;
    char* arguments[] = {program, flag.data(), nullptr};
    pid_t child = 0;
    int failed = ::posix_spawnp(&child, program, &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        throw DeviceError(text(wanted_for,
                               " needs Graphviz's program 'dot', which is not installed; run `apt install "
                               "graphviz`, or write DOT instead"));
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    std::string result = contents(output.get());
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || result.empty())
        throw DeviceError(text("Graphviz's 'dot' failed: ", contents(errors.get())));
    return result;
}

}  // namespace mge::dump
