// SPDX-License-Identifier: Apache-2.0
#include "tests/shadow/shadow_device.h"

#include <array>
#include <memory>
#include <vector>

#include "libmge/kernel/select.h"
#include "libmge/op/backend.h"
#include "tests/shadow/shadow_memory.h"
#include "tests/shadow/shadow_queue.h"

namespace mge::test {
namespace {

constexpr int device_count = 2, queue_count = 4;

// Plain memory, counted.
struct Locked final : Storage {
    ShadowFigures* figures = nullptr;
    StorageRef memory;
};

void release_locked(Storage* storage) {
    std::unique_ptr<Locked> owned(static_cast<Locked*>(storage));
    owned->figures->page_locked -= owned->bytes;
}

StorageRef allocate_locked(ShadowFigures& figures, size_t bytes) {
    auto locked = std::make_unique<Locked>();
    locked->memory = queue_of(host_device).allocate(bytes);
    locked->data = locked->memory->data;
    locked->bytes = bytes;
    locked->release = release_locked;
    locked->figures = &figures;
    figures.page_locked += bytes;
    return StorageRef(locked.release());
}

class ShadowDevice final : public Device {
public:
    explicit ShadowDevice(int index) {
        for (int i = 0; i < queue_count; ++i)
            queues_[size_t(i)] =
                std::make_unique<ShadowQueue>(figures_, unsigned(1 + index * queue_count + i)).release();
    }
    std::string model() const override { return "a shadow"; }
    std::string fingerprint() const override { return "a shadow of this build"; }
    Queue& queue(int stream) override { return own_queue(stream); }
    ShadowQueue& own_queue(int stream) { return *queues_.at(size_t(stream)); }
    MemoryStats memory() const override {
        return {figures_.allocated, figures_.reserved,   0, figures_.peak, figures_.limit,
                figures_.reserved,  figures_.page_locked};
    }
    void set_memory_limit(size_t bytes) override { figures_.limit = bytes; }
    void reset_peak() override { figures_.peak = figures_.allocated.load(); }
    void release_cached() override {}
    void synchronize() override {
        for (auto* queue : queues_) queue->wait();
    }
    StorageRef allocate_host(size_t bytes) override { return allocate_locked(figures_, bytes); }
    bool locks_host_memory() const override { return true; }

private:
    ShadowFigures figures_;
    std::array<ShadowQueue*, queue_count> queues_;
};

// Never destroyed: the threads of their queues run until the process ends.
Device& open_shadow(int index) {
    static const auto devices = [] {
        std::array<ShadowDevice*, device_count> all;
        for (int i = 0; i < device_count; ++i) all[size_t(i)] = std::make_unique<ShadowDevice>(i).release();
        return all;
    }();
    return *devices.at(size_t(index));
}

KernelList cpu_kernels(const Problem& problem) {
    const OpInfo* op = find_op(problem.op);
    MGE_CHECK(op, problem.op);
    return find_kernels(*op, host_device);
}

Problem on_cpu(Problem problem) {
    problem.device = problem.output_device = host_device;
    return problem;
}

// A kernel of the CPU with what it prepared.
struct Translated {
    const Algorithm* algorithm;
    std::shared_ptr<const Prepared> prepared;
};

Support supports(const Problem& problem) {
    bool any = !list_candidates(cpu_kernels(problem), on_cpu(problem)).empty();
    return any ? supported : Support{"the CPU has no kernel for it"};
}

std::vector<Candidate> candidates(const Problem& problem) {
    std::vector<Candidate> result;
    for (auto& named : list_candidates(cpu_kernels(problem), on_cpu(problem)))
        result.push_back(named.candidate);
    return result;
}

Prepared prepare(const PrepareContext& context) {
    Problem problem = on_cpu(context.problem);
    auto& memory = ShadowMemory::instance();
    queue_of(context.problem.device).wait();  // constants may still be on their way
    std::vector<const void*> constants;
    for (auto* constant : context.constants) constants.push_back(memory.on_host(constant));
    for (auto& named : list_candidates(cpu_kernels(problem), problem))
        if (named.candidate.name == context.candidate.name) {
            auto prepared = std::make_shared<const Prepared>(
                named.algorithm->prepare({problem, named.candidate, constants, context.select}));
            size_t workspace = prepared->workspace();
            auto packed = prepared->packed();
            return Prepared::make(Translated{named.algorithm, std::move(prepared)}, workspace,
                                  std::move(packed));
        }
    throw InternalError(text("no candidate ", context.candidate.name));
}

// Gives the kernel, which runs on the host, what the device's addresses stand for.
class TranslatedOutputs final : public OutputAllocator {
public:
    explicit TranslatedOutputs(OutputAllocator& outputs) : outputs_(outputs) {}
    void* allocate(size_t output, const TensorSpec& spec) override {
        return ShadowMemory::instance().on_host(outputs_.allocate(output, spec));
    }

private:
    OutputAllocator& outputs_;
};

void run(const Prepared& prepared, const Launch& launch) {
    MGE_CHECK(launch.queue, "a launch without a queue");
    auto& memory = ShadowMemory::instance();
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (auto* input : launch.inputs) inputs.push_back(memory.on_host(input));
    for (auto* output : launch.outputs) outputs.push_back(memory.on_host(output));
    void* workspace = memory.on_host(launch.workspace);
    auto translated = prepared.state<Translated>();
    auto& queue = static_cast<ShadowQueue&>(*launch.queue);
    if (launch.allocator) {
        // Only the kernel knows how large its outputs are.
        queue.wait();
        TranslatedOutputs allocator(*launch.allocator);
        translated.algorithm->run(*translated.prepared, {inputs, outputs, workspace, launch.threads,
                                                         &allocator, nullptr, launch.run});
        return;
    }
    queue.add([=, threads = launch.threads]() mutable {
        translated.algorithm->run(*translated.prepared, {inputs, outputs, workspace, threads});
    });
}

KernelList shadow_kernels() {
    static constexpr Algorithm list[] = {{"shadow", supports, prepare, run, {}, candidates}};
    return list;
}

std::vector<KernelEntry> kernel_entries() {
    std::vector<KernelEntry> entries;
    for (auto* op : all_ops()) entries.push_back({op, shadow_kernels});
    return entries;
}

}  // namespace

const Backend& shadow_backend() {
    static const auto entries = kernel_entries();
    static const Backend backend{backend_abi, "shadow", entries, device_count, open_shadow};
    return backend;
}

DeviceId shadow_device(int index, int stream) {
    static const uint8_t kind = add_backend(shadow_backend());
    DeviceId id;
    id.kind = kind;
    id.index = uint8_t(index);
    id.stream = uint8_t(stream);
    id.is_default = false;
    return id;
}

namespace {

ShadowQueue& shadow_queue(DeviceId queue) { return dynamic_cast<ShadowQueue&>(queue_of(queue)); }

}  // namespace

void fail_next_work(DeviceId queue, const char* text) { shadow_queue(queue).fail_next(text); }

std::thread::id last_caller(DeviceId queue) { return shadow_queue(queue).last_caller(); }

HeldQueue::HeldQueue(DeviceId queue) : queue_(queue) { shadow_queue(queue).hold(true); }
HeldQueue::~HeldQueue() { shadow_queue(queue_).hold(false); }

HiddenClock::HiddenClock(DeviceId queue) : queue_(queue) { shadow_queue(queue).hide_clock(true); }
HiddenClock::~HiddenClock() { shadow_queue(queue_).hide_clock(false); }

}  // namespace mge::test
