// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/fused/fused_text.cuda.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "libmge/kernel/cuda/index_space.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/elementwise/elementwise.cuda.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/shape/layout/transpose.h"

namespace mge::ops {
namespace {

using Step = FusedProgram::Step;

// The names in kernel/cuda/types.h; other dtypes are computed as float.
constexpr std::pair<DType, std::string_view> type_names[] = {
    {DType::boolean, "bool"}, {DType::u8, "uint8_t"},  {DType::i8, "int8_t"},
    {DType::u16, "uint16_t"}, {DType::i16, "int16_t"}, {DType::i32, "int32_t"},
    {DType::i64, "int64_t"},  {DType::f16, "f16"},     {DType::bf16, "bf16"}};

std::string_view type_name(DType dtype) {
    auto found = std::ranges::find(type_names, dtype, &std::pair<DType, std::string_view>::first);
    return found == std::end(type_names) ? "float" : found->second;
}

// "leaky_relu" is the functor LeakyRelu: operators and functors are named alike.
std::string functor_name(std::string_view op) {
    std::string name;
    bool begins = true;
    for (char c : op) {
        if (c != '_') name += begins ? char(c - 'a' + 'A') : c;
        begins = c == '_';
    }
    return name;
}

// Exact, infinities included.
std::string double_text(double value) {
    return text("__longlong_as_double(", int64_t(std::bit_cast<uint64_t>(value)), "ll)");
}

std::string members_of(const Step& step) {
    std::string members;
    for (auto& [name, value] : save_params(step.op->fields, step.params.get())) {
        auto* flag = std::get_if<bool>(&value);
        std::string member = flag ? *flag ? "true" : "false" : double_text(std::get<double>(value));
        members += text(members.empty() ? "" : ", ", member);
    }
    return members;
}

std::string registers_text(std::span<const int> registers) {
    std::string list;
    for (int number : registers) list += text(list.empty() ? "r" : ", r", number);
    return list;
}

std::string expression_of(const Step& step, std::span<const int> operands, DType result) {
    auto type = type_name(result);
    if (!step.op)
        return text("constant_register<", type, ">(", int64_t(std::bit_cast<uint64_t>(step.constant)), "ll)");
    if (step.op == &Copy::info) return text("r", operands[0]);
    if (step.op == &Convert::info) return text("converted_register<", type, ">(r", operands[0], ')');
    if (step.op == &Where::info)
        return text("select(mask_of(r", operands[0], "), r", operands[1], ", r", operands[2], ')');
    return text("register_of<", type, ">(functor::", functor_name(step.op->name), '{', members_of(step), "}(",
                registers_text(operands), "))");
}

// Pushes neighbouring axes together that all strides treat alike, and drops those of extent 1.
struct Axes {
    std::vector<int64_t> extent;
    std::vector<std::vector<int64_t>> stride;  // by input

    bool continues(size_t outer, size_t inner) const {
        return std::ranges::all_of(stride, [&](auto& of) { return of[outer] == of[inner] * extent[inner]; });
    }
    void erase(size_t axis) {
        extent.erase(extent.begin() + int64_t(axis));
        for (auto& of : stride) of.erase(of.begin() + int64_t(axis));
    }
    void simplify() {
        for (size_t axis = extent.size(); axis-- > 0;)
            if (extent[axis] == 1) erase(axis);
        for (size_t inner = extent.size(); inner-- > 1;)
            if (continues(inner - 1, inner)) {
                extent[inner] *= extent[inner - 1];
                erase(inner - 1);
            }
        if (extent.empty()) {
            extent.push_back(1);
            for (auto& of : stride) of.push_back(0);
        }
    }
};

// Every axis has at most one step for each read, and the result's elements follow each other.
Axes axes_of(const FusedPlan& plan, const Shape& result) {
    Axes axes;
    axes.extent.assign(result.begin(), result.end());
    for (size_t i = 0; i < plan.reads.size(); ++i) {
        auto& read = plan.registers[i];
        auto strides = strides_through(read.view, plan.specs[read.origin].shape);
        axes.stride.emplace_back(strides.begin(), strides.begin() + result.rank());
    }
    axes.simplify();
    return axes;
}

FusedRead read_of(const FusedPlan& plan, const ViewedRegister& read) {
    auto &shape = plan.specs[read.origin].shape, &result = plan.specs.back().shape;
    if (shape.numel() == 1 && result.numel() != 1) return FusedRead::once;
    Strides whole = dense_strides(result), own = strides_through(read.view, shape);
    for (int axis = 0; axis < result.rank(); ++axis)
        if (result[axis] != 1 && own[size_t(axis)] != whole[size_t(axis)]) return FusedRead::looped;
    return FusedRead::along;
}

// Whether a read has the elements of each pack one after the other, or one element for all of them.
bool has_packs(const cuda::FusedArguments& x, size_t read, int pack) {
    auto* stride = x.stride[read];
    const int inner = x.loops - 1;
    if (x.extent[inner] % pack || stride[inner] < 0 || stride[inner] > 1) return false;
    return !stride[inner] || std::all_of(stride, stride + inner, [&](int64_t s) { return s % pack == 0; });
}

int pack_of(const FusedPlan& plan) {
    auto& x = plan.arguments;
    size_t widest = size_of(plan.specs.back().dtype);
    for (size_t i = 0; i < plan.reads.size(); ++i)
        if (plan.reads[i] == FusedRead::along ||
            (plan.reads[i] == FusedRead::looped && x.stride[i][x.loops - 1] == 1))
            widest = std::max(widest, size_of(plan.specs[plan.registers[i].origin].dtype));
    const int pack = int(cuda::pack_bytes / widest);
    for (size_t i = 0; i < plan.reads.size(); ++i)
        if (plan.reads[i] == FusedRead::looped && !has_packs(x, i, pack)) return 1;
    return pack;
}

bool has_small_offsets(const FusedPlan& plan) {
    auto& x = plan.arguments;
    int64_t furthest = x.numel;
    for (size_t i = 0; i < plan.reads.size(); ++i)
        furthest = std::max(furthest, cuda::reach_of(x.extent, x.stride[i], x.loops));
    return furthest <= cuda::most_small;
}

// The text of a program (kernel/cuda/fused.cuh).
class Writer {
public:
    explicit Writer(const FusedPlan& plan) : plan_(plan) {}

