// SPDX-License-Identifier: Apache-2.0
// The program is run block by block: each step is the row function of its operator's own fast algorithm, on
// registers of one block each that stay in the first-level cache. So a fused program gives the same bits as
// its operators one by one. Inputs of the output's size are read in place; inputs that are broadcast are
// expanded into a register block by block; scalars stay scalars.
#include <algorithm>
#include <cstring>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/rows.h"
#include "libmge/ops/elementwise/fused.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

constexpr int64_t block = 1024;  // elements; 4 KB per f32 register
// Room for the widest dtype, and some cache lines, so that slots do not lie at equal places of pages.
constexpr int64_t slot_bytes = block * 8 + 320;
constexpr int64_t elements_per_thread = 65536;  // steps * elements that are worth a second thread

// Where a register's values are while a block is computed.
enum class Place : uint8_t { whole_input, scalar_input, expanded_input, constant, slot, output };
struct Register {
    Place place = Place::slot;
    int index = 0;  // of the input, the constant or the slot
    int slot = 0;   // for expanded inputs: where they are expanded to
    int64_t element = 4;
    bool is_scalar = false;
    cpu::LoopNest nest;  // for expanded inputs: how they are repeated
};
struct FusedStep {
    cpu::ElementwiseState kernel;
    std::vector<int> operands;
    int result = 0;
};
struct FusedState {
    std::vector<Register> registers;
    std::vector<FusedStep> steps;
    std::vector<std::array<char, 8>> constants;
    int slots = 0;
    int64_t numel = 0;
};

// Slots are taken when a value appears and given back after its last use. A step's result never shares the
// slot of one of its operands: their elements may differ in size.
class SlotPool {
public:
    int take() {
        if (free_.empty()) return count_++;
        int slot = free_.back();
        free_.pop_back();
        return slot;
    }
    void give(int slot) { free_.push_back(slot); }
    int count() const { return count_; }

private:
    std::vector<int> free_;
    int count_ = 0;
};

// The operator's fast algorithm on a block of these dtypes, or null.
const Algorithm* find_row_algorithm(const Problem& problem, const OpInfo& op) {
    for (auto& algorithm : find_kernels(op, problem.device))
        if (algorithm.run == cpu::run_elementwise && algorithm.supports(problem)) return &algorithm;
    return nullptr;
}

struct BlockProblem {
    TensorSpecs inputs, outputs;
    Problem problem;
    BlockProblem(const Problem& fused, const FusedProgram::Step& step, const TensorSpecs& registers,
                 int result) {
        for (int operand : step.operands) inputs.push_back({registers[size_t(operand)].dtype, {block}, {}});
        outputs.push_back({registers[size_t(result)].dtype, {block}, {}});
        problem = {step.op->name, step.params.get(), step.op->fields, inputs, outputs, 0, fused.device, 1};
    }
    BlockProblem(const BlockProblem&) = delete;
};

std::array<char, 8> constant_bytes(double value, DType dtype) {
    std::array<char, 8> bytes{};
    dispatch_dtype(dtype, AllTypes{}, [&](auto type) {
        using T = typename decltype(type)::type;
        T typed{};
        if constexpr (is_float(DTypeOf<T>))
            typed = T(float(value));
        else
            typed = T(int64_t(value));
        std::memcpy(bytes.data(), &typed, sizeof typed);
    });
    return bytes;
}

Register place_input(int index, const TensorSpec& input, const TensorSpec& output) {
    Register r{Place::whole_input, index, 0, int64_t(size_of(input.dtype)), false, {}};
    if (input.numel() == 1) {
        r.place = Place::scalar_input;
        r.is_scalar = true;
    } else if (input.numel() != output.numel()) {
        r.place = Place::expanded_input;
        TensorSpec expanded{input.dtype, output.shape, {}};
        r.nest = cpu::make_loop_nest({&input, 1}, expanded);
    }
    return r;
}

