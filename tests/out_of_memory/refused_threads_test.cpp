// SPDX-License-Identifier: Apache-2.0
// The system refuses another thread, or an address space for one: an error, after which all goes on.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <functional>

#include "libmge/base/threads/thread_team.h"
#include "libmge/base/threads/threads.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/mge.h"
#include "tests/child_alarm.h"
#include "tests/passes/same_graph.h"

namespace {

std::atomic<int> allowed_threads{1 << 20};

using CreateThread = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

}  // namespace

// Instead of the system's, for every library.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                              void* argument) {
    static const auto real = reinterpret_cast<CreateThread>(dlsym(RTLD_NEXT, "pthread_create"));
    return allowed_threads-- > 0 ? real(thread, attributes, run, argument) : EAGAIN;
}

namespace mge::test {
namespace {

class ThreadsAreRefused {
public:
    explicit ThreadsAreRefused(int but_so_many) { allowed_threads = but_so_many; }
    ~ThreadsAreRefused() { allowed_threads = 1 << 20; }
    ThreadsAreRefused(const ThreadsAreRefused&) = delete;
};

Graph doubled() {
    return record({f32({4})}, [](const Tensors& x) { return Tensors{ops::add(x[0], x[0])}; });
}

std::unique_ptr<Context> context_of_threes() {
    CompileOptions options;
    options.threads = 1;
    auto context = Context::create(Program::compile(doubled(), options));
    for (int i = 0; i < 4; ++i) static_cast<float*>(context->input(0))[i] = 3;
    return context;
}

TEST(RefusedThreads, ContextWithoutThreadsStillRuns) {
    auto context = context_of_threes();
    {
        ThreadsAreRefused scope(0);
        EXPECT_THROW(context->start(), MemoryError);
    }
    context->wait();  // for nothing
    context->start();
    context->wait();
    EXPECT_EQ(context->output(0).data<float>()[3], 6);
}

// A child that may have `more` bytes of addresses than it has now; its exit code, or minus its signal.
int with_limited_addresses(size_t more, const std::function<int()>& fn) {
    pid_t child = ::fork();
    if (child == 0) {
        size_t pages = 0;
        if (FILE* file = std::fopen("/proc/self/statm", "r")) {
            if (std::fscanf(file, "%zu", &pages) != 1) ::_exit(99);
            std::fclose(file);
        }
        size_t bytes = pages * size_t(::sysconf(_SC_PAGESIZE)) + more;
        rlimit limit{bytes, bytes};
        if (::setrlimit(RLIMIT_AS, &limit) != 0) ::_exit(99);
        ::alarm(child_seconds);
        ::_exit(fn());
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(RefusedThreads, TeamBeyondTheLimitIsAnError) {
    EXPECT_EQ(with_limited_addresses(size_t(4) << 20,
                                     [] {
                                         try {
                                             par_for(2, 2, 1, [](int64_t, int64_t) {});
                                             return 1;
                                         } catch (const MemoryError&) {
                                             return team_size(1) == 1 ? 0 : 2;
                                         }
                                     }),
              0);
}

}  // namespace
}  // namespace mge::test
