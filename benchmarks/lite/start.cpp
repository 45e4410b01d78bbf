// SPDX-License-Identifier: Apache-2.0
// How long a program of Lite takes from its start to its first result: what comes before main, loading a
// model, and the first run of it, beside a second one. Each time is taken in a process of its own. Usage:
// benchmark_lite_start THREADS RUNS MODEL [CACHE]; a CACHE that does not exist is made first.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "lite-c/global_c.h"
#include "lite-c/network_c.h"

extern char** environ;

namespace {

using Times = std::array<double, 5>;  // ms: before main, load, first run, second run, from the start to the
                                      // first result

double now() {
    auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::milli>(since).count();
}

void require(int failed) {
    if (!failed) return;
    std::fprintf(stderr, "benchmark_lite_start: %s\n", LITE_get_last_error());
    std::exit(1);
}

void run(LiteNetwork network) {
    require(LITE_forward(network));
    require(LITE_wait(network));
}

// In the process that is timed; argv: "child", when it was started, threads, model, cache.
int child(char** argv) {
    double start = std::atof(argv[1]), in_main = now();
    LiteNetwork network = nullptr;
    LiteTensor input;
    const char* name;
    require(LITE_make_default_network(&network));
    require(LITE_set_cpu_threads_number(network, size_t(std::atoi(argv[2]))));
    if (argv[4]) {
        require(LITE_set_persistent_cache(argv[4], 0));
        require(LITE_set_network_algo_policy(network, LITE_ALGO_PROFILE));
    }
    require(LITE_load_model_from_path(network, argv[3]));
    double loaded = now();
    require(LITE_get_input_name(network, 0, &name));
    require(LITE_get_io_tensor(network, name, LITE_INPUT, &input));
    require(LITE_tensor_fill_zero(input));
    run(network);
    double first = now();
    run(network);
    std::printf("%f %f %f %f %f\n", in_main - start, loaded - in_main, first - loaded, now() - first,
                first - start);
    std::fflush(stdout);
    _exit(0);
}

Times time_child(char** arguments) {
    std::array<int, 2> ends;
    if (::pipe(ends.data())) std::exit(1);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::string start = std::to_string(now());
    std::array<char*, 7> words{const_cast<char*>("child"), start.data(), arguments[0], arguments[2],
                               arguments[3]};
    pid_t pid;
    if (posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, words.data(), environ)) std::exit(1);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    Times times;
    std::FILE* stream = ::fdopen(ends[0], "r");
    bool is_read = std::fscanf(stream, "%lf %lf %lf %lf %lf", &times[0], &times[1], &times[2], &times[3],
                               &times[4]) == 5;
    std::fclose(stream);
    ::waitpid(pid, nullptr, 0);
    if (!is_read) std::exit(1);
    return times;
}

double median(std::vector<Times> all, size_t column) {
    auto middle = all.begin() + long(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end(), [&](auto& a, auto& b) { return a[column] < b[column]; });
    return (*middle)[column];
}

}  // namespace

int main(int argc, char** argv) {
    if (std::string(argv[0]) == "child") return child(argv);
    if (argc < 4 || argc > 5) {
        std::fputs("usage: benchmark_lite_start THREADS RUNS MODEL [CACHE]\n", stderr);
        return 2;
    }
    if (argc == 5 && !std::filesystem::exists(argv[4])) time_child(argv + 1);
    std::vector<Times> all;
    for (int i = 0; i < std::atoi(argv[2]); ++i) all.push_back(time_child(argv + 1));
    std::puts(
        "| model | before main | load | first run | second run | process start to first result "
        "|\n|---|---|---|---|---|---|");
    std::printf("| %s |", std::filesystem::path(argv[3]).stem().c_str());
    for (size_t column = 0; column < Times{}.size(); ++column) std::printf(" %.1f |", median(all, column));
    std::puts("");
}
