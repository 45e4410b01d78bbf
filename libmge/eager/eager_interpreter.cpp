// SPDX-License-Identifier: Apache-2.0
// Runs operators at once. The overhead of an operator is paid once per operator, parameters and specs: the
// inferred outputs and the selected algorithm stay in a small cache of the thread.

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>

#include "libmge/base/rethrow.h"
#include "libmge/base/threads/threads.h"
#include "libmge/device/default_device.h"
#include "libmge/device/work_origin.h"
#include "libmge/eager/async_level.h"
#include "libmge/eager/operator_observer.h"
#include "libmge/kernel/launch.h"
#include "libmge/kernel/select_settings.h"
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"
#include "libmge/op/graph_value.h"
#include "libmge/op/nothing_to_do.h"
#include "libmge/op/view_offsets.h"
#include "libmge/tensor/borrowed.h"
#include "libmge/tensor/same_place.h"

namespace mge {
namespace {

// A set-associative cache of plans. A new plan may take milliseconds (a convolution's), so a set is large:
// with 1,000 calls per step, a set overflows in one of two hundred processes.
constexpr size_t plan_sets = 64, plans_of_set = 32;
constexpr size_t recent_slots = 64;

struct Plan {
    const OpInfo* op = nullptr;
    int running = 0;  // nested calls in progress; such a plan must not be evicted
    std::shared_ptr<const void> params;
    TensorSpecs inputs, outputs;
    DeviceId device, output_device;  // the kernel's, the outputs'
    int threads = 1;
    SelectSettings settings;           // in effect when the algorithm was chosen
    bool moves = false;                // the operator chooses the device of its outputs
    std::vector<size_t> view_offsets;  // into the memory of input 0; if set, there is no algorithm
    Choice choice;
    Queue *queue = nullptr, *output_queue = nullptr;
    std::vector<size_t> output_bytes;          // 0 if known only at run time
    std::shared_ptr<const WorkOrigin> origin;  // null on synchronous devices
};

// The origin of an asynchronous operator.
class OperatorOrigin final : public WorkOrigin {
public:
    explicit OperatorOrigin(const OpInfo& op) : op_(op) {}
    std::string text() const override { return std::string(op_.name); }

private:
    const OpInfo& op_;
};

struct Plans {
    std::array<std::unique_ptr<Plan>, plan_sets * plans_of_set> slots;  // grouped by set
    std::array<uint32_t, plan_sets * plans_of_set> hashes{};            // hash values of the calls
    std::array<uint8_t, plan_sets> next{};                              // next slot to evict in each set
    // By operator: the plan of its last call, which the next call tries before it hashes anything.
    std::array<uint16_t, recent_slots> recent{};
};
// A plain pointer in static TLS: accessing an object with a destructor costs two calls each time.
[[gnu::tls_model("initial-exec")]] constinit thread_local Plans* thread_plans = nullptr;

constinit thread_local bool are_plans_closed = false;
constinit std::atomic<OperatorObserver*> observer = nullptr;

[[gnu::noinline]] Plans& open_plans() {
    struct Owner {
        std::unique_ptr<Plans> plans = std::make_unique<Plans>();
        ~Owner() {
            are_plans_closed = true;
            thread_plans = nullptr;
        }
    };
    if (are_plans_closed) {
        // Destructors of an ending thread may still apply operators. Their few plans are leaked.
        thread_plans = std::make_unique<Plans>().release();
    } else {
        thread_local Owner owner;
        thread_plans = owner.plans.get();
    }
    return *thread_plans;
}

uint64_t hash_call(const OpInfo& op, const void* params, std::span<const Tensor> inputs) {
    constexpr uint64_t multiplier = 0x9e3779b97f4a7c15;
    uint64_t hash = reinterpret_cast<uintptr_t>(&op) * multiplier;
    if (!op.fields.empty()) hash ^= op.params.hash(params);
    auto mix = [&](uint64_t value) { hash = (hash ^ hash >> 29 ^ value) * multiplier; };
    for (auto& input : inputs) {
        mix(input ? uint64_t(input.dtype()) << 8 | uint64_t(input.shape().rank()) : 0);
        if (!input) continue;
        for (int64_t extent : input.shape().dims()) mix(uint64_t(extent));
    }
    return hash;
}

// The functions that most calls run are inlined by force: GCC leaves one of them out of line, each time
// another, and a small operator takes up to 7 % more instructions.
[[gnu::always_inline]] inline bool same_spec(const TensorSpec& spec, const Tensor& tensor) {
    if (!tensor) return spec.is_absent();
    return spec.dtype == tensor.dtype() && spec.shape == tensor.shape();
}

[[gnu::always_inline]] inline bool fits(const Plan& plan, const OpInfo& op, const void* params,
                                        std::span<const Tensor> inputs, const DeviceId& id, int threads) {
    if (plan.op != &op || plan.inputs.size() != inputs.size() || !is_same_place(plan.device, id) ||
        plan.threads != threads || !(plan.settings == select_settings()))
        return false;
    for (size_t i = 0; i < inputs.size(); ++i)
        if (!same_spec(plan.inputs[i], inputs[i])) return false;
    return op.fields.empty() || op.params.equal(plan.params.get(), params);
}

// A graph value may only be used for its shape.
inline void refuse_graph_values(const OpInfo& op, std::span<const Tensor> inputs) {
    for (auto& input : inputs)
        if (input && input.is_symbolic() && !op.traits.reads_only_specs) [[unlikely]]
            throw_graph_value(op.name);
}

std::unique_ptr<Plan> make_plan(const OpInfo& op, const void* params, std::span<const Tensor> inputs,
                                DeviceId id, int threads) {
    refuse_graph_values(op, inputs);
    auto plan = std::make_unique<Plan>();
    plan->op = &op;
    plan->params = op.params.copy(params);
    for (auto& input : inputs) plan->inputs.push_back(input ? input.spec() : TensorSpec{});
    plan->device = id;
    plan->moves = op.place != nullptr;
    plan->output_device = plan->moves ? op.place(params) : id;
    plan->threads = threads;
    plan->settings = select_settings();
    plan->outputs = op.infer(plan->params.get(), plan->inputs);
    plan->queue = &queue_of(id);
    plan->output_queue = &queue_of(plan->output_device);
    if (!id.is_host() || !plan->output_device.is_host())
        plan->origin = std::make_shared<const OperatorOrigin>(op);
    for (auto& spec : plan->outputs) {
        if (spec.shape.is_known()) checked_numel(op.name, spec.shape);
        plan->output_bytes.push_back(spec.shape.is_known() ? spec.bytes() : 0);
    }
    if (!plan->inputs.empty())
        plan->view_offsets = view_offsets(op, plan->params.get(), plan->inputs[0], plan->outputs);
    if (plan->view_offsets.empty()) {
        Problem problem = make_problem(op, plan->params.get(), plan->inputs, plan->outputs);
        problem.device = id;
        problem.threads = threads;
        problem.output_device = plan->output_device;
        plan->choice = select(find_kernels(op, id), problem, plan->settings);
        if (has_nothing_to_do(op, plan->outputs)) leave_undone(plan->choice);
    }
    return plan;
}

inline uint16_t& recent_slot(Plans& plans, const OpInfo& op) {
    return plans.recent[reinterpret_cast<uintptr_t>(&op) / sizeof(OpInfo) % recent_slots];
}

// Returns the oldest idle plan of a set.
size_t next_slot(Plans& plans, size_t set) {
    auto& next = plans.next[set];
    for (size_t tried = 0;; ++tried) {
        MGE_CHECK(tried < plans_of_set, "operators are nested too deeply: ", tried);
        size_t slot = set * plans_of_set + next;
        next = uint8_t((next + 1) % plans_of_set);
        if (!plans.slots[slot] || !plans.slots[slot]->running) return slot;
    }
}

// The slow path, kept out of line so that the fast path can be inlined.
[[gnu::noinline]] Plan& find_or_make_plan(const OpInfo& op, const void* params,
                                          std::span<const Tensor> inputs, DeviceId id) {
    Plans& plans = thread_plans ? *thread_plans : open_plans();
    const int threads = default_threads();
    const uint64_t hash = hash_call(op, params, inputs);
    const size_t set = (hash >> 32) % plan_sets, first = set * plans_of_set;
    auto& recent = recent_slot(plans, op);
    for (size_t slot = first; slot < first + plans_of_set; ++slot) {
        if (plans.hashes[slot] != uint32_t(hash) || !plans.slots[slot]) continue;
        if (!fits(*plans.slots[slot], op, params, inputs, id, threads)) continue;
        recent = uint16_t(slot);
        return *plans.slots[slot];
    }
    auto plan = make_plan(op, params, inputs, id, threads);
    const size_t slot = next_slot(plans, set);
    plans.hashes[slot] = uint32_t(hash);
    recent = uint16_t(slot);
    return *(plans.slots[slot] = std::move(plan));
}

[[gnu::always_inline]] inline Plan& find_plan(const OpInfo& op, const void* params,
                                              std::span<const Tensor> inputs, const DeviceId& id) {
    if (Plans* plans = thread_plans) [[likely]] {
        auto& slot = plans->slots[recent_slot(*plans, op)];
        if (slot && fits(*slot, op, params, inputs, id, default_threads())) [[likely]]
            return *slot;
    }
    return find_or_make_plan(op, params, inputs, id);
}

// Marks a plan as running: nested operators on this thread must not evict it.
class Running {
public:
    explicit Running(Plan& plan) : plan_(plan) { ++plan_.running; }
    ~Running() { --plan_.running; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

private:
    Plan& plan_;
};

// Allocates outputs whose shape is known only at run time.
class RuntimeOutputs final : public OutputAllocator {
public:
    RuntimeOutputs(Tensors& outputs, DeviceId id) : outputs_(outputs), id_(id) {}
    void* allocate(size_t output, const TensorSpec& spec) override {
        outputs_.at(output) = empty_tensor(spec, id_);
        return outputs_[output].address();
    }

private:
    Tensors& outputs_;
    DeviceId id_;
};

// `id` is the device of the first input, as the user spelled it.
[[gnu::always_inline]] inline Tensor make_output(const Plan& plan, size_t i, const DeviceId& id) {
    return Tensor(plan.outputs[i], plan.output_queue->allocate(plan.output_bytes[i]), 0,
                  plan.moves ? plan.output_device : id);
}

// True if the operator receives the tensor once. A second use would be read while the output is written.
bool is_single(const Tensor& input, std::span<const Tensor> inputs) {
    return std::ranges::count_if(inputs, [&](auto& x) { return x && x.is_same(input); }) == 1;
}

// Returns the memory of an input that an output may overwrite, or null.
StorageRef taken_over(const Plan& plan, size_t output, std::span<const Tensor> inputs) {
    for (auto [to, from] : plan.op->in_place) {
        if (size_t(to) != output || size_t(from) >= inputs.size() || !inputs[size_t(from)]) continue;
        auto& input = inputs[size_t(from)];
        bool fits = input.device() == plan.output_device && input.dtype() == plan.outputs[output].dtype &&
                    input.spec().bytes() == plan.output_bytes[output] && input.impl()->offset == 0;
        fits = fits && input.is_sole_owner() && !is_borrowed(*input.impl()->storage.get());
        if (fits && is_single(input, inputs)) return input.impl()->storage;
    }
    return {};
}

Tensor make_output_of_update(const Plan& plan, size_t i, std::span<const Tensor> inputs, DeviceId id) {
    StorageRef storage = taken_over(plan, i, inputs);
    return storage ? Tensor(plan.outputs[i], std::move(storage), 0, id) : make_output(plan, i, id);
}

[[gnu::noinline]] DeviceId find_place(const OpInfo& op, std::span<const Tensor> inputs) {
    return place_of_inputs(op, inputs, default_device());
}

// Returns the device the operator runs on. All inputs except host values are on one device, which apply() has
// checked. Usually the first input is one of them. Otherwise `found` holds the result for the duration of the
// caller's expression.
inline const DeviceId& place_of_call(const OpInfo& op, std::span<const Tensor> inputs,
                                     DeviceId&& found = {}) {
    if (!inputs.empty() && inputs[0] && op.inputs[0].kind != InputKind::host) return inputs[0].impl()->device;
    return found = find_place(op, inputs);
}

// A tensor without memory may only be used for its shape.
[[gnu::noinline]] void refuse_to_read(const OpInfo& op, std::span<const Tensor> inputs, size_t input) {
    refuse_graph_values(op, inputs);
    MGE_CHECK(op.traits.reads_only_specs, "input ", input, " of ", op.name, " has no memory");
}

inline void launch_plan(const Plan& plan, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                        OutputAllocator* allocator) {
    launch(*plan.choice.algorithm, plan.choice.prepared, {*plan.queue, plan.threads, allocator}, inputs,
           outputs);
}

[[gnu::noinline]] void run_later(const Plan& plan, std::span<const Tensor> inputs,
                                 std::span<const Tensor> outputs, OutputAllocator* allocator) {
    WorkOriginScope scope(plan.origin);
    launch_plan(plan, inputs, outputs, allocator);
    if (async_level() > 0) return;
    plan.queue->wait();
    plan.output_queue->wait();
}

inline void run_now_or_later(const Plan& plan, std::span<const Tensor> inputs,
                             std::span<const Tensor> outputs, OutputAllocator* allocator) {
    if (plan.origin) [[unlikely]]
        return run_later(plan, inputs, outputs, allocator);
    launch_plan(plan, inputs, outputs, allocator);
}

[[gnu::noinline]] void run_observed(const Plan& plan, std::span<const Tensor> inputs,
                                    std::span<const Tensor> outputs, OutputAllocator* allocator) {
    std::vector<uint64_t> noted;
    std::shared_ptr<const Event> device_begin, device_end;
    Queue* queue = plan.output_device.is_host() ? plan.queue : plan.output_queue;
    if (auto* current = observer.load(std::memory_order_acquire)) {
        noted = current->before(inputs, outputs);
        if (plan.origin && current->reads_clocks()) device_begin = queue->record_time();
    }
    auto begin = std::chrono::steady_clock::now();
    run_now_or_later(plan, inputs, outputs, allocator);
    if (device_begin)
        device_end = queue->record_time();
    else if (plan.origin)
        plan.output_queue->wait();
    auto end = std::chrono::steady_clock::now();
    if (auto* current = observer.load(std::memory_order_acquire))
        current->ran({*plan.op, plan.params.get(), inputs, outputs, plan.device, begin, end, noted,
                      device_begin, device_end});
}

[[gnu::always_inline]] inline void run_plan(const Plan& plan, std::span<const Tensor> inputs,
                                            std::span<const Tensor> outputs, OutputAllocator* allocator) {
    for (size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i] && !inputs[i].impl()->storage) [[unlikely]]
            refuse_to_read(*plan.op, inputs, i);
    if (observer.load(std::memory_order_relaxed)) [[unlikely]]
        return run_observed(plan, inputs, outputs, allocator);
    run_now_or_later(plan, inputs, outputs, allocator);
}

// Adds the operator's name to MemoryError and to exceptions of other libraries.
template <class Call>
[[gnu::always_inline]] inline auto naming(const OpInfo& op, Call call) {
    try {
        return call();
    } catch (const MemoryError&) {
        rethrow_in(std::string(op.name));
    } catch (const Error&) {
        throw;
    } catch (...) {
        rethrow_in(std::string(op.name));
    }
}

class EagerInterpreter final : public Interpreter {
public:
    Tensors apply(const OpInfo& op, const void* params, std::span<const Tensor> inputs) override {
        return naming(op, [&] { return apply_at(place_of_call(op, inputs), op, params, inputs); });
    }

