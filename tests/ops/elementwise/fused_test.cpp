// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/fused/fused.h"

#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

using ops::FusedProgram;
const NoParams none;

// y = clip(where(a < 0, a * b, tanh(a) + 2), -1, 1.5)
FusedProgram sample() {
    FusedProgram program(2);
    int zero = program.constant(0, DType::f32);
    int mask = program.add(ops::Less::info, &none, {0, zero});
    int product = program.add(ops::Mul::info, &none, {0, 1});
    int tanh = program.add(ops::Tanh::info, &none, {0});
    int two = program.constant(2, DType::f32);
    int sum = program.add(ops::Add::info, &none, {tanh, two});
    int choice = program.add(ops::Where::info, &none, {mask, product, sum});
    ops::Clip::Params bounds{.lower = -1, .upper = 1.5};
    program.add(ops::Clip::info, &bounds, {choice});
    return program;
}

TEST(Fused, TextIsTheProgram) {
    std::string text = sample().text();
    EXPECT_EQ(text,
              "inputs 2; const float32 0x0p+0; less 0 2; mul 0 1; tanh 0; const float32 0x1p+1; add 5 6; "
              "where 3 4 7; clip[lower=-0x1p+0,upper=0x1.8p+0] 8");
    EXPECT_EQ(FusedProgram::parse(text).text(), text);
    std::string keeps = "inputs 1; relu[keeps_nan=true] 0";
    EXPECT_EQ(FusedProgram::parse(keeps).text(), keeps);
}

// The reference is the operators one by one.
TEST(Fused, ComputesAsItsOperators) {
    std::string program = sample().text();
    for (auto& [a, b] : std::vector<std::pair<Shape, Shape>>{{{}, {}},
                                                             {{0}, {1}},
                                                             {{7}, {7}},
                                                             {{1037}, {1}},
                                                             {{3, 1031}, {1031}},
                                                             {{70, 90}, {70, 1}},
                                                             {{2, 3, 400}, {3, 1}},
                                                             {{5, 1}, {1, 700}},
                                                             {{300'001}, {300'001}}})
        check_op<ops::FusedElementwise>({.program = program}, {{.shape = a}, {.shape = b}});
}

// Halves, integers and masks between the steps; more values alive than can share one place.
TEST(Fused, MixesDtypes) {
    FusedProgram program(3);
    ops::Convert::Params to_f32{DType::f32}, to_half{DType::f16};
    int a = program.add(ops::Convert::info, &to_f32, {0});
    int b = program.add(ops::Mul::info, &none, {a, 1});
    int c = program.add(ops::Sub::info, &none, {b, a});
    int mask = program.add(ops::Greater::info, &none, {c, b});
    int both = program.add(ops::LogicalXor::info, &none, {mask, 2});
    int d = program.add(ops::Where::info, &none, {both, a, b});
    int e = program.add(ops::Add::info, &none, {d, c});
    int half = program.add(ops::Convert::info, &to_half, {e});
    program.add(ops::Exp::info, &none, {half});
    check_op<ops::FusedElementwise>({.program = program.text()},
                                    {{.shape = {5, 700}, .low = -9, .high = 9, .dtype = DType::i8},
                                     {.shape = {700}, .low = -1, .high = 1, .dtype = DType::f32},
                                     {.shape = {5, 1}, .low = 0, .high = 1, .dtype = DType::boolean}});
}

// Alone, the operators would get operands of one dtype; a program does not convert them.
TEST(Fused, RefusesOperandsThatApplyWouldConvert) {
    Tensor half = make_tensor(DType::f16, {3}, {1, 2, 3}), ints = make_tensor(DType::i32, {3}, {1, 2, 3});
    Tensor mask = make_tensor(DType::boolean, {3}, {1, 0, 1});
    auto refuses = [](const Tensors& inputs, const char* program, const std::string& what) {
        std::string message = "[fused_elementwise] " + what + " first";
        expect_user_error(ErrorClass::type, message,
                          [&] { ops::fused_elementwise(inputs, {.program = program}); });
        expect_user_error(ErrorClass::type, message,
                          [&] { ops::fused_region(inputs, {.program = program, .reduction = "sum"}); });
    };
    auto two = [](const char* op, const char* dtypes) {
        return text(op, " takes operands of one dtype in a program, got ", dtypes, "; convert one of them");
    };
    const char* constant = "inputs 1; const float32 0x1p+1; mul 0 1";
    refuses({half}, constant, two("mul", "float16 and float32"));
    refuses({ints}, constant, two("mul", "int32 and float32"));
    refuses({half, ints}, "inputs 2; exp 0; add 2 1", two("add", "float16 and int32"));
    refuses({mask, half, ints}, "inputs 3; where 0 1 2", two("where", "float16 and int32"));
    refuses({ints}, "inputs 1; exp 0", "exp takes floats in a program, got int32; convert it");
    EXPECT_NO_THROW(ops::fused_elementwise({mask, half, half}, {.program = "inputs 3; where 0 1 2"}));
}

TEST(Fused, RefusesInvalidPrograms) {
    Tensor x = tensor_of<float>({1}, {1});
    for (const char* text :
         {"", "add 0 0", "inputs 1", "inputs 1; add 0", "inputs 1; add 0 7", "inputs 1; concat 0",
          "inputs 1; nothing 0", "inputs 2; add 0 1", "inputs 1; clip[lower=abc] 0", "inputs 1; relu x"})
        EXPECT_THROW(ops::fused_elementwise({x}, {.program = text}), UserError) << text;
    EXPECT_FALSE(ops::is_fusible(ops::Concat::info, nullptr));
    EXPECT_FALSE(ops::is_fusible(ops::FusedElementwise::info, nullptr));
}

}  // namespace
}  // namespace mge::test
