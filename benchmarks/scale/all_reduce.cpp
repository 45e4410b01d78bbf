// SPDX-License-Identifier: Apache-2.0
// The time that processes of this machine take to sum their f32 numbers: Gloo called bare, and the operator
// `collective` over Gloo, by turns. Prints a Markdown table: least and median of the rounds in microseconds.
//
//     benchmark_all_reduce [PROCESSES]
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "libmge/comm/engine.h"
#include "libmge/mge.h"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Sum = std::function<void()>;

struct Size {
    size_t count;
    int rounds;
};
constexpr Size sizes[] = {{1, 3000}, {1 << 10, 3000}, {1 << 18, 200}, {16 << 20, 20}};

// All values of a name, by rank.
std::vector<std::string> gather(gloo::rendezvous::Store& store, const std::string& mine, int rank, int size) {
    store.set(std::to_string(rank), {mine.begin(), mine.end()});
    std::vector<std::string> all;
    for (int other = 0; other < size; ++other) {
        store.wait({std::to_string(other)});
        auto bytes = store.get(std::to_string(other));
        all.emplace_back(bytes.begin(), bytes.end());
    }
    return all;
}

std::shared_ptr<gloo::Context> connect_bare(gloo::rendezvous::Store& store, int rank, int size) {
    gloo::transport::tcp::attr attributes("127.0.0.1");
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    context->connectFullMesh(store, device);
    return context;
}

void connect_mge(gloo::rendezvous::Store& store, int rank, int size) {
    auto engine = mge::open_engine("gloo", {"127.0.0.1", rank, size});
    engine->join(gather(store, engine->address(), rank, size), 60s, 60s);
    mge::set_communicator(engine);
}

Sum bare_sum(const std::shared_ptr<gloo::Context>& context, std::vector<float>& x, std::vector<float>& y) {
    return [&, context] {
        gloo::AllreduceOptions options(context);
        options.setInput(x.data(), x.size());
        options.setOutput(y.data(), y.size());
        options.setReduceFunction([](void* c, const void* a, const void* b, size_t n) {
            gloo::sum<float>(static_cast<float*>(c), static_cast<const float*>(a),
                             static_cast<const float*>(b), n);
        });
        gloo::allreduce(options);
    };
}

Sum mge_sum(const std::vector<float>& values, int rank, int size) {
    mge::ops::Collective::Params params{.ranks = {}, .rank = rank};
    for (int other = 0; other < size; ++other) params.ranks.push_back(other);
    mge::Tensor x = mge::tensor_from_host({mge::DType::f32, {int64_t(values.size())}, {}}, values.data());
    return [=] { mge::Tensor y = mge::ops::collective(x, params); };
}

double microseconds_of(const Sum& sum) {
    auto begin = Clock::now();
    sum();
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

struct Times {
    double least, median;
};
Times summary(std::vector<double> times) {
    std::ranges::sort(times);
    return {times.front(), times[times.size() / 2]};
}

void run(int rank, int size, const std::string& folder) {
    gloo::rendezvous::FileStore bare_store(folder + "/bare"), mge_store(folder + "/mge");
    auto context = connect_bare(bare_store, rank, size);
    connect_mge(mge_store, rank, size);
    if (rank == 0)
        std::puts(
            "| bytes | Gloo: least, median | MGE: least, median | ratio: least, median |\n|---|---|---|---|");
    for (auto [count, rounds] : sizes) {
        std::vector<float> x(count, 1.0F), y(count);
        auto bare = bare_sum(context, x, y), ours = mge_sum(x, rank, size);
        std::vector<double> bare_times, our_times;
        for (int i = 0; i < rounds; ++i) {
            bare_times.push_back(microseconds_of(bare));
            our_times.push_back(microseconds_of(ours));
        }
        auto a = summary(bare_times), b = summary(our_times);
        if (rank == 0)
            std::printf("| %zu | %.1f, %.1f | %.1f, %.1f | %.2f, %.2f |\n", 4 * count, a.least, a.median,
                        b.least, b.median, b.least / a.least, b.median / a.median);
        std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
    int size = argc > 1 ? std::atoi(argv[1]) : 2, rank = 0;
    auto folder = std::filesystem::temp_directory_path() / ("mge_all_reduce_" + std::to_string(::getpid()));
    for (auto* part : {"bare", "mge"}) std::filesystem::create_directories(folder / part);
    for (int other = 1; other < size && rank == 0; ++other)
        if (::fork() == 0) rank = other;
    run(rank, size, folder);
    if (rank > 0) ::_exit(0);
    while (::wait(nullptr) > 0) continue;
    std::filesystem::remove_all(folder);
}
