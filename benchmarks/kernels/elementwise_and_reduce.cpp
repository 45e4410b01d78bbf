// SPDX-License-Identifier: Apache-2.0
// Elementwise operators and reductions on f32 of 1 MB and 64 MB, and how long a 4 x 4 addition takes inside
// the kernel. Prints one line per case: name, bytes, microseconds of CPU time (the least of several rounds,
// so that other work on the machine disturbs little), GiB per second counted as input plus output. Then
// what fused regions take over what their parts take one after the other: both in turns, 1 is equal.
// Usage: benchmark_elementwise [THREADS]; elementwise_and_reduce.py prints the same for NumPy and PyTorch.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "libmge/base/threads/threads.h"
#include "libmge/kernel/select.h"
#include "libmge/mge.h"

namespace {

using namespace mge;

constexpr int rounds = 25;
constexpr double round_us = 4000;

double cpu_us() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return double(now.tv_sec) * 1e6 + double(now.tv_nsec) * 1e-3;
}

double round_of(const std::function<void()>& run) {
    double begin = cpu_us();
    int repeats = 0;
    do {
        run();
        ++repeats;
    } while (cpu_us() - begin < round_us);
    return (cpu_us() - begin) / repeats;
}

double least_us(const std::function<void()>& run) {
    double least = 1e300;
    run();
    for (int i = 0; i < rounds; ++i) least = std::min(least, round_of(run));
    return least;
}

Tensor filled(const Shape& shape) {
    Tensor t = empty_tensor({DType::f32, shape, {}});
    for (int64_t i = 0; i < shape.numel(); ++i) t.data<float>()[i] = 0.5f + float(i % 1000) * 1e-3f;
    return t;
}

// A prepared operator with memory for its result: what a Program runs.
class Kernel {
public:
    Kernel(const OpInfo& op, const void* params, Tensors inputs) : inputs_(std::move(inputs)) {
        for (auto& t : inputs_) {
            specs_.push_back(t.spec());
            in_.push_back(t.data());
        }
        outputs_ = op.infer(params, specs_);
        Problem problem = make_problem(op, params, specs_, outputs_);
        problem.device = default_device();
        problem.threads = default_threads();
        choice_ = select(find_kernels(op, default_device()), problem, {}, {});
        y_ = empty_tensor(outputs_[0]);
        out_ = y_.data();
        workspace_ = queue_of(default_device()).allocate(choice_.prepared.workspace());
    }
    void run() {
        choice_.algorithm->run(choice_.prepared, {in_, {&out_, 1}, workspace_->data, default_threads()});
    }
    const Tensor& result() const { return y_; }
    size_t bytes() const {
        size_t total = outputs_[0].bytes();
        for (auto& spec : specs_) total += spec.bytes();
        return total;
    }

private:
    Tensors inputs_;
    TensorSpecs specs_, outputs_;
    std::vector<const void*> in_;
    Choice choice_;
    Tensor y_;
    void* out_ = nullptr;
    StorageRef workspace_;
};

void report(const std::string& name, const OpInfo& op, const void* params, Tensors inputs) {
    Kernel kernel(op, params, std::move(inputs));
    double us = least_us([&] { kernel.run(); });
    std::printf("%-22s %10zu B %10.2f us %8.1f GiB/s\n", name.c_str(), kernel.bytes(), us,
                double(kernel.bytes()) / us * 1e6 / double(1 << 30));
}

void report_size(int64_t rows, int64_t columns) {
    NoParams none;
    Tensor x = filled({rows, columns}), y = filled({rows, columns}), row = filled({columns});
    report("add", ops::Add::info, &none, {x, y});
    report("add row", ops::Add::info, &none, {x, row});
    report("add column", ops::Add::info, &none, {x, filled({rows, 1})});
    report("relu", ops::Relu::info, &none, {x});
    report("exp", ops::Exp::info, &none, {x});
    report("tanh", ops::Tanh::info, &none, {x});
    report("gelu", ops::Gelu::info, &none, {x});
    ops::ReduceParams all, inner{.axes = {1}}, outer{.axes = {0}};
    report("sum all", ops::Sum::info, &all, {x});
    report("sum axis 1", ops::Sum::info, &inner, {x});
    report("sum axis 0", ops::Sum::info, &outer, {x});
    report("max axis 1", ops::Max::info, &inner, {x});
    ops::FusedElementwise::Params fused{"inputs 2; mul 0 1; add 2 0; relu 3; tanh 4; mul 5 1"};
    report("fused of 5", ops::FusedElementwise::info, &fused, {x, y});
}

