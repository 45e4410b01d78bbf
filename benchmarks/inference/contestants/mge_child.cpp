// SPDX-License-Identifier: Apache-2.0
// MGE as a contestant: protocol.py defines the messages. The model is NAME.mge with input and reference next
// to it (NAME.x.f32, NAME.y.f32); algorithms are chosen by fast-run, with its cache in the same folder.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "libmge/kernel/fastrun_cache.h"
#include "libmge/mge.h"
#include "libmge/model/model.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t evict_bytes = 64 << 20;  // as in protocol.py
constexpr size_t longest_series = 20000;
constexpr size_t shortest_series = 3;

struct Options {
    std::string models, model;
    int threads = 1;
    mge::Precision precision = mge::Precision::strict;
};

double milliseconds_since(Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        std::string flag = argv[i], value = argv[i + 1];
        if (flag == "--models")
            options.models = value;
        else if (flag == "--model")
            options.model = value;
        else if (flag == "--threads")
            options.threads = std::stoi(value);
        else if (flag == "--variant" && value == "fast")
            options.precision = mge::Precision::fast;
        else
            throw std::runtime_error("unknown flag " + flag);
    }
    return options;
}

std::vector<float> read_floats(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) throw std::runtime_error("cannot read " + path);
    std::vector<float> values(size_t(file.tellg()) / sizeof(float));
    file.seekg(0);
    file.read(reinterpret_cast<char*>(values.data()), std::streamsize(values.size() * sizeof(float)));
    return values;
}

// Everything between the file and the first context.
std::shared_ptr<const mge::Program> load(const Options& options, mge::FastrunCache& cache) {
    mge::Model model = mge::read_model(options.models + "/" + options.model + ".mge");
    mge::CompileOptions compile;
    compile.threads = options.threads;
    compile.precision = options.precision;
    compile.select.heuristic = false;
    compile.select.profile = true;
    compile.select.cache = &cache;
    return mge::Program::compile(model.graph, compile);
}

// One program, and a context for each stream that was asked for so far.
class Streams {
public:
    Streams(std::shared_ptr<const mge::Program> program, std::vector<float> x)
        : program_(std::move(program)), x_(std::move(x)) {
        add();
    }
    mge::Context& operator[](size_t i) {
        while (contexts_.size() <= i) add();
        return *contexts_[i];
    }

private:
    void add() {
        contexts_.push_back(mge::Context::create(program_));
        std::memcpy(contexts_.back()->input(0), x_.data(), x_.size() * sizeof(float));
    }
    std::shared_ptr<const mge::Program> program_;
    std::vector<float> x_;
    std::vector<std::unique_ptr<mge::Context>> contexts_;
};

std::string series(const std::vector<double>& times) {
    std::ostringstream text;
    text << "{\"ms\": [";
    for (size_t i = 0; i < times.size(); ++i) text << (i ? ", " : "") << times[i];
    text << "]}";
    return text.str();
}

double time_one(mge::Context& context) {
    auto begin = Clock::now();
    context.run();
    return milliseconds_since(begin);
}

std::vector<double> hot_series(mge::Context& context, double seconds) {
    std::vector<double> times;
    auto begin = Clock::now();
    while (times.size() < shortest_series ||
           (milliseconds_since(begin) < seconds * 1e3 && times.size() < longest_series))
        times.push_back(time_one(context));
    return times;
}

// By so many threads at once, each with a context of its own.
std::vector<double> parallel_series(Streams& streams, double seconds, size_t count) {
    std::vector<std::vector<double>> times(count);
    std::vector<std::thread> others;
    auto work = [&](size_t i, mge::Context* context) { times[i] = hot_series(*context, seconds); };
    streams[count - 1];  // all contexts are there before any runs
    for (size_t i = 1; i < count; ++i) others.emplace_back(work, i, &streams[i]);
    work(0, &streams[0]);
    for (auto& other : others) other.join();
    std::vector<double> all;
    for (auto& series : times) all.insert(all.end(), series.begin(), series.end());
    return all;
}

std::vector<int> usable_cores() {
    cpu_set_t set;
    sched_getaffinity(0, sizeof(set), &set);
    std::vector<int> cores;
    for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &set)) cores.push_back(core);
    return cores;
}

void walk_on(int core, std::vector<unsigned char>& block) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(core, &only);
    pthread_setaffinity_np(pthread_self(), sizeof(only), &only);
    for (auto& byte : block) ++byte;
}

std::vector<double> cold_series(mge::Context& context, int count) {
    static const std::vector<int> cores = usable_cores();
    static std::vector<std::vector<unsigned char>> blocks(cores.size(),
                                                          std::vector<unsigned char>(evict_bytes));
    std::vector<double> times;
    for (int i = 0; i < count; ++i) {
        std::vector<std::thread> walkers;
        for (size_t c = 0; c < cores.size(); ++c)
            walkers.emplace_back(walk_on, cores[c], std::ref(blocks[c]));
        for (auto& walker : walkers) walker.join();
        times.push_back(time_one(context));
    }
    return times;
}

double peak_megabytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) / 1024;
    return 0;
}

double error_of(mge::Context& context, const std::vector<float>& reference) {
    mge::Tensor y = context.copy_output(0);
    if (size_t(y.spec().numel()) != reference.size()) throw std::runtime_error("the output has another size");
    double worst = 0, largest = 0;
    for (size_t i = 0; i < reference.size(); ++i) {
        worst = std::max(worst, std::abs(double(y.data<float>()[i]) - double(reference[i])));
        largest = std::max(largest, std::abs(double(reference[i])));
    }
    return worst / largest;
}

double milliseconds_since_spawn() {
    const char* spawned = std::getenv("SPAWNED_AT_NS");
    if (!spawned) return 0;
    auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch());
    return double(now.count() - std::atoll(spawned)) / 1e6;
}

void answer(Streams& streams, double peak) {
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string command;
        double value = 0;
        size_t count = 1;
        words >> command >> value;
        if (!(words >> count)) count = 1;
        if (command == "hot")
            std::cout << series(parallel_series(streams, value, count)) << std::endl;
        else if (command == "cold")
            std::cout << series(cold_series(streams[0], int(value))) << std::endl;
        else if (command == "memory")
            std::cout << "{\"peak_mb\": " << peak << "}" << std::endl;
    }
}

void serve(const Options& options) {
    std::string base = options.models + "/" + options.model;
    std::vector<float> x = read_floats(base + ".x.f32");
    auto begin = Clock::now();
    auto cache = mge::FastrunCache::open(options.models + "/fastrun.sqlite");
    Streams streams(load(options, *cache), std::move(x));
    double load_ms = milliseconds_since(begin);
    double first_ms = time_one(streams[0]);
    double start_ms = milliseconds_since_spawn();
    double peak = peak_megabytes();
    double error = error_of(streams[0], read_floats(base + ".y.f32"));
    std::printf(
        "{\"engine\": \"MGE\", \"version\": \"%s\", \"load_ms\": %g, \"first_ms\": %g, \"start_ms\": %g, "
        "\"error\": %g}\n",
        mge::version, load_ms, first_ms, start_ms, error);
    std::fflush(stdout);
    answer(streams, peak);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        serve(parse(argc, argv));
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
