// SPDX-License-Identifier: Apache-2.0
// A backend as another vendor would write it: a shared object of its own that links libmge.so and exports one
// C function. Its memory holds every byte inverted, so that host code that reads it directly, or a kernel of
// the CPU that runs on it by mistake, gives wrong numbers instead of passing by luck.
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "libmge/op/backend.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"

namespace mge::ops {
namespace {

struct Fake {};

constexpr uint8_t inverted = 0xff;

template <class T>
T load(const void* base, int64_t i) {
    T value;
    auto* bytes = static_cast<const uint8_t*>(base) + size_t(i) * sizeof(T);
    auto* target = reinterpret_cast<uint8_t*>(&value);
    for (size_t b = 0; b < sizeof(T); ++b) target[b] = bytes[b] ^ inverted;
    return value;
}
template <class T>
void store(void* base, int64_t i, T value) {
    auto* bytes = static_cast<uint8_t*>(base) + size_t(i) * sizeof(T);
    auto* source = reinterpret_cast<const uint8_t*>(&value);
    for (size_t b = 0; b < sizeof(T); ++b) bytes[b] = source[b] ^ inverted;
}

Support equal_f32(const Problem& problem) {
    bool fits = problem.outputs[0].dtype == DType::f32 && problem.inputs[0].shape == problem.inputs[1].shape;
    return fits ? supported : Support{"only f32 tensors of equal shape"};
}
Prepared prepare_count(const PrepareContext& context) {
    return Prepared::make(context.problem.outputs[0].numel());
}
void run_add(const Prepared& prepared, const Launch& launch) {
    for (int64_t i = 0; i < prepared.state<int64_t>(); ++i)
        store(launch.outputs[0], i, load<float>(launch.inputs[0], i) + load<float>(launch.inputs[1], i));
}

Support only_f32(const Problem& problem) {
    return problem.outputs[0].dtype == DType::f32 ? supported : Support{"only f32"};
}
void run_fill(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<FullLike::Params>>();
    for (int64_t i = 0; i < problem.outputs[0].numel(); ++i)
        store(launch.outputs[0], i, float(problem.params.value));
}

KernelList kernels(Fake, Add) {
    static constexpr Algorithm list[] = {{"fake_add", equal_f32, prepare_count, run_add}};
    return list;
}
KernelList kernels(Fake, FullLike) {
    static constexpr Algorithm list[] = {{"fake_fill", only_f32, copy_problem<FullLike::Params>, run_fill}};
    return list;
}

// Does its work at once, as a CPU does, though the host cannot make sense of its memory.
class FakeDevice final : public Device, public Queue {
public:
    std::string model() const override { return "a fake"; }
    std::string fingerprint() const override { return model(); }
    Queue& queue(int) override { return *this; }
    StorageRef allocate(size_t bytes) override {
        if (stats_.limit && stats_.allocated + bytes > stats_.limit)
            throw MemoryError("fake device: the memory limit is reached");
        auto storage = std::make_unique<Storage>();
        storage->data = std::make_unique<uint8_t[]>(bytes + 1).release();
        storage->bytes = bytes;
        storage->release = &FakeDevice::release;
        stats_.allocated += bytes;
        stats_.peak = std::max(stats_.peak, stats_.allocated);
        return StorageRef(storage.release());
    }
    MemoryStats memory() const override { return stats_; }
    void set_memory_limit(size_t bytes) override { stats_.limit = bytes; }
    void reset_peak() override { stats_.peak = stats_.allocated; }
    void release_cached() override {}
    void copy_from_host(void* target, const void* source, size_t bytes) override {
        for (size_t i = 0; i < bytes; ++i)
            static_cast<uint8_t*>(target)[i] = static_cast<const uint8_t*>(source)[i] ^ inverted;
    }
    void copy_to_host(void* target, const void* source, size_t bytes) override {
        copy_from_host(target, source, bytes);
    }
    void copy(void* target, const void* source, size_t bytes) override { std::memcpy(target, source, bytes); }
    void fill(void* target, int byte, size_t bytes) override { std::memset(target, byte ^ inverted, bytes); }
    std::shared_ptr<const Event> record() override { return nullptr; }
    void wait_for(const Event& event) override { event.wait(); }
    void wait() override {}
    void synchronize() override {}

private:
    static void release(Storage* storage) {
        std::unique_ptr<Storage> owned(storage);
        std::unique_ptr<uint8_t[]> data(static_cast<uint8_t*>(storage->data));
        stats_.allocated -= storage->bytes;
    }
    static inline MemoryStats stats_;
};

Device& open_fake(int) {
    static FakeDevice device;
    return device;
}

constexpr auto table = kernel_table<Fake>(TypeList<Add, FullLike>{});
constinit const Backend backend{backend_abi, "fake", table, 1, open_fake};

}  // namespace
}  // namespace mge::ops

extern "C" MGE_API const mge::Backend* mge_fake_backend() { return &mge::ops::backend; }
extern "C" MGE_API const mge::Backend* mge_fake_backend_of_the_future() {
    static mge::Backend other = mge::ops::backend;
    other.abi = mge::backend_abi + 1;
    return &other;
}
