// SPDX-License-Identifier: Apache-2.0
// Elementwise operators and reductions on f32 of 1 MB and 64 MB, and how long a 4 x 4 addition takes inside
// the kernel. Prints one line per case: name, bytes, microseconds of CPU time (the least of several rounds,
// so that other work on the machine disturbs little), gigabytes per second counted as input plus output.
// Usage: benchmark_elementwise [THREADS]; elementwise_and_reduce.py prints the same for NumPy and PyTorch.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "libmge/base/threads.h"
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

double least_us(const std::function<void()>& run) {
    double least = 1e300;
    run();
    for (int i = 0; i < rounds; ++i) {
        double begin = cpu_us();
        int repeats = 0;
        do {
            run();
            ++repeats;
        } while (cpu_us() - begin < round_us);
        least = std::min(least, (cpu_us() - begin) / repeats);
    }
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
        Problem problem{op.name, params, op.fields, specs_, outputs_, 0, default_device(), default_threads()};
        choice_ = select(find_kernels(op, default_device()), problem, {}, {});
        y_ = empty_tensor(outputs_[0]);
        out_ = y_.data();
        workspace_ = device(default_device()).allocate(choice_.prepared.workspace());
    }
    void run() {
        choice_.algorithm->run(choice_.prepared, {in_, {&out_, 1}, workspace_->data, default_threads()});
    }
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
    std::printf("%-22s %10zu B %10.2f us %8.1f GB/s\n", name.c_str(), kernel.bytes(), us,
                double(kernel.bytes()) / us / 1e3);
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
    return 0;
}
