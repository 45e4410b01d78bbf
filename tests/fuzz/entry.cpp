// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry points, of which driver.cpp makes use as well: what a target may throw is decided here.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "libmge/base/env.h"
#include "libmge/base/error.h"
#include "libmge/base/hash.h"
#include "libmge/base/log.h"
#include "libmge/device/default_device.h"
#include "tests/fuzz/outcome.h"
#include "tests/fuzz/run_graph.h"
#include "tests/fuzz/target.h"

namespace mge::fuzz {
namespace {

// Memory limit for the tensors of one input; more is a MemoryError.
constexpr size_t memory_limit = size_t(64) << 20;

[[noreturn]] void report(const char* what, const char* message) {
    std::fprintf(stderr, "fuzz: %s: %s\n", what, message);
    std::abort();
}

void print_runs() {
    auto [begun, finished] = graph_runs();
    if (begun)
        std::fprintf(stderr, "fuzz: %ld graphs were compiled and run, %ld of them to the end\n", begun,
                     finished);
}

// For libFuzzer, which starts from the files of a folder.
void write_seeds(const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder);
    for (auto& seed : seeds()) {
        if (seed.size() > largest_input) continue;
        char name[20];
        std::snprintf(name, sizeof name, "%016llx", static_cast<unsigned long long>(checksum(seed)));
        std::ofstream(folder / name, std::ios::binary) << seed;
    }
}

}  // namespace

Outcome outcome_of(Bytes input) {
    try {
        try_input(input);
        return {};
    } catch (const InternalError& e) {
        report("an internal error", e.what());
    } catch (const Error& e) {
        if (!*e.what()) report("an error", "without a message");
        return {e.code()};
    } catch (const std::exception& e) {
        report(typeid(e).name(), e.what());
    }
}

}  // namespace mge::fuzz

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    auto& cpu = mge::device({});
    cpu.set_memory_limit(cpu.memory().allocated + mge::fuzz::memory_limit);
    // Warnings are recorded to be printed once: state that an input leaves behind makes libFuzzer search for
    // leaks.
    mge::set_log_level(mge::LogLevel::error);
    std::atexit(mge::fuzz::print_runs);
    if (auto folder = mge::env_string("MGE_FUZZ_SEEDS")) mge::fuzz::write_seeds(*folder);
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    mge::fuzz::outcome_of(std::as_bytes(std::span(data, size)));
    return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
    std::string input(reinterpret_cast<const char*>(data), size);
    mge::fuzz::Random random(seed);
    mge::fuzz::mutate(input, random);
    size = std::min(input.size(), max_size);
    std::memcpy(data, input.data(), size);
    return size;
}
