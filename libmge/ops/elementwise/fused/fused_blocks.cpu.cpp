// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/fused/fused_blocks.cpu.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "libmge/ops/elementwise/fused/fused_views.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/tensor/element_bytes.h"

namespace mge::ops {
namespace {

// Space for the widest dtype plus some cache lines, so that slots do not have the same position in pages.
constexpr int64_t slot_bytes = fused_block * 8 + 320;
bool is_transpose(const FusedProgram::Step& step) { return step.op == &Transpose::info; }

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
                 size_t result) {
        for (int operand : step.operands)
            inputs.push_back({registers[size_t(operand)].dtype, {fused_block}, {}});
        outputs.push_back({registers[result].dtype, {fused_block}, {}});
        problem = make_problem(*step.op, step.params.get(), inputs, outputs);
        problem.device = fused.device;
    }
    BlockProblem(const BlockProblem&) = delete;
};

std::array<char, 8> constant_bytes(double value, DType dtype) {
    uint64_t element = element_bytes(dtype, value);
    return std::bit_cast<std::array<char, 8>>(element);
}

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

// Elements `stride` bytes apart become neighbours; with no stride, one of them all.
void gather(char* to, const char* from, int64_t stride, int64_t n, int64_t element) {
    auto copy = [&]<class T>(T*) {
        if (stride == 0) {
            T same;
            std::memcpy(&same, from, sizeof(T));
            for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * int64_t(sizeof(T)), &same, sizeof(T));
            return;
        }
        for (int64_t i = 0; i < n; ++i)
            std::memcpy(to + i * int64_t(sizeof(T)), from + i * stride, sizeof(T));
    };
    switch (element) {
        case 1:
            return copy(static_cast<uint8_t*>(nullptr));
        case 2:
            return copy(static_cast<uint16_t*>(nullptr));
        case 4:
            return copy(static_cast<uint32_t*>(nullptr));
        default:
            return copy(static_cast<uint64_t*>(nullptr));
    }
}

// Elements [begin, begin + n) of an input in the order and extent of the result.
void copy_block(const LoopNest& nest, int64_t element, const char* data, int64_t begin, int64_t n, char* to) {
    size_t last = size_t(nest.loops - 1);
    while (n > 0) {
        int64_t column = begin % nest.extent[last], rest = begin / nest.extent[last];
        int64_t count = std::min(n, nest.extent[last] - column);
        int64_t stride = nest.in_stride[0][last], offset = column * stride;
        for (int loop = nest.loops - 2; loop >= 0; --loop) {
            offset += rest % nest.extent[size_t(loop)] * nest.in_stride[0][size_t(loop)];
            rest /= nest.extent[size_t(loop)];
        }
        if (stride == element)
            std::memcpy(to, data + offset, size_t(count * element));
        else
            gather(to, data + offset, stride, count, element);
        begin += count;
        to += count * element;
        n -= count;
    }
}

}  // namespace

// Each viewed register becomes a register of the BlockProgram.
class BlockProgram::Builder {
public:
    Builder(BlockProgram& to, const Problem& p, const FusedProgram& program)
        : to_(to), problem_(p), program_(program), specs_(program.infer(p.inputs)) {}

    void build() {
        to_.result_ = specs_.back();
        for (auto& viewed : viewed_registers(program_, specs_)) add(viewed);
        to_.registers_.back().place = Place::result;
        to_.registers_.back().is_scalar = false;
        assign_slots();
    }

private:
    int64_t element(size_t i) const { return int64_t(size_of(specs_[i].dtype)); }

    void add(const ViewedRegister& viewed) {
        size_t i = viewed.origin, inputs = size_t(program_.inputs());
        if (i < inputs) {
            to_.registers_.push_back(place_input(i, viewed.view));
            return;
        }
        auto& step = program_.steps()[i - inputs];
        if (step.op) return add_step(step, viewed);
        to_.constants_.push_back(constant_bytes(step.constant, step.constant_dtype));
        to_.registers_.push_back({Place::constant, int(to_.constants_.size()) - 1, 0, element(i), true, {}});
    }

    void add_step(const FusedProgram::Step& step, const ViewedRegister& viewed) {
        BlockProblem part(problem_, step, specs_, viewed.origin);
        const Algorithm* algorithm = find_row_algorithm(part.problem, *step.op);
        Prepared prepared = algorithm->prepare({part.problem, {algorithm->name, 0, {}}, {}});
        bool is_scalar = std::all_of(viewed.operands.begin(), viewed.operands.end(),
                                     [&](int operand) { return to_.registers_[size_t(operand)].is_scalar; });
        int result = int(to_.registers_.size());
        to_.registers_.push_back({Place::slot, 0, 0, element(viewed.origin), is_scalar, {}});
        to_.steps_.push_back({prepared.state<cpu::ElementwiseState>(), viewed.operands, result});
    }

    Register place_input(size_t index, const AxisView& view) const {
        const TensorSpec &input = specs_[index], &result = to_.result_;
        Register r{Place::whole_input, int(index), 0, element(index), false, {}};
        if (input.numel() == 1) {
            r.place = Place::scalar_input;
            r.is_scalar = true;
            return r;
        }
        Strides whole = dense_strides(result.shape), seen = strides_through(view, input.shape);
        for (int axis = 0; axis < result.shape.rank(); ++axis) {
            int64_t& stride = seen[size_t(axis)];
            if (result.shape[axis] != 1 && stride != whole[size_t(axis)]) r.place = Place::copied_input;
            stride *= r.element;
        }
        if (r.place == Place::copied_input) r.nest = make_loop_nest(seen, {input.dtype, result.shape, {}});
        return r;
    }