    Tensor apply_one(const OpInfo& op, const void* params, std::span<const Tensor> inputs) override {
        return naming(op, [&] { return apply_one_at(place_of_call(op, inputs), op, params, inputs); });
    }

    Tensor alias(const Tensor& tensor) override { return tensor.alias(); }

    // Operators nested in this one do not take over memory: their operands are lent, and the lender may be
    // the only user.
    Tensors update(const OpInfo& op, const void* params, std::span<const Tensor> inputs) override {
        return naming(op, [&] { return apply_at<true>(place_of_call(op, inputs), op, params, inputs); });
    }

private:
    static bool has_host_values(const OpInfo& op, std::span<const Tensor> inputs) {
        for (size_t i = op.plain_inputs(inputs.size()); i < inputs.size(); ++i)
            if (inputs[i]) return true;
        return false;
    }
    static Tensor apply_one_at(const DeviceId& id, const OpInfo& op, const void* params,
                               std::span<const Tensor> inputs) {
        if ((op.resolve && has_host_values(op, inputs)) || op.traits.runtime_shape || op.traits.control)
            return apply_at(id, op, params, inputs).at(0);
        Plan& plan = find_plan(op, params, inputs, id);
        if (!plan.view_offsets.empty()) {
            refuse_graph_values(op, inputs.first(1));
            return view_of(inputs[0], plan.outputs[0], plan.view_offsets[0]);
        }
        Tensor output = make_output(plan, 0, id);
        run_plan(plan, inputs, {&output, 1}, nullptr);
        return output;
    }
    template <bool updates = false>
    static Tensors apply_at(const DeviceId& id, const OpInfo& op, const void* params,
                            std::span<const Tensor> inputs) {
        if (op.resolve && has_host_values(op, inputs)) {
            size_t first = op.plain_inputs(inputs.size());
            auto resolved = op.resolve(params, inputs.subspan(first));
            return apply_at<updates>(id, op, resolved.get(), inputs.first(first));
        }
        Plan& plan = find_plan(op, params, inputs, id);
        Tensors outputs(plan.outputs.size());
        if (!plan.view_offsets.empty()) {
            refuse_graph_values(op, inputs.first(1));
            for (size_t i = 0; i < outputs.size(); ++i)
                outputs[i] = view_of(inputs[0], plan.outputs[i], plan.view_offsets[i]);
            return outputs;
        }
        for (size_t i = 0; i < outputs.size(); ++i)
            if (plan.outputs[i].shape.is_known())
                outputs[i] = updates ? make_output_of_update(plan, i, inputs, id) : make_output(plan, i, id);
        RuntimeOutputs allocator(outputs, id);
        bool finds_shapes = op.traits.runtime_shape || op.traits.control;
        Running running(plan);
        run_plan(plan, inputs, outputs, finds_shapes ? &allocator : nullptr);
        return outputs;
    }
};

// At namespace scope: a function-local static would be checked at each call.
constinit EagerInterpreter eager;

}  // namespace

void observe_operators(OperatorObserver* current) { observer.store(current, std::memory_order_release); }

Interpreter& eager_interpreter() { return eager; }

}  // namespace mge
