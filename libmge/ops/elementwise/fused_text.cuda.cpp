// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/fused_text.cuda.h"

#include <algorithm>
#include <bit>

#include "libmge/kernel/strided_copy.h"
#include "libmge/ops/elementwise/convert.h"
#include "libmge/ops/elementwise/elementwise.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/shape/transpose.h"

namespace mge::ops {
namespace {

using Step = FusedProgram::Step;

// As kernel/cuda/types.h calls it.
std::string_view type_name(DType dtype) {
    switch (dtype) {
        case DType::boolean:
            return "bool";
        case DType::u8:
            return "uint8_t";
        case DType::i8:
            return "int8_t";
        case DType::u16:
            return "uint16_t";
        case DType::i16:
            return "int16_t";
        case DType::i32:
            return "int32_t";
        case DType::i64:
            return "int64_t";
        case DType::f16:
            return "f16";
        case DType::bf16:
            return "bf16";
        default:
            return "float";
    }
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
    for (auto& [name, value] : save_params(step.op->fields, step.params.get()))
        members += text(members.empty() ? "" : ", ", double_text(std::get<double>(value)));
    return members;
}

std::string operands_of(const Step& step) {
    std::string operands;
    for (int operand : step.operands) operands += text(operands.empty() ? "r" : ", r", operand);
    return operands;
}

std::string expression_of(const Step& step, DType result) {
    auto type = type_name(result);
    if (!step.op)
        return text("constant_register<", type, ">(", int64_t(std::bit_cast<uint64_t>(step.constant)), "ll)");
    if (step.op == &Copy::info) return text("r", step.operands[0]);
    if (step.op == &Convert::info) return text("converted<", type, ">(r", step.operands[0], ')');
    if (step.op == &Where::info)
        return text("select(mask_of(r", step.operands[0], "), r", step.operands[1], ", r", step.operands[2],
                    ')');
    return text("register_of<", type, ">(functor::", functor_name(step.op->name), '{', members_of(step), "}(",
                operands_of(step), "))");
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

FusedRead read_of(const TensorSpec& input, const TensorSpec& output) {
    if (input.numel() == output.numel()) return FusedRead::along;
    return input.numel() == 1 ? FusedRead::once : FusedRead::looped;
}

// The text of one kernel.
class Writer {
public:
    Writer(const FusedProgram& program, const TensorSpecs& registers, std::span<const FusedRead> reads)
        : program_(program), registers_(registers), reads_(reads) {
        has_loops_ = std::ranges::find(reads, FusedRead::looped) != reads.end();
        size_t widest = size_of(registers.back().dtype);
        for_each(FusedRead::along, [&](size_t i) { widest = std::max(widest, size_of(registers[i].dtype)); });
        pack_ = has_loops_ ? 1 : int(16 / widest);
    }

    FusedText write() {
        line("#include \"libmge/kernel/cuda/fused.cuh\"");
        line("using namespace mge::cuda;");
        line("extern \"C\" __global__ void fused(FusedArguments x) {");
        for_each(FusedRead::once,
                 [&](size_t i) { line("const auto r", i, " = load_scalar(*", address(i), ");"); });
        write_compute();
        line("auto* y = static_cast<", type_name(registers_.back().dtype), "*>(x.out);");
        if (pack_ > 1) write_packs();
        write_elements();
        line("}");
        return {text_, pack_};
    }

private:
    template <class... Part>
    void line(const Part&... parts) {
        text_ += text(parts..., '\n');
    }
    template <class Fn>
    void for_each(FusedRead read, Fn fn) const {
        for (size_t i = 0; i < reads_.size(); ++i)
            if (reads_[i] == read) fn(i);
    }
    template <class Fn>
    std::string arguments(Fn of_input) const {
        std::string list;
        for (size_t i = 0; i < reads_.size(); ++i)
            if (reads_[i] != FusedRead::once) list += (list.empty() ? "" : ", ") + of_input(i);
        return list;
    }
    std::string address(size_t input) const {
        return text("static_cast<const ", type_name(registers_[input].dtype), "*>(x.in[", input, "])");
    }

    // One element of the result, from those of the inputs.
    void write_compute() {
        line("auto compute = [&](",
             arguments([&](size_t i) { return text(type_name(registers_[i].dtype), " e", i); }), ") {");
        for (auto read : {FusedRead::along, FusedRead::looped})
            for_each(read, [&](size_t i) { line("const auto r", i, " = load_scalar(e", i, ");"); });
        size_t number = size_t(program_.inputs());
        for (auto& step : program_.steps()) {
            line("const auto r", number, " = ", expression_of(step, registers_[number].dtype), ';');
            ++number;
        }
        line("return stored<", type_name(registers_.back().dtype), ">(r", number - 1, ");");
        line("};");
    }

    void write_packs() {
        auto pack_of = [&](DType dtype) { return text("Pack<", type_name(dtype), ", ", pack_, '>'); };
        line("for (int64_t i = first_piece(); i < x.packs; i += piece_step()) {");
        for_each(FusedRead::along, [&](size_t i) {
            line("const auto p", i, " = static_cast<const ", pack_of(registers_[i].dtype), "*>(x.in[", i,
                 "])[i];");
        });
        line(pack_of(registers_.back().dtype), " result;");
        line("#pragma unroll");
        line("for (int k = 0; k < ", pack_, "; ++k) result.v[k] = compute(",
             arguments([](size_t i) { return text('p', i, ".v[k]"); }), ");");
        line("reinterpret_cast<", pack_of(registers_.back().dtype), "*>(y)[i] = result;");
        line("}");
    }

    void write_elements() {
        line("for (int64_t i = x.packs * ", pack_, " + first_piece(); i < x.numel; i += piece_step()) {");
        if (has_loops_) write_offsets();
        line("y[i] = compute(", arguments([&](size_t i) {
                 return text(address(i), reads_[i] == FusedRead::looped ? text("[at", i, ']') : "[i]");
             }),
             ");");
        line("}");
    }

    void write_offsets() {
        line("int64_t rest = i;");
        for_each(FusedRead::looped, [&](size_t i) { line("int64_t at", i, " = 0;"); });
        line("for (int loop = x.loops - 1; loop > 0; --loop) {");
        line("int64_t at = split_index(rest, x.extent[loop]);");
        for_each(FusedRead::looped, [&](size_t i) { line("at", i, " += at * x.stride[", i, "][loop];"); });
        line("}");
        for_each(FusedRead::looped, [&](size_t i) { line("at", i, " += rest * x.stride[", i, "][0];"); });
    }

    const FusedProgram& program_;
    const TensorSpecs& registers_;
    std::span<const FusedRead> reads_;
    bool has_loops_ = false;
    int pack_ = 1;
    std::string text_;
};

}  // namespace

FusedReads fused_reads(std::span<const TensorSpec> inputs, const TensorSpec& output) {
    FusedReads result;
    Axes axes;
    axes.extent.assign(output.shape.begin(), output.shape.end());
    for (auto& input : inputs) {
        result.reads.push_back(read_of(input, output));
        auto strides = broadcast_strides(input.shape, output.shape);
        axes.stride.emplace_back(strides.begin(), strides.begin() + output.shape.rank());
    }
    axes.simplify();
    auto& x = result.arguments;
    x.numel = output.numel();
    x.loops = int(axes.extent.size());
    std::ranges::copy(axes.extent, x.extent);
    for (size_t i = 0; i < inputs.size(); ++i) std::ranges::copy(axes.stride[i], x.stride[i]);
    return result;
}

Support supports_fused_text(const FusedProgram& program, const TensorSpecs& registers) {
    if (program.inputs() > cuda::max_fused_inputs) return {"too many inputs"};
    size_t result = size_t(program.inputs());
    for (auto& step : program.steps()) {
        if (step.op == &Transpose::info) return {"a step transposes"};
        if (step.op == &Convert::info && !is_float(registers[result].dtype))
            return {"a step converts to something else than a float"};
        ++result;
    }
    return supported;
}

FusedText fused_text(const FusedProgram& program, const TensorSpecs& registers,
                     std::span<const FusedRead> reads) {
    return Writer(program, registers, reads).write();
}

}  // namespace mge::ops