// Gives all step results and expanded inputs their slots.
void assign_slots(FusedState& state, int inputs) {
    std::vector<int> last_use(state.registers.size(), -1);
    for (size_t i = 0; i < state.steps.size(); ++i)
        for (int operand : state.steps[i].operands) last_use[size_t(operand)] = int(i);
    SlotPool pool;
    for (int i = 0; i < inputs; ++i)  // expanded before the first step
        if (state.registers[size_t(i)].place == Place::expanded_input)
            state.registers[size_t(i)].slot = pool.take();
    for (size_t i = 0; i < state.steps.size(); ++i) {
        auto& result = state.registers[size_t(state.steps[i].result)];
        if (result.place == Place::slot) result.slot = pool.take();
        auto operands = state.steps[i].operands;
        std::sort(operands.begin(), operands.end());
        operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
        for (int operand : operands) {
            auto& r = state.registers[size_t(operand)];
            if (last_use[size_t(operand)] == int(i) &&
                (r.place == Place::slot || r.place == Place::expanded_input))
                pool.give(r.slot);
        }
        if (result.place == Place::slot && last_use[size_t(state.steps[i].result)] < 0)
            pool.give(result.slot);
    }
    state.slots = pool.count();
}

Support supports_blocks(const Problem& p) {
    auto program = FusedProgram::parse(p.as<FusedElementwise::Params>().program);
    TensorSpecs registers = program.infer(p.inputs);
    int result = program.inputs();
    for (auto& step : program.steps()) {
        if (step.op && !find_row_algorithm(BlockProblem(p, step, registers, result).problem, *step.op))
            return {"a step has no row-wise algorithm"};
        ++result;
    }
    return supported;
}

Prepared prepare_blocks(const PrepareContext& context) {
    auto& p = context.problem;
    auto program = FusedProgram::parse(p.as<FusedElementwise::Params>().program);
    TensorSpecs specs = program.infer(p.inputs);
    FusedState state;
    state.numel = p.outputs[0].numel();
    for (int i = 0; i < program.inputs(); ++i)
        state.registers.push_back(place_input(i, p.inputs[size_t(i)], p.outputs[0]));
    for (auto& step : program.steps()) {
        int result = int(state.registers.size());
        Register r{Place::slot, 0, 0, int64_t(size_of(specs[size_t(result)].dtype)), false, {}};
        if (!step.op) {
            r.place = Place::constant;
            r.index = int(state.constants.size());
            r.is_scalar = true;
            state.constants.push_back(constant_bytes(step.constant, step.constant_dtype));
        } else {
            BlockProblem part(p, step, specs, result);
            const Algorithm* algorithm = find_row_algorithm(part.problem, *step.op);
            Prepared prepared = algorithm->prepare({part.problem, {algorithm->name, 0, {}}, {}});
            state.steps.push_back({prepared.state<cpu::ElementwiseState>(), step.operands, result});
            r.is_scalar = std::all_of(step.operands.begin(), step.operands.end(), [&](int operand) {
                return state.registers[size_t(operand)].is_scalar;
            });
        }
        state.registers.push_back(std::move(r));
    }
    state.registers.back().place = Place::output;
    state.registers.back().is_scalar = false;
    assign_slots(state, program.inputs());
    return Prepared::make(std::move(state), size_t(state.slots * slot_bytes * p.threads));
}

// Elements [begin, begin + n) of an input as if it had the output's shape.
void expand(const Register& r, const char* data, int64_t begin, int64_t n, char* to) {
    auto& nest = r.nest;
    size_t last = size_t(nest.loops - 1);
    while (n > 0) {
        int64_t column = begin % nest.extent[last], rest = begin / nest.extent[last];
        int64_t count = std::min(n, nest.extent[last] - column);
        int64_t stride = nest.in_stride[0][last], offset = column * stride;
        for (int loop = nest.loops - 2; loop >= 0; --loop) {
            offset += rest % nest.extent[size_t(loop)] * nest.in_stride[0][size_t(loop)];
            rest /= nest.extent[size_t(loop)];
        }
        if (stride != 0)
            std::memcpy(to, data + offset, size_t(count * r.element));
        else
            for (int64_t i = 0; i < count; ++i)
                std::memcpy(to + i * r.element, data + offset, size_t(r.element));
        begin += count;
        to += count * r.element;
        n -= count;
    }
}

class BlockRun {
public:
    BlockRun(const FusedState& state, const Launch& launch, char* slots)
        : state_(state), launch_(launch), slots_(slots) {}

