// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/onednn/call.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <iterator>

#include "libmge/base/error.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/onednn/nan_repair.h"
#include "libmge/kernel/cpu/onednn/packed_weight.h"
#include "libmge/kernel/cpu/onednn/primitive.h"
#include "libmge/kernel/cpu/parallel.h"

namespace mge::onednn {
namespace {

constexpr size_t alignment = 64;
size_t aligned(size_t bytes) { return round_up(bytes, alignment); }

MemoryDesc argument_desc(const_dnnl_primitive_desc_t desc, int argument) {
    MemoryDesc found = memory_of(desc, argument);
    MGE_CHECK(found.rank(), "the primitive has no argument ", argument);
    return found;
}

// A place where a primitive reads or writes.
struct Slot {
    enum Kind { input, output, workspace, fixed } kind;
    MemoryDesc desc;
    size_t index;  // index of the input or output; offset in the workspace
    void* address = nullptr;
};

struct Step {
    Primitive primitive;                            // null: copy `bytes` from the first slot to the second
    std::vector<std::pair<int, size_t>> arguments;  // DNNL_ARG_…, slot
    size_t bytes = 0;
    bool is_independent = false;             // its shares of work never wait for each other
    std::unique_ptr<NanRepair> repair = {};  // set where the primitive applies an activation
};

// oneDNN objects that contain addresses, and so belong to one run at a time.
struct ArgumentSet {
    std::vector<Memory> memories;
    std::vector<void*> addresses;
    std::vector<std::vector<dnnl_exec_arg_t>> arguments;
};

}  // namespace

struct Call::Plan {
    std::vector<Slot> slots;
    std::vector<Step> steps;
    std::vector<std::shared_ptr<const PackedWeight>> weights;
    PackedInputs packed;
    Packing packing;  // only while the call is made
    size_t workspace = 0;
    // Sets kept for later runs; a run without a free set makes one.
    static constexpr size_t kept_sets = 8;
    std::array<std::atomic<ArgumentSet*>, kept_sets> idle{};

