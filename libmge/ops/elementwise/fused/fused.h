// SPDX-License-Identifier: Apache-2.0
#pragma once
// Several elementwise operators as one: values pass between them in blocks that stay in the L1 cache. The
// FusedProgram defines the computation; the fusion pass builds it, and its text is the operator's parameter:
//
//     FusedProgram program(2);                                     // two inputs: registers 0 and 1
//     int sum = program.add(ops::Add::info, &none, {0, 1});
//     int two = program.constant(2, DType::f32);
//     program.add(ops::Mul::info, &none, {sum, two});              // the last register is the result
//     Tensor y = ops::fused_elementwise({a, b}, {.program = program.text()});

#include <string>
#include <vector>

#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

// Registers are numbered in order: the inputs, then each constant and each result. The text is one line:
// "inputs 2; add 0 1; const float32 0x1p+1; mul 2 3"; parameters follow an operator in brackets, as
// "clip[lower=0x0p+0,upper=0x1.8p+2] 3"; the numbers of a list have colons between them, as
// "transpose[pattern=1:0] 2". Dtypes are not promoted: operands of a step already have the dtypes that its
// operator computes with.
class MGE_API FusedProgram {
public:
    struct Step {
        const OpInfo* op = nullptr;  // null: a constant
        std::shared_ptr<const void> params;
        std::vector<int> operands;
        double constant = 0;
        DType constant_dtype = DType::none;
    };

    explicit FusedProgram(int inputs) : inputs_(inputs) {}
    // UserError that names the place when the text is no program.
    static FusedProgram parse(std::string_view text);
    std::string text() const;

    // The register of the result. UserError when the operator is not fusible or an operand does not exist
    // yet.
    int add(const OpInfo& op, const void* params, const std::vector<int>& operands);
    int constant(double value, DType dtype);

    int inputs() const { return inputs_; }
    const std::vector<Step>& steps() const { return steps_; }
    // True when elements of the result come from other places than their own: a step transposes.
    bool moves_elements() const;
    // The specs of all registers.
    TensorSpecs infer(Specs inputs) const;
    // The arithmetic of its elementwise steps.
    double operations(Specs inputs) const;

private:
    int add_step(Step step);
    int inputs_ = 0;
    std::vector<Step> steps_;
};

// True for operators that a FusedProgram can hold: elementwise ones of up to three inputs, and transpose.
MGE_API bool is_fusible(const OpInfo& op, const void* params);

struct FusedElementwise {
    static constexpr auto name = "fused_elementwise";
    static constexpr auto doc = "Computes a program of elementwise operators block by block.";
    static constexpr auto inputs = names(variadic("xs"));
    static constexpr OpTraits traits{.elementwise = true};
    static constexpr bool stops_gradient = true;
    struct Params {
        std::string program;
    };
    static constexpr auto fields = field_list(field<&Params::program>(
        "program", "Steps separated by semicolons, e.g. 'inputs 2; add 0 1; relu 2'."));
    static TensorSpecs infer(const Params&, Specs);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<FusedElementwise> fused_elementwise{};

}  // namespace mge::ops