    void run(int64_t begin, int64_t n) const {
        for (auto& r : state_.registers)
            if (r.place == Place::expanded_input)
                expand(r, launch_.in<char>(size_t(r.index)), begin, n, slots_ + r.slot * slot_bytes);
        for (auto& step : state_.steps) {
            cpu::Rows rows;
            auto& result = state_.registers[size_t(step.result)];
            rows.n = result.is_scalar ? 1 : n;
            rows.functor = step.kernel.functor.data();
            rows.inner = step.kernel.inner;
            for (size_t i = 0; i < step.operands.size(); ++i) {
                auto& operand = state_.registers[size_t(step.operands[i])];
                rows.in[i] = address(operand, begin);
                rows.is_scalar[i] = operand.is_scalar;
            }
            rows.out = address(result, begin);
            step.kernel.run(rows);
        }
    }

private:
    char* address(const Register& r, int64_t begin) const {
        switch (r.place) {
            case Place::whole_input:
                return const_cast<char*>(launch_.in<char>(size_t(r.index))) + begin * r.element;
            case Place::scalar_input:
                return const_cast<char*>(launch_.in<char>(size_t(r.index)));
            case Place::constant:
                return const_cast<char*>(state_.constants[size_t(r.index)].data());
            case Place::output:
                return launch_.out<char>(0) + begin * r.element;
            case Place::expanded_input:
            case Place::slot:
                break;
        }
        return slots_ + r.slot * slot_bytes;
    }

    const FusedState& state_;
    const Launch& launch_;
    char* slots_;
};

void run_blocks(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<FusedState>();
    char* slots = static_cast<char*>(launch.workspace);
    int64_t blocks = (state.numel + block - 1) / block;
    auto run_part = [&](int part, int parts) {
        BlockRun run(state, launch, slots + part * state.slots * slot_bytes);
        for (int64_t b = blocks * part / parts; b < blocks * (part + 1) / parts; ++b)
            run.run(b * block, std::min(block, state.numel - b * block));
    };
    int64_t work = state.numel * int64_t(state.steps.size());
    if (launch.threads <= 1 || work < 2 * elements_per_thread || blocks < launch.threads)
        return run_part(0, 1);
    par_for(launch.threads, launch.threads, 1, [&](int64_t begin, int64_t end) {
        for (int64_t part = begin; part < end; ++part) run_part(int(part), launch.threads);
    });
}

// --- reference: one operator after the other, by their own references ---

struct ReferenceStep {
    const Algorithm* algorithm;
    Prepared prepared;
    std::vector<int> operands;
};
struct ReferenceState {
    TensorSpecs specs;
    std::vector<ReferenceStep> steps;  // one per register behind the inputs; constants have no algorithm
    std::vector<std::array<char, 8>> constants;
};

Prepared prepare_reference(const PrepareContext& context) {
    auto& p = context.problem;
    auto program = FusedProgram::parse(p.as<FusedElementwise::Params>().program);
    ReferenceState state{program.infer(p.inputs), {}, {}};
    for (auto& step : program.steps()) {
        size_t result = size_t(program.inputs()) + state.steps.size();
        state.constants.push_back(step.op ? std::array<char, 8>{}
                                          : constant_bytes(step.constant, step.constant_dtype));
        if (!step.op) {
            state.steps.push_back({nullptr, {}, {}});
            continue;
        }
        TensorSpecs inputs, outputs{state.specs[result]};
        for (int operand : step.operands) inputs.push_back(state.specs[size_t(operand)]);
        Problem part{step.op->name, step.params.get(), step.op->fields, inputs, outputs, 0, p.device, 1};
        const Algorithm& algorithm = find_kernels(*step.op, p.device).back();
        state.steps.push_back(
            {&algorithm, algorithm.prepare({part, {algorithm.name, 0, {}}, {}}), step.operands});
    }
    return Prepared::make(std::move(state));
}

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<ReferenceState>();
    std::vector<const void*> registers(launch.inputs.begin(), launch.inputs.end());
    std::vector<std::vector<char>> values(state.steps.size());
    for (size_t i = 0; i < state.steps.size(); ++i) {
        auto& step = state.steps[i];
        values[i].resize(state.specs[registers.size()].bytes());
        void* result = values[i].data();
        if (!step.algorithm) {
            std::memcpy(result, state.constants[i].data(), values[i].size());
        } else {
            std::vector<const void*> in;
            for (int operand : step.operands) in.push_back(registers[size_t(operand)]);
            step.algorithm->run(step.prepared, {in, {&result, 1}});
        }
        registers.push_back(result);
    }
    if (!values.back().empty()) std::memcpy(launch.outputs[0], values.back().data(), values.back().size());
}

}  // namespace

KernelList kernels(Cpu, FusedElementwise) {
    static constexpr Algorithm list[] = {
        {"blocks", supports_blocks, prepare_blocks, run_blocks},
        {"reference", always, prepare_reference, run_reference, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
