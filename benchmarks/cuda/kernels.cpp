// SPDX-License-Identifier: Apache-2.0
// Kernels on a GPU, by its own clock: what ours reach of the bandwidth of a copy, how far what fast-run takes
// is from the best plan of cuBLASLt and cuDNN, and what one small operator costs the host. Markdown tables.
// Usage: benchmark_cuda_kernels [--device gpu0] [--smaller FACTOR] [--load BACKEND]; the last two for a trial
// where there is no GPU.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libmge/device/upload.h"
#include "libmge/kernel/launch.h"
#include "libmge/kernel/select.h"
#include "libmge/mge.h"
#include "libmge/op/backend.h"
#include "libmge/op/operator_library.h"

namespace {

using namespace mge;

struct Options {
    std::string device = "gpu0", load;
    int64_t smaller = 1;
};

DeviceId place;
int64_t smaller = 1;

// The number of items in a trial, a multiple of 8.
int64_t part(int64_t of) { return smaller == 1 ? of : std::max<int64_t>(of / smaller / 8, 1) * 8; }

// Duration of one call, in µs: medians of rounds that are long enough to be measured.
double microseconds(const std::function<void()>& call) {
    constexpr int rounds = 7, warm_up = 3;
    constexpr double round_us = 20'000;
    Queue& queue = queue_of(place);
    auto round = [&](int calls) {
        auto begin = queue.record_time();
        for (int i = 0; i < calls; ++i) call();
        auto end = queue.record_time();
        return 1e3 * end->milliseconds_since(*begin) / calls;
    };
    double once = round(warm_up);
    int calls = std::clamp(int(round_us / std::max(once, 1.)), 1, 2000);
    std::vector<double> times;
    for (int i = 0; i < rounds; ++i) times.push_back(round(calls));
    std::ranges::nth_element(times, times.begin() + rounds / 2);
    return times[rounds / 2];
}

Tensor numbers(const TensorSpec& spec) {
    std::vector<float> values(size_t(spec.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = .25F + float(i * 37 % 97) / 194;
    TensorSpec floats{DType::f32, spec.shape, {}};
    Tensor there = to_device(tensor_from_host(floats, values.data(), host_device), place);
    if (spec.dtype != DType::f32) there = ops::convert(there, {.dtype = spec.dtype});
    Tensor result = empty_tensor(spec, place);  // in whatever layout
    queue_of(place).copy(result.address(), there.address(), spec.bytes());
    return result;
}

// An operator with operands and results on the GPU.
class Call {
public:
    Call(const OpInfo& op, std::shared_ptr<const void> params, const TensorSpecs& in, Precision precision)
        : op_(op), params_(std::move(params)), in_(in) {
        TensorSpecs plain = in;
        for (auto& spec : plain) spec.layout = {};
        out_ = op.infer(params_.get(), plain);
        out_[0].layout = in[0].layout;
        for (auto& spec : in_) inputs_.push_back(spec.is_absent() ? Tensor() : numbers(spec));
        for (auto& spec : out_) results_.push_back(empty_tensor(spec, place));
        problem_ = make_problem(op, params_.get(), in_, out_);
        problem_.device = problem_.output_device = place;
        problem_.precision = precision;
    }
    double bytes() const {
        double sum = 0;
        for (auto* specs : {&in_, &out_})
            for (auto& spec : *specs) sum += spec.is_absent() ? 0 : double(spec.bytes());
        return sum;
    }
    KernelList kernels() const { return find_kernels(op_, place); }
    const Problem& problem() const { return problem_; }
    double time(const Algorithm& algorithm, const Prepared& prepared) {
        return microseconds([&] { launch(algorithm, prepared, {queue_of(place)}, inputs_, results_); });
    }
    Choice choose(bool measures) {
        SelectOptions options;
        options.heuristic = !measures;
        options.profile = measures;
        return select(kernels(), problem_, {}, options);
    }

private:
    const OpInfo& op_;
    std::shared_ptr<const void> params_;
    TensorSpecs in_, out_;
    Tensors inputs_, results_;
    Problem problem_;
};
template <class O>
Call call(const typename O::Params& params, const TensorSpecs& in, Precision precision = Precision::strict) {
    return {O::info, std::make_shared<const typename O::Params>(params), in, precision};
}

double copy_bytes_per_us() {
    size_t bytes = (size_t(1) << 29) / size_t(smaller);
    Tensor from = empty_tensor({DType::u8, {int64_t(bytes)}, {}}, place),
           to = empty_tensor(from.spec(), place);
    return 2 * double(bytes) /
           microseconds([&] { queue_of(place).copy(to.address(), from.address(), bytes); });
}

void print_bandwidth(const std::string& name, double bytes, double us, double copy) {
    std::printf("| %s | %.1f | %.0f | %.2f |\n", name.c_str(), us, bytes / us / 1e3, bytes / us / copy);
    std::fflush(stdout);
}

// A chain that becomes one kernel.
void fused(DType dtype, double copy) {
    GraphBuilder builder;
    TensorSpec spec{dtype, {part(4096), part(8192)}, {}}, row{dtype, {part(8192)}, {}};
    {
        InterpreterScope scope(builder);
        Tensor x = builder.input(spec, "x"), b = builder.input(row, "b");
        builder.set_outputs({ops::relu(ops::add(ops::mul(x, ops::sigmoid(x)), b))});
    }
    CompileOptions options;
    options.device = place;
    auto context = Context::create(Program::compile(builder.take(), options));
    Tensor x = numbers(spec), b = numbers(row);
    context->bind_input(0, x.address());
    context->bind_input(1, b.address());
    double us = microseconds([&] { context->run(); });
    print_bandwidth(text("relu(x sigmoid(x) + b), fused, ", dtype), 2 * double(spec.bytes()), us, copy);
}

void bandwidth() {
    double copy = copy_bytes_per_us();
    std::printf("\n| copy: %.0f GB/s | µs | GB/s | of the copy |\n|---|---|---|---|\n", copy / 1e3);
    auto report = [&](const std::string& name, Call c) {
        Choice choice = c.choose(false);
        print_bandwidth(name, c.bytes(), c.time(*choice.algorithm, choice.prepared), copy);
    };
    for (DType dtype : {DType::f32, DType::f16}) {
        const int64_t rows = part(32768), width = part(1024);
        TensorSpec x{dtype, {rows, width}, {}}, row{dtype, {width}, {}},
            image{dtype, {part(64), part(256), part(56), part(56)}, {}};
        TensorSpec channel{DType::f32, {part(256)}, {}};
        fused(dtype, copy);
        report(text("add, ", dtype), call<ops::Add>({}, {x, x}));
        report(text("exp, ", dtype), call<ops::Exp>({}, {x}));
        report(text("add of a row, ", dtype), call<ops::Add>({}, {x, row}));
        report(text("softmax of 1024, ", dtype), call<ops::Softmax>({}, {x}));
        report(text("layer norm of 1024, ", dtype), call<ops::LayerNorm>({}, {x, row, row}));
        report(text("sum of rows, ", dtype), call<ops::Sum>({.axes = {1}}, {x}));
        report(text("sum of columns, ", dtype), call<ops::Sum>({.axes = {0}}, {x}));
        report(text("transposition, ", dtype), call<ops::Transpose>({.pattern = {1, 0}}, {x}));
        report(text("batch norm, inference, ", dtype),
               call<ops::BatchNorm>({.training = false}, {image, channel, channel, channel, channel}));
    }
}

// Members of families are named with a colon.
void contest(const std::string& name, Call c) {
    Choice choice = c.choose(true);
    double chosen = c.time(*choice.algorithm, choice.prepared), best = 0;
    std::string fastest = "none";
    for (auto& named : list_candidates(c.kernels(), c.problem())) {
        if (!named.algorithm->candidates) continue;
        double us = c.time(*named.algorithm, named.algorithm->prepare({c.problem(), named.candidate, {}}));
        if (best > 0 && us >= best) continue;
        best = us;
        fastest = named.candidate.name;
    }
    std::printf("| %s | %s | %.1f | %s | %.1f | %.2f |\n", name.c_str(), choice.candidate.name.c_str(),
                chosen, fastest.c_str(), best, best > 0 ? best / chosen : 0);
    std::fflush(stdout);
}

void libraries() {
    std::printf(
        "\n| problem | taken | µs | best plan of the libraries | µs | speed of that "
        "|\n|---|---|---|---|---|---|\n");
    for (auto [dtype, precision] :
         {std::pair{DType::bf16, Precision::strict}, {DType::f32, Precision::relaxed}}) {
        auto product = [&](const char* what, int64_t m, int64_t n, int64_t k) {
            contest(text(what, ' ', dtype),
                    call<ops::Matmul>({.transpose_b = true},
                                      {{dtype, {part(m), part(k)}, {}}, {dtype, {part(n), part(k)}, {}}},
                                      precision));
        };
        product("BERT-base, 64 x 128 words, 768 to 768", 8192, 768, 768);
        product("BERT-base, 768 to 3072", 8192, 3072, 768);
        product("GPT block, 2048 words, 4096 to 4096", 2048, 4096, 4096);
        auto convolution = [&](const char* what, int64_t ic, int64_t oc, int64_t size, int64_t kernel) {
            contest(text(what, ' ', dtype),
                    call<ops::Conv2d>(
                        {.padding = {kernel / 2, kernel / 2}},
                        {{dtype, {part(64), part(ic), part(size), part(size)}, Layout::named("nhwc")},
                         {dtype, {part(oc), part(ic), kernel, kernel}, {}}},
                        precision));
        };
        convolution("ResNet-50, 64 images, 3x3 64@56", 64, 64, 56, 3);
        convolution("ResNet-50, 3x3 256@14", 256, 256, 14, 3);
        convolution("ResNet-50, 1x1 1024 to 256@14", 1024, 256, 14, 1);
    }
    for (DType dtype : {DType::bf16, DType::f16}) {
        auto attend = [&](const char* what, int64_t batch, int64_t heads, int64_t words, int64_t width,
                          bool causal) {
            TensorSpec x{dtype, {part(batch), part(heads), part(words), part(width)}, {}};
            TensorSpec sums{DType::f32, {x.shape[0], x.shape[1], x.shape[2]}, {}};
            contest(text(what, ' ', dtype), call<ops::Attention>({.causal = causal}, {x, x, x}));
            contest(text(what, ", gradient ", dtype),
                    call<ops::AttentionBackward>({.causal = causal}, {x, x, x, x, x, sums}));
        };
        attend("attention of BERT-base, 64 x 128 words", 64, 12, 128, 64, false);
        attend("attention of a GPT block, 2048 words, causal", 4, 32, 2048, 128, true);
    }
}

double seconds_of(const std::function<void()>& work) {
    device(place).synchronize();
    auto begin = std::chrono::steady_clock::now();
    work();
    device(place).synchronize();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Copies of pageable and of page-locked memory; steps whose batches are copied ahead, beside the longer of
// copying and computing.
void transfers() {
    TensorSpec spec{DType::f32, {part(4096), part(4096)}, {}};
    Tensor there = empty_tensor(spec, place),
           pageable = tensor_from_host(spec, to_host(numbers(spec)).data(), host_device);
    Tensor locked(spec, device(place).allocate_host(spec.bytes()), 0, host_device);
    std::copy_n(static_cast<const char*>(pageable.data()), spec.bytes(), static_cast<char*>(locked.data()));
    constexpr int copies = 20, steps = 50;
    auto copying = [&](const Tensor& from) {
        return seconds_of([&] {
            for (int i = 0; i < copies; ++i)
                queue_of(place).copy_from_host(there.address(), from.data(), spec.bytes());
        });
    };
    copying(pageable);
    double slow = copying(pageable), fast = copying(locked);
    std::printf("\nCopies to the GPU: %.1f GB/s, of page-locked memory %.1f (%.2f times).\n",
                copies * double(spec.bytes()) / slow / 1e9, copies * double(spec.bytes()) / fast / 1e9,
                slow / fast);
    // As much computing as copying, about.
    auto compute = [](Tensor x, int times) {
        for (int i = 0; i < times; ++i) x = ops::tanh(x);
    };
    constexpr int trial = 64;
    compute(there, trial);
    double once = seconds_of([&] { compute(there, trial); }) / trial;
    int times = std::clamp(int(fast / copies / once), 1, 5000);
    double computing = seconds_of([&] {
        for (int step = 0; step < steps; ++step) compute(there, times);
    });
    double copied = seconds_of([&] {
        for (int step = 0; step < steps; ++step) upload_overlapped(locked, place);
    });
    double both = seconds_of([&] {
        Tensor ahead = upload_overlapped(locked, place);
        for (int step = 0; step < steps; ++step) {
            compute(ahead, times);
            ahead = upload_overlapped(locked, place);
        }
    });
    std::printf(
        "%d steps with their batches copied ahead: %.1f ms; computing %.1f, copying %.1f (%.2f of the "
        "longer).\n",
        steps, both * 1e3, computing * 1e3, copied * 1e3, both / std::max(computing, copied));
}

void host_side() {
    Tensor x = numbers({DType::f32, {4, 4}, {}}), y;
    constexpr int rounds = 40, calls = 500;
    std::vector<double> times;
    for (int round = 0; round < rounds; ++round) {
        auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; ++i) y = ops::add(x, x);
        std::chrono::duration<double, std::micro> passed = std::chrono::steady_clock::now() - begin;
        times.push_back(passed.count() / calls);
        queue_of(place).wait();
    }
    std::ranges::nth_element(times, times.begin() + rounds / 2);
    std::printf("\nAn eager addition of 4 x 4 costs the host %.2f µs.\n", times[rounds / 2]);
}

Options options_of(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        std::string name = argv[i];
        if (name == "--device") options.device = argv[i + 1];
        if (name == "--load") options.load = argv[i + 1];
        if (name == "--smaller") options.smaller = std::stoll(argv[i + 1]);
    }
    return options;
}

}  // namespace

int main(int argc, char** argv) {
    Options options = options_of(argc, argv);
    try {
        if (!options.load.empty()) load_operators(options.load);
        smaller = options.smaller;
        place = parse_device(options.device);
        std::printf("%s\n", device(place).fingerprint().c_str());
        bandwidth();
        transfers();
        host_side();
        libraries();  // last: it takes longest
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return int(error.code());
    }
    return 0;
}