    std::string write() {
        line("struct Program {");
        line("using Result = ", type_of(plan_.registers.back()), ';');
        write_compute();
        write_load();
        line("};");
        return std::move(text_);
    }

private:
    template <class... Part>
    void line(const Part&... parts) {
        text_ += text(parts..., '\n');
    }
    DType dtype_of(const ViewedRegister& viewed) const { return plan_.specs[viewed.origin].dtype; }
    std::string_view type_of(const ViewedRegister& viewed) const { return type_name(dtype_of(viewed)); }
    template <class Fn>
    void for_each(FusedRead read, Fn fn) const {
        for (size_t i = 0; i < plan_.reads.size(); ++i)
            if (plan_.reads[i] == read) fn(i, type_of(plan_.registers[i]));
    }
    template <class Fn>
    std::string for_each_read(Fn of_read) const {
        std::string list;
        for (size_t i = 0; i < plan_.reads.size(); ++i) list += (list.empty() ? "" : ", ") + of_read(i);
        return list;
    }

    // One element of the result, from those of the inputs.
    void write_compute() {
        line("static MGE_DEVICE Result compute(",
             for_each_read([&](size_t i) { return text(type_of(plan_.registers[i]), " e", i); }), ") {");
        size_t inputs = size_t(plan_.program.inputs());
        for (size_t i = 0; i < plan_.registers.size(); ++i) {
            auto& viewed = plan_.registers[i];
            line("const auto r", i, " = ",
                 i < plan_.reads.size() ? text("load_scalar(e", i, ')')
                                        : expression_of(plan_.program.steps()[viewed.origin - inputs],
                                                        viewed.operands, dtype_of(viewed)),
                 ';');
        }
        line("return stored<Result>(r", plan_.registers.size() - 1, ");");
        line('}');
    }

    void write_load() {
        line("template <int pack>");
        line("static MGE_DEVICE void load(const FusedArguments& x, int64_t at, Result (&v)[pack]) {");
        for_each(FusedRead::once, [&](size_t i, auto type) {
            line("const auto once", i, " = *static_cast<const ", type, "*>(x.in[", i, "]);");
        });
        for_each(FusedRead::along, [&](size_t i, auto type) {
            line("const auto pack", i, " = pack_at<", type, ", pack>(x.in[", i, "], at);");
        });
        if (std::ranges::find(plan_.reads, FusedRead::looped) != plan_.reads.end()) write_offsets();
        for_each(FusedRead::looped, [&](size_t i, auto type) {
            if (is_packed(i))
                line("const auto pack", i, " = pack_at<", type, ", pack>(x.in[", i, "], at", i, ");");
            else
                line("const auto once", i, " = static_cast<const ", type, "*>(x.in[", i, "])[at", i, "];");
        });
        line("#pragma unroll");
        line("for (int k = 0; k < pack; ++k)");
        line("v[k] = compute(", for_each_read([&](size_t i) { return element_text(i); }), ");");
        line("}");
    }
    // A scalar read is complete: one element, or one for the whole pack.
    bool is_packed(size_t i) const {
        auto& x = plan_.arguments;
        return plan_.reads[i] == FusedRead::along ||
               (plan_.reads[i] == FusedRead::looped && plan_.pack > 1 && x.stride[i][x.loops - 1] == 1);
    }
    std::string element_text(size_t i) const {
        return is_packed(i) ? text("pack", i, ".v[k]") : text("once", i);
    }