    // Gives all step results and copied inputs their slots.
    void assign_slots() {
        auto& registers = to_.registers_;
        std::vector<int> last_use(registers.size(), -1);
        for (size_t i = 0; i < to_.steps_.size(); ++i)
            for (int operand : to_.steps_[i].operands) last_use[size_t(operand)] = int(i);
        SlotPool pool;
        for (auto& r : registers)  // copied before the first step
            if (r.place == Place::copied_input) r.slot = pool.take();
        for (size_t i = 0; i < to_.steps_.size(); ++i) {
            auto& result = registers[size_t(to_.steps_[i].result)];
            if (result.place == Place::slot) result.slot = pool.take();
            auto operands = to_.steps_[i].operands;
            std::sort(operands.begin(), operands.end());
            operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
            for (int operand : operands) {
                auto& r = registers[size_t(operand)];
                if (last_use[size_t(operand)] == int(i) &&
                    (r.place == Place::slot || r.place == Place::copied_input))
                    pool.give(r.slot);
            }
        }
        to_.slots_ = pool.count();
    }

    BlockProgram& to_;
    const Problem& problem_;
    const FusedProgram& program_;
    TensorSpecs specs_;
};

Support BlockProgram::supports(const Problem& p, const FusedProgram& program) {
    TensorSpecs specs = program.infer(p.inputs);
    size_t result = size_t(program.inputs());
    for (auto& step : program.steps()) {
        if (step.op && !is_transpose(step) &&
            !find_row_algorithm(BlockProblem(p, step, specs, result).problem, *step.op))
            return {"a step has no row-wise algorithm"};
        ++result;
    }
    if (auto views = supports_views(program, specs); !views) return views;
    size_t inputs = size_t(program.inputs()), last = viewed_registers(program, specs).back().origin;
    if (last < inputs || !program.steps()[last - inputs].op) return {"no step computes the result"};
    return supported;
}

BlockProgram::BlockProgram(const Problem& p, const FusedProgram& program) {
    Builder(*this, p, program).build();
}

size_t BlockProgram::scratch_bytes() const { return size_t(slots_ * slot_bytes); }

void BlockProgram::run(std::span<const void* const> inputs, int64_t begin, int64_t n, char* scratch,
                       char* to) const {
    auto address = [&](const Register& r) -> char* {
        auto input = [&] { return const_cast<char*>(static_cast<const char*>(inputs[size_t(r.index)])); };
        switch (r.place) {
            case Place::whole_input:
                return input() + begin * r.element;
            case Place::scalar_input:
                return input();
            case Place::constant:
                return const_cast<char*>(constants_[size_t(r.index)].data());
            case Place::result:
                return to;
            case Place::copied_input:
            case Place::slot:
                break;
        }
        return scratch + r.slot * slot_bytes;
    };
    for (auto& r : registers_)
        if (r.place == Place::copied_input)
            copy_block(r.nest, r.element, static_cast<const char*>(inputs[size_t(r.index)]), begin, n,
                       address(r));
    for (auto& step : steps_) {
        cpu::Rows rows;
        auto& result = registers_[size_t(step.result)];
        rows.n = result.is_scalar ? 1 : n;
        rows.functor = step.kernel.functor.data();
        rows.inner = step.kernel.inner;
        for (size_t i = 0; i < step.operands.size(); ++i) {
            auto& operand = registers_[size_t(step.operands[i])];
            rows.in[i] = address(operand);
            rows.is_scalar[i] = operand.is_scalar;
        }
        rows.out = address(result);
        step.kernel.run(rows);
    }
}

ReferenceProgram::ReferenceProgram(const Problem& p, const FusedProgram& program)
    : specs_(program.infer(p.inputs)) {
    for (auto& step : program.steps()) {
        size_t result = size_t(program.inputs()) + steps_.size();
        constants_.push_back(step.op ? std::array<char, 8>{}
                                     : constant_bytes(step.constant, step.constant_dtype));
        if (!step.op) {
            steps_.push_back({nullptr, {}, {}});
            continue;
        }
        TensorSpecs inputs, outputs{specs_[result]};
        for (int operand : step.operands) inputs.push_back(specs_[size_t(operand)]);
        Problem part = make_problem(*step.op, step.params.get(), inputs, outputs);
        part.device = p.device;
        const Algorithm& algorithm = find_kernels(*step.op, p.device).back();
        steps_.push_back({&algorithm, algorithm.prepare({part, {algorithm.name, 0, {}}, {}}), step.operands});
    }
}

std::vector<char> ReferenceProgram::run(std::span<const void* const> inputs) const {
    std::vector<const void*> registers(inputs.begin(), inputs.end());
    std::vector<std::vector<char>> values(steps_.size());
    for (size_t i = 0; i < steps_.size(); ++i) {
        auto& step = steps_[i];
        values[i].resize(specs_[registers.size()].bytes());
        void* result = values[i].data();
        if (!step.algorithm) {
            std::memcpy(result, constants_[i].data(), values[i].size());
        } else {
            std::vector<const void*> in;
            for (int operand : step.operands) in.push_back(registers[size_t(operand)]);
            step.algorithm->run(step.prepared, {in, {&result, 1}});
        }
        registers.push_back(result);
    }
    return std::move(values.back());
}

}  // namespace mge::ops
