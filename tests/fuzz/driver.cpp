// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer: first every seed, then a number of mutations of them. Accepted inputs
// are mutated further, as a substitute for coverage. The run is limited by number instead of time, and the
// random seed is printed: the same command tries the same inputs.
//
// With MGE_FUZZ_RUN_EVERY=1 every small graph that is accepted is compiled and run, instead of one in four.
//
//   mge_fuzz_TARGET [--executions N] [--seed N] [--corpus FOLDER] [FILE...]
//
// The files of a folder are further seeds. With files those alone are tried. MGE_FUZZ_EXECUTIONS and
// MGE_FUZZ_SEED take the place of the options, for CTest.

#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <fcntl.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "libmge/base/env.h"
#include "tests/fuzz/mutate_bytes.h"
#include "tests/fuzz/outcome.h"
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);

namespace mge::fuzz {
namespace {

// Limits of an input: CPU time, which a busy machine does not lengthen by much, and the peak resident memory
// of the process. A sanitizer is slower, and keeps freed memory.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;
constexpr int hang_seconds = 25;
constexpr size_t largest_resident = size_t(1) << 30;
#else
constexpr bool is_sanitized = false;
constexpr int hang_seconds = 10;
constexpr size_t largest_resident = size_t(512) << 20;
#endif
// Beyond it an allocation fails at once; the sanitizer itself maps terabytes.
constexpr size_t largest_data = size_t(2) << 30;
constexpr size_t largest_pool = 256;

Random mutations(0);  // for LLVMFuzzerMutate, which gets none
const std::string* current = nullptr;
char finding_path[64];

// A signal is a finding: its input is kept.
void keep_input(int number) {
    int file = ::open(finding_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file >= 0 && current) {
        [[maybe_unused]] ssize_t written = ::write(file, current->data(), current->size());
        ::write(2, "fuzz: the input is in ", 22);
        ::write(2, finding_path, std::strlen(finding_path));
        ::write(2, "\n", 1);
    }
    ::signal(number, SIG_DFL);
    ::raise(number);
}

void watch() {
    for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF}) ::signal(number, keep_input);
    if (is_sanitized) return;
    rlimit limit{largest_data, largest_data};
    ::setrlimit(RLIMIT_DATA, &limit);
}

size_t peak_resident() {
    rusage usage;
    ::getrusage(RUSAGE_SELF, &usage);
    return size_t(usage.ru_maxrss) << 10;
}

class Counts {
public:
    bool run(const std::string& input) {
        current = &input;
        set_alarm(hang_seconds);
        Outcome outcome = outcome_of(std::as_bytes(std::span(input)));
        set_alarm(0);
        if (size_t peak = peak_resident(); peak > largest_resident) {
            std::fprintf(stderr, "fuzz: %zu MiB are resident\n", peak >> 20);
            std::abort();
        }
        ++executions_;
        if (outcome.refusal) ++refused_[int(*outcome.refusal)];
        return !outcome.refusal;
    }
    void print(const char* what) const {
        long accepted = executions_;
        for (auto& [code, count] : refused_) accepted -= count;
        std::printf("%ld %s: %ld accepted", executions_, what, accepted);
        for (auto& [code, count] : refused_) std::printf(", %ld refused with code %d", count, code);
        std::printf("\n");
        std::fflush(stdout);
    }

private:
    static void set_alarm(int seconds) {
        itimerval timer{};
        timer.it_value.tv_sec = seconds;
        ::setitimer(ITIMER_PROF, &timer, nullptr);
    }
    long executions_ = 0;
    std::map<int, long> refused_;
};

std::string read_file(const char* path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream) {
        std::fprintf(stderr, "fuzz: cannot open '%s'\n", path);
        std::exit(2);
    }
    return {std::istreambuf_iterator<char>(stream), {}};
}

void add_files(const char* folder, std::vector<std::string>& pool) {
    std::vector<std::filesystem::path> paths;
    for (auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
    std::ranges::sort(paths);
    for (auto& path : paths) pool.push_back(read_file(path.c_str()));
}

// `corpus` may be null.
int fuzz(const char* corpus, long executions, unsigned seed) {
    auto start = std::chrono::steady_clock::now();
    std::vector<std::string> pool = seeds();
    if (corpus) add_files(corpus, pool);
    std::erase_if(pool, [](auto& input) { return input.size() > largest_input; });
    Counts replayed, mutated;
    for (auto& input : pool) replayed.run(input);
    replayed.print("inputs of the corpus");
    Random random(seed);
    mutations = Random(seed + 1);
    for (long i = 0; i < executions; ++i) {
        std::string input = random.pick(pool);
        for (size_t changes = 1 + random.below(3); changes > 0; --changes) mutate(input, random);
        if (input.size() > largest_input || !mutated.run(input)) continue;
        if (pool.size() < largest_pool)
            pool.push_back(input);
        else if (random.one_in(4))
            random.pick(pool) = input;
    }
    mutated.print("mutations");
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("seed %u, %.1f s, at most %zu MiB resident\n", seed, seconds.count(), peak_resident() >> 20);
    return 0;
}

int run(int argc, char** argv) {
    long executions = 1000;
    unsigned seed = 20261122;
    const char* corpus = nullptr;
    std::vector<std::string> files;
    for (int i = 1; i < argc; ++i) {
        bool has_value = i + 1 < argc;
        if (has_value && !std::strcmp(argv[i], "--executions"))
            executions = std::atol(argv[++i]);
        else if (has_value && !std::strcmp(argv[i], "--seed"))
            seed = unsigned(std::atol(argv[++i]));
        else if (has_value && !std::strcmp(argv[i], "--corpus"))
            corpus = argv[++i];
        else
            files.push_back(read_file(argv[i]));
    }
    if (auto number = env_int("MGE_FUZZ_EXECUTIONS")) executions = *number;
    if (auto number = env_int("MGE_FUZZ_SEED")) seed = unsigned(*number);
    const char* name = std::strrchr(argv[0], '/');
    std::snprintf(finding_path, sizeof finding_path, "finding-%s", name ? name + 1 : argv[0]);
    LLVMFuzzerInitialize(&argc, &argv);
    watch();
    if (files.empty()) return fuzz(corpus, executions, seed);
    Counts counts;
    for (auto& input : files) counts.run(input);
    counts.print("files");
    return 0;
}

}  // namespace
}  // namespace mge::fuzz

// The default mutations of libFuzzer, except those that need coverage.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size) {
    using namespace mge::fuzz;
    std::string bytes(reinterpret_cast<const char*>(data), size);
    size_t at = mutations.below(size);
    switch (mutations.below(6)) {
        case 0:
            bytes.resize(at);
            break;
        case 1:
            bytes.insert(at, std::string(1 + mutations.below(16), char(mutations.bits())));
            break;
        case 2:
            bytes.erase(at, 1 + mutations.below(16));
            break;
        case 3:
            splice(bytes, std::string(bytes), mutations);
            break;
        default:
            for (size_t flips = 1 + mutations.below(8); flips > 0 && !bytes.empty(); --flips)
                bytes[mutations.below(bytes.size())] ^= char(1 << mutations.below(8));
    }
    size = std::min(bytes.size(), max_size);
    std::memcpy(data, bytes.data(), size);
    return size;
}

int main(int argc, char** argv) { return mge::fuzz::run(argc, argv); }