    // Offsets of the first element; those of a pack follow it. Loops and the strides that are 0 are part of
    // the text, extents and other strides are not, so that one kernel serves several shapes.
    void write_offsets() {
        auto& x = plan_.arguments;
        auto index = plan_.has_small_offsets ? "int" : "int64_t";
        auto by = plan_.has_small_offsets ? "x.divisor[" : "x.extent[";
        line(index, " rest = ", index, "(at);");
        for_each(FusedRead::looped, [&](size_t i, auto) { line(index, " at", i, " = 0;"); });
        for (int loop = x.loops - 1; loop >= 0; --loop) {
            std::string within = loop ? text("within", loop) : "rest";
            if (loop) line("const ", index, ' ', within, " = split_index(rest, ", by, loop, "]);");
            for_each(FusedRead::looped, [&](size_t i, auto) {
                if (x.stride[i][loop])
                    line("at", i, " += ", within, " * ", index, "(x.stride[", i, "][", loop, "]);");
            });
        }
    }

    const FusedPlan& plan_;
    std::string text_;
};

// Steps are computed by the functors of elementwise kernels.
bool has_text(const Step& step, DeviceId device) {
    if (!step.op || step.op == &Transpose::info || step.op == &Copy::info || step.op == &Convert::info ||
        step.op == &Where::info)
        return true;
    return std::ranges::any_of(find_kernels(*step.op, device),
                               [](auto& kernel) { return kernel.run == run_cuda_elementwise; });
}

}  // namespace

Support supports_fused_plan(const FusedProgram& program, const Problem& problem) {
    TensorSpecs specs = program.infer(problem.inputs);
    for (auto& spec : specs)
        if (!is_among(spec.dtype, DTypes::common)) return {"GPUs do not compute in one of the dtypes"};
    for (auto& step : program.steps())
        if (!has_text(step, problem.device)) return {"a step is no functor"};
    if (auto views = supports_views(program, specs); !views) return views;
    auto registers = viewed_registers(program, specs);
    auto is_read = [&](auto& viewed) { return viewed.origin < problem.inputs.size(); };
    if (std::ranges::count_if(registers, is_read) > cuda::max_fused_reads) return {"too many inputs"};
    return supported;
}

FusedPlan plan_fused(const FusedProgram& program, Specs inputs) {
    FusedPlan plan{program, program.infer(inputs), {}, {}};
    plan.registers = viewed_registers(program, plan.specs);
    for (auto& viewed : plan.registers)
        if (viewed.origin < inputs.size()) plan.reads.push_back(read_of(plan, viewed));
    auto& result = plan.specs.back().shape;
    Axes axes = axes_of(plan, result);
    auto& x = plan.arguments;
    x.numel = result.numel();
    x.loops = int(axes.extent.size());
    std::ranges::copy(axes.extent, x.extent);
    for (size_t i = 0; i < plan.reads.size(); ++i) std::ranges::copy(axes.stride[i], x.stride[i]);
    plan.pack = pack_of(plan);
    plan.has_small_offsets = has_small_offsets(plan);
    if (plan.has_small_offsets && x.numel)
        for (int loop = 0; loop < x.loops; ++loop) x.divisor[loop] = cuda::divisor_of(x.extent[loop]);
    return plan;
}

cuda::KernelText fused_text(const FusedPlan& plan) {
    return {"libmge/kernel/cuda/fused.cuh",
            Writer(plan).write(),
            {{"fused", "FusedArguments", text("run_fused<Program, ", plan.pack, ">(x);")}}};
}

cuda::KernelText fused_text(const FusedPlan& plan, const FusedTotal& total) {
    auto combined = total.in_floats ? "float" : "Combined<Read<Program::Result>>";
    return {"libmge/kernel/cuda/reduce/fused_reduce.cuh",
            text(Writer(plan).write(), "using Sum = ", total.functor, ";\nusing Value = ", combined, ";\n"),
            {{"fused", "FusedReduceArguments",
              text("reduce_fused<Program, Sum, Value, ReduceMethod(", int(total.method), "), ", plan.pack,
                   ">(x);")},
             {"joined", "FusedReduceArguments", "join_fused<Program, Sum, Value>(x);"}}};
}

}  // namespace mge::ops
