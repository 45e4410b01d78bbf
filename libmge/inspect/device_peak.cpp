// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/device_peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>

#include "libmge/base/error.h"
#include "libmge/device/device.h"
#include "libmge/graph/builder.h"
#include "libmge/inspect/peak.h"
#include "libmge/inspect/profile/step_clock.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/linalg/matmul.h"

namespace mge {
namespace {

// Matrices grow until a product takes as long as kernels of large networks do, or until the host, if that
// computes, takes longer than a user would wait.
constexpr int64_t first_rows = 64, most_rows = 8192;
constexpr double long_enough = 2, host_limit = 20;  // milliseconds
constexpr int runs_of_peak = 10;
constexpr size_t least_copied = size_t(16) << 20, most_copied = size_t(1) << 30;

struct Timing {
    double device = 0, host = 0;  // milliseconds
};

template <class Work>
Timing time_of(Queue& queue, Work&& work) {
    using Clock = std::chrono::steady_clock;
    queue.wait();
    auto start = Clock::now();
    auto begin = queue.record_time();
    work();
    auto end = queue.record_time();
    queue.wait();
    return {end->milliseconds_since(*begin),
            std::chrono::duration<double, std::milli>(Clock::now() - start).count()};
}

// The shortest of some runs, fewer where they are long.
template <class Work>
double best_of(Queue& queue, Work&& work) {
    double best = 0, host = 0;
    for (int i = 0; i < runs_of_peak && host < 5 * host_limit; ++i) {
        Timing timing = time_of(queue, work);
        host += timing.host;
        if (timing.device > 0) best = best > 0 ? std::min(best, timing.device) : timing.device;
    }
    return best;
}

// Numbers of no pattern, since devices multiply zeros with less power.
Tensor matrix(int64_t rows, DType dtype, DeviceId id) {
    Tensor floats = empty_tensor({DType::f32, {rows, rows}, {}}, host_device);
    uint32_t state = 12345;
    for (int64_t i = 0; i < rows * rows; ++i) {
        state = state * 1664525u + 1013904223u;
        floats.data<float>()[i] = float(int32_t(state)) * 0x1p-31f;
    }
    Tensor there = to_device(floats, id);
    return dtype == DType::f32 ? there : ops::convert(there, {.dtype = dtype});
}

Graph product_of(const TensorSpec& spec) {
    GraphBuilder builder;
    Tensor x = builder.input(spec, "x"), w = builder.input(spec, "w");
    InterpreterScope scope(builder);
    builder.set_outputs({ops::matmul(x, w)});
    return builder.take();
}

class Product {
public:
    Product(const CompileOptions& of, DeviceId id, int64_t rows, DType dtype) {
        CompileOptions options{.device = id, .threads = of.threads, .var_sanity_check_first_run = false};
        options.precision = of.precision;
        options.select.reproducible = of.select.reproducible;
        context_ = Context::create(Program::compile(product_of({dtype, {rows, rows}, {}}), options));
        Tensor values = matrix(rows, dtype, id);
        Tensor inputs[] = {values, values};
        context_->fill_inputs(inputs);
        context_->run();  // kernels make themselves ready
        context_->wait();
    }
    void run() { context_->run(); }

private:
    std::unique_ptr<Context> context_;
};

double product_rate(const CompileOptions& options, DeviceId id, DType dtype) {
    Queue& queue = queue_of(id);
    for (int64_t rows = first_rows;; rows *= 2) {
        Product product(options, id, rows, dtype);
        Timing timing = time_of(queue, [&] { product.run(); });
        bool is_last = rows >= most_rows || timing.device >= long_enough || timing.host >= host_limit;
        if (!is_last) continue;
        double best = best_of(queue, [&] { product.run(); });
        return best > 0 ? 2.0 * double(rows * rows * rows) / (best * 1e-3) : 0;
    }
}

double copy_rate(DeviceId id) {
    Queue& queue = queue_of(id);
    size_t bytes = std::clamp(2 * device(id).eviction_bytes(), least_copied, most_copied);
    StorageRef from = queue.allocate(bytes), to = queue.allocate(bytes);
    queue.fill(from->data, 1, bytes);
    queue.copy(to->data, from->data, bytes);
    // Several copies, so that the latency of the first is negligible.
    constexpr int copies = 4;
    double best = best_of(queue, [&] {
        for (int i = 0; i < copies; ++i) queue.copy(to->data, from->data, bytes);
    });
    return best > 0 ? 2.0 * copies * double(bytes) / (best * 1e-3) : 0;
}

// The device of all steps that are not the host's, if there is one.
std::optional<DeviceId> device_of(const Program& program) {
    std::optional<DeviceId> found;
    for (size_t i = 0; i < program.steps().size(); ++i) {
        DeviceId id = place_of_work(program, i);
        if (id.is_host()) continue;
        if (found && (found->kind != id.kind || found->index != id.index)) return std::nullopt;
        if (!found) found = id;
    }
    return found;
}

// The dtype of most of the arithmetic.
DType dtype_of(const Program& program) {
    std::map<DType, double> operations;
    for (auto& step : program.steps())
        if (!step.inputs.empty() && step.inputs[0] != no_value)
            operations[program.values()[size_t(step.inputs[0])].spec.dtype] +=
                step.footprint.operations.value_or(0);
    auto most = std::ranges::max_element(operations, {}, [](auto& each) { return each.second; });
    return most == operations.end() ? DType::none : most->first;
}

std::string arithmetic_of(DType dtype, Precision precision) {
    switch (precision) {
        case Precision::strict:
            return std::string(name_of(dtype));
        case Precision::relaxed:
            return text(name_of(dtype), " (relaxed)");
        case Precision::fast:
            return text(name_of(dtype), " (fast)");
    }
    return {};
}

}  // namespace

std::optional<Peak> measure_device_peak(const Program& program, const CompileOptions& options) {
    auto id = device_of(program);
    DType dtype = dtype_of(program);
    bool is_known = dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
    if (!id || !is_known || !queue_of(*id).record_time()) return std::nullopt;
    Peak measured;
    try {
        measured.operations_per_s = product_rate(options, *id, dtype);
        measured.bytes_per_s = copy_rate(*id);
    } catch (const MemoryError&) {
        return std::nullopt;
    }
    if (!(measured.operations_per_s > 0 && measured.bytes_per_s > 0)) return std::nullopt;
    std::string arithmetic = arithmetic_of(dtype, options.precision);
    if (auto path = kept_peaks_path())
        measured = join_kept_peak(*path, text(device(*id).fingerprint(), " | ", arithmetic), measured);
    measured.arithmetic = arithmetic;
    return measured;
}

}  // namespace mge
