// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/measure/rounds.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "apps/load_and_run/measure/clock.h"
#include "apps/load_and_run/measure/measure.h"

namespace mge::load_and_run {
namespace {

struct Pipe {
    std::array<int, 2> ends{-1, -1};
    Pipe() {
        if (::pipe2(ends.data(), O_CLOEXEC) != 0)
            throw DeviceError(text("a pipe cannot be made: ", std::strerror(errno)));
    }
};

std::vector<double> time_round(Context& context, const Options& options, double milliseconds) {
    Runner runner(context, 0, options);
    runner.run();  // the other side has used the caches
    std::vector<double> times;
    auto begin = Clock::now(), now = begin;
    do {
        auto start = now;
        runner.run();
        now = Clock::now();
        times.push_back(load_and_run::milliseconds(now - start));
    } while (load_and_run::milliseconds(now - begin) < milliseconds);
    return times;
}

cpu_set_t set_of(std::span<const int> cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu : cpus) CPU_SET(size_t(cpu), &set);
    return set;
}

}  // namespace

void serve_rounds(Job& job) {
    if (!job.options.run.serve_rounds) return;
    size_t test = 0;
    double length = 0;
    while (std::scanf("%zu %lf", &test, &length) == 2 && test < job.tests.size()) {
        for (double time : time_round(*job.tests[test].context, job.options, length))
            std::printf("%.9g ", time);
        std::printf("\n");
        std::fflush(stdout);
    }
    job.is_done = true;
}

RoundServer::RoundServer(const std::string& tool, const std::vector<std::string>& arguments,
                         std::span<const int> cpus)
    : tool_(tool) {
    Pipe to, from;
    std::vector<std::string> words{tool};
    words.insert(words.end(), arguments.begin(), arguments.end());
    words.insert(words.end(), {"--serve-rounds", "--quiet"});
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    cpu_set_t set = set_of(cpus);
    process_ = ::fork();
    if (process_ < 0) throw DeviceError(text("'", tool, "' cannot be started: ", std::strerror(errno)));
    if (process_ == 0) {
        ::dup2(to.ends[0], STDIN_FILENO);
        ::dup2(from.ends[1], STDOUT_FILENO);
        if (!cpus.empty()) ::sched_setaffinity(0, sizeof set, &set);
        ::execv(tool.c_str(), argv.data());
        ::_exit(127);
    }
    ::close(to.ends[0]);
    ::close(from.ends[1]);
    requests_ = ::fdopen(to.ends[1], "w");
    answers_ = ::fdopen(from.ends[0], "r");
}

RoundServer::~RoundServer() {
    std::fclose(requests_);
    std::fclose(answers_);
    ::waitpid(process_, nullptr, 0);
}

std::vector<double> RoundServer::round(size_t test, double milliseconds) {
    // Writing to a process that has ended would end this one.
    auto previous = ::signal(SIGPIPE, SIG_IGN);
    std::fprintf(requests_, "%zu %g\n", test, milliseconds);
    std::fflush(requests_);
    ::signal(SIGPIPE, previous);
    char* line = nullptr;
    size_t size = 0;
    ssize_t length = ::getline(&line, &size, answers_);
    std::istringstream words(length > 0 ? line : "");
    std::free(line);
    std::vector<double> times;
    for (double time; words >> time;) times.push_back(time);
    if (times.empty())
        throw DeviceError(text("[--baseline-tool] '", tool_, "' has ended; its command is in the baseline"));
    return times;
}

}  // namespace mge::load_and_run