    ~Plan() {
        for (auto& set : idle) std::unique_ptr<ArgumentSet>{set.load()};
    }
    size_t add_slot(Slot::Kind kind, const MemoryDesc& desc, size_t index, void* address = nullptr) {
        slots.push_back({kind, desc, index, address});
        return slots.size() - 1;
    }
    size_t add_workspace(const MemoryDesc& desc) {
        size_t offset = workspace;
        workspace += aligned(desc.bytes());
        return add_slot(Slot::workspace, desc, offset);
    }
    void add_step(Primitive primitive, std::vector<std::pair<int, size_t>> arguments);
    void add_reorder(size_t from, size_t to);
    size_t add_constant(const Operand& operand, const MemoryDesc& used);
    size_t add_input(const Operand& operand, const MemoryDesc& used);
    void preload(const Operand& residual, size_t destination);
    std::unique_ptr<ArgumentSet> make_set() const;
    std::unique_ptr<ArgumentSet> take_set();
    void give_back(std::unique_ptr<ArgumentSet> set);
    void* address(const Slot& slot, const Launch& launch) const;
    void run_step(size_t i, const ArgumentSet& set) const;
};

void Call::Plan::add_step(Primitive primitive, std::vector<std::pair<int, size_t>> arguments) {
    MemoryDesc scratchpad = scratchpad_of(primitive);
    if (scratchpad.bytes()) arguments.emplace_back(DNNL_ARG_SCRATCHPAD, add_workspace(scratchpad));
    steps.push_back({std::move(primitive), std::move(arguments)});
}

void Call::Plan::add_reorder(size_t from, size_t to) {
    add_step(make_reorder(slots[from].desc, slots[to].desc), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

size_t Call::Plan::add_constant(const Operand& operand, const MemoryDesc& used) {
    auto& weight = weights.emplace_back(
        pack_weight(operand.given, used, operand.constant, ThreadScope::threads(), packing));
    packed.pieces.push_back({weight->data(), used.bytes()});
    packed.inputs |= 1u << operand.index;
    return add_slot(Slot::fixed, used, 0, weight->data());
}

size_t Call::Plan::add_input(const Operand& operand, const MemoryDesc& used) {
    if (operand.given == used) return add_slot(Slot::input, used, operand.index);
    if (operand.constant) return add_constant(operand, used);
    size_t from = add_slot(Slot::input, operand.given, operand.index);
    size_t to = add_workspace(used);
    add_reorder(from, to);
    return to;
}

void Call::Plan::preload(const Operand& residual, size_t destination) {
    size_t from = add_slot(Slot::input, residual.given, residual.index);
    if (residual.given != slots[destination].desc) return add_reorder(from, destination);
    steps.push_back({nullptr, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, destination}}, residual.given.bytes()});
}

std::unique_ptr<ArgumentSet> Call::Plan::make_set() const {
    auto set = std::make_unique<ArgumentSet>();
    for (auto& slot : slots) {
        dnnl_memory_t memory;
        check(dnnl_memory_create(&memory, slot.desc.get(), engine(), slot.address), "dnnl_memory_create");
        set->memories.emplace_back(memory);
        set->addresses.push_back(slot.address);
    }
    for (auto& step : steps) {
        auto& list = set->arguments.emplace_back();
        for (auto [argument, slot] : step.arguments) list.push_back({argument, set->memories[slot].get()});
    }
    return set;
}

std::unique_ptr<ArgumentSet> Call::Plan::take_set() {
    for (auto& place : idle)
        if (place.load(std::memory_order_relaxed))
            if (auto* set = place.exchange(nullptr, std::memory_order_acquire))
                return std::unique_ptr<ArgumentSet>(set);
    return make_set();
}

void Call::Plan::give_back(std::unique_ptr<ArgumentSet> set) {
    for (auto& place : idle) {
        ArgumentSet* expected = nullptr;
        if (place.compare_exchange_strong(expected, set.get(), std::memory_order_release)) {
            set.release();
            return;
        }
    }
}

void* Call::Plan::address(const Slot& slot, const Launch& launch) const {
    switch (slot.kind) {
        case Slot::input:
            return const_cast<void*>(launch.inputs[slot.index]);
        case Slot::output:
            return launch.outputs[slot.index];
        case Slot::workspace:
            return static_cast<char*>(launch.workspace) + slot.index;
        default:
            return slot.address;
    }
}

void Call::Plan::run_step(size_t i, const ArgumentSet& set) const {
    auto& step = steps[i];
    if (step.primitive) {
        auto& arguments = set.arguments[i];
        RegionScope scope(&RegionRules::never_waits, step.is_independent);
        auto execute = [&] {
            check(dnnl_primitive_execute(step.primitive.get(), stream(), int(arguments.size()),
                                         arguments.data()),
                  "dnnl_primitive_execute");
        };
        return step.repair ? step.repair->run(arguments, execute) : execute();
    }
    void* from = set.addresses[step.arguments[0].second];
    void* to = set.addresses[step.arguments[1].second];
    if (from != to) std::memcpy(to, from, step.bytes);
}

Call::Call(const PrimitiveDesc& desc, const std::vector<Operand>& operands, const Operand* residual,
           const Packing& packing, Activation activation)
    : plan_(std::make_unique<Plan>()) {
    Plan& plan = *plan_;
    plan.packing = packing;
    std::vector<std::pair<int, size_t>> arguments;
    std::vector<std::pair<size_t, size_t>> behind;
    for (auto& operand : operands) {
        MemoryDesc used = argument_desc(desc.get(), operand.argument);
        size_t slot;
        if (!operand.is_output) {
            slot = plan.add_input(operand, used);
        } else if (operand.given == used) {
            slot = plan.add_slot(Slot::output, used, operand.index);
        } else {
            slot = plan.add_workspace(used);
            behind.emplace_back(slot, plan.add_slot(Slot::output, operand.given, operand.index));
        }
        if (residual && operand.argument == DNNL_ARG_DST) plan.preload(*residual, slot);
        arguments.emplace_back(operand.argument, slot);
    }
    plan.add_step(make_primitive(desc.get()), std::move(arguments));
    if (activation != Activation::none) {
        auto& step = plan.steps.back();
        step.repair = std::make_unique<NanRepair>(step.primitive, activation, residual != nullptr);
    }
    for (auto [from, to] : behind) plan.add_reorder(from, to);
    for (auto& step : plan.steps)
        step.is_independent = step.primitive && has_independent_shares(step.primitive);
    plan.packing = {};
    plan.give_back(plan.make_set());
}

Call::~Call() = default;
Call::Call(Call&&) noexcept = default;
Call& Call::operator=(Call&&) noexcept = default;

size_t Call::workspace() const { return plan_->workspace; }
const PackedInputs& Call::packed() const { return plan_->packed; }

std::vector<MemoryPiece> Call::code() const {
    std::vector<MemoryPiece> pieces;
    for (auto& step : plan_->steps)
        if (step.primitive) std::ranges::copy(pieces_of(step.primitive), std::back_inserter(pieces));
    return pieces;
}

void Call::run(const Launch& launch, int threads) const {
    ThreadScope scope(std::min(launch.threads, threads));
    auto set = plan_->take_set();
    for (size_t i = 0; i < plan_->slots.size(); ++i) {
        void* address = plan_->address(plan_->slots[i], launch);
        if (address == set->addresses[i]) continue;
        check(dnnl_memory_set_data_handle(set->memories[i].get(), address), "dnnl_memory_set_data_handle");
        set->addresses[i] = address;
    }
    for (size_t i = 0; i < plan_->steps.size(); ++i) plan_->run_step(i, *set);
    plan_->give_back(std::move(set));
}

void run_call(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<CallState>();
    state.call.run(launch, state.threads);
}

}  // namespace mge::onednn