void report_ratio(const std::string& name, const std::function<void()>& parts,
                  const std::function<void()>& region) {
    double least[2] = {1e300, 1e300};
    parts();
    region();
    for (int i = 0; i < rounds; ++i) {
        least[0] = std::min(least[0], round_of(parts));
        least[1] = std::min(least[1], round_of(region));
    }
    std::printf("%-34s parts %10.2f us, region %10.2f us, ratio %.3f\n", name.c_str(), least[0], least[1],
                least[1] / least[0]);
}

template <class Reduce>
void report_reduction(const std::string& program, const Shape& shape, const IntList& axes) {
    Tensors inputs{filled(shape), filled(shape)};
    ops::FusedElementwise::Params first{program};
    ops::ReduceParams second{.axes = axes};
    ops::FusedRegion::Params both{program, Reduce::name, axes, false};
    Kernel a(ops::FusedElementwise::info, &first, inputs), b(Reduce::info, &second, {a.result()});
    Kernel region(ops::FusedRegion::info, &both, inputs);
    size_t steps = size_t(std::count(program.begin(), program.end(), ';'));
    report_ratio(
        text(Reduce::name, " of ", steps, ' ', shape, " over ", to_text(ParamValue(axes))),
        [&] { a.run(), b.run(); }, [&] { region.run(); });
}

// exp(x) turned, plus y.
void report_turn(const Shape& from, const IntList& pattern) {
    ops::Transpose::Params turn{pattern};
    NoParams none;
    ops::FusedProgram program(2);
    int e = program.add(ops::Exp::info, &none, {0});
    program.add(ops::Add::info, &none, {program.add(ops::Transpose::info, &turn, {e}), 1});
    Kernel a(ops::Exp::info, &none, {filled(from)}), b(ops::Transpose::info, &turn, {a.result()});
    Tensor y = filled(b.result().shape());
    Kernel c(ops::Add::info, &none, {b.result(), y});
    ops::FusedRegion::Params params{program.text(), {}, {}, false};
    Kernel region(ops::FusedRegion::info, &params, {filled(from), y});
    report_ratio(
        text("turn ", from, " by ", to_text(ParamValue(pattern))), [&] { a.run(), b.run(), c.run(); },
        [&] { region.run(); });
}

void report_regions() {
    std::string cheap = "inputs 2; mul 0 1", costly = "inputs 2; mul 0 1; tanh 2; add 3 0; exp 4; mul 5 1";
    for (auto& program : {cheap, costly}) {
        for (auto& shape : {Shape{256, 1024}, Shape{16, 16384}, Shape{16384, 16}, Shape{87381, 3},
                            Shape{100, 2049}, Shape{4096, 2048}})
            for (auto& axes : {IntList{}, IntList{0}, IntList{1}})
                report_reduction<ops::Sum>(program, shape, axes);
        report_reduction<ops::Mean>(program, {64, 64, 64}, {1});
        report_reduction<ops::Max>(program, {64, 64, 64}, {0, 2});
        report_reduction<ops::Sum>(program, {4, 4}, {});
    }
    for (int64_t row : {4, 8, 16, 32, 64, 1024}) report_turn({64, 256, row}, {1, 0, 2});
    report_turn({8, 128, 12, 64}, {0, 2, 1, 3});
    report_turn({512, 512}, {1, 0});
    report_turn({2048, 2048}, {1, 0});
    report_turn({8, 64, 1024}, {0, 2, 1});
}

}  // namespace

int main(int argc, char** argv) {
    set_default_threads(argc > 1 ? std::stoi(argv[1]) : 1);
    NoParams none;
    Kernel tiny(ops::Add::info, &none, {filled({4, 4}), filled({4, 4})});
    std::printf("threads %d\nadd 4x4: run() %.1f ns\n", default_threads(), 1e3 / 1000 * least_us([&] {
                                                                               for (int i = 0; i < 1000; ++i)
                                                                                   tiny.run();
                                                                           }));
    report_size(256, 1024);
    report_size(4096, 4096);
    report_regions();
    return 0;
}
