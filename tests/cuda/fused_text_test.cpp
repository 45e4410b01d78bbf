// SPDX-License-Identifier: Apache-2.0
// The texts of fused kernels are compiled for real, which needs no GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "libmge/base/error.h"
#include "libmge/kernel/cuda/text_compiler.h"
#include "libmge/ops/all.h"
#include "libmge/ops/elementwise/elementwise.cuda.h"
#include "libmge/ops/elementwise/fused/fused_text.cuda.h"
#include "tests/harness/expect_error.h"
#include "tests/new_folder.h"

namespace mge::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr auto elf =
    "\x7f"
    "ELF";

// Keeps what is compiled out of the user's folder.
class FusedText : public testing::Test {
protected:
    void SetUp() override {
        if (!cuda::why_no_text_compiler().empty()) GTEST_SKIP() << cuda::why_no_text_compiler();
        ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::string cubin(const char* program, const TensorSpecs& inputs) {
        auto plan = ops::plan_fused(ops::FusedProgram::parse(program), inputs);
        return compiled({ops::fused_text(plan)});
    }
    std::string cubin(const char* program, const TensorSpecs& inputs, const ops::FusedTotal& total) {
        auto plan = ops::plan_fused(ops::FusedProgram::parse(program), inputs);
        return compiled({ops::fused_text(plan, total)});
    }
    std::string compiled(const std::vector<cuda::KernelText>& texts) {
        return cuda::compile_text(cuda::joined_text(texts), "sm_90");
    }
    std::vector<std::filesystem::path> kept() {
        std::vector<std::filesystem::path> files;
        for (auto& entry : std::filesystem::recursive_directory_iterator(folder_))
            if (entry.is_regular_file()) files.push_back(entry.path());
        return files;
    }
    const std::filesystem::path folder_ = new_folder("mge_fused_text");
};

TEST_F(FusedText, Compiles) {
    TensorSpec x{DType::f32, {4, 8, 6}, {}}, column{DType::f32, {8, 1}, {}}, one{DType::f32, {}, {}};
    TensorSpec half{DType::f16, {100}, {}}, brain{DType::bf16, {100}, {}}, mask{DType::boolean, {100}, {}},
        number{DType::i64, {100}, {}};
    EXPECT_THAT(cubin("inputs 2; add 0 1; relu 2", {x, x}), StartsWith(elf));
    EXPECT_THAT(cubin("inputs 3; mul 0 1; add 3 2; gelu 4", {x, column, one}), StartsWith(elf));
    EXPECT_THAT(cubin("inputs 2; const float16 0x1p+1; mul 0 2; clip[lower=-inf,upper=0x1.8p+2] 3; add 4 1",
                      {half, half}),
                StartsWith(elf));
    EXPECT_THAT(cubin("inputs 2; tanh 0; where 1 2 0", {brain, mask}), StartsWith(elf));
    EXPECT_THAT(cubin("inputs 2; floor_div 0 1; less 2 0", {number, number}), StartsWith(elf));
    EXPECT_THAT(cubin("inputs 1; convert[dtype=float32] 0; exp 1", {half}), StartsWith(elf));
}

TEST_F(FusedText, CountsIn32BitsWhereOffsetsFit) {
    auto text_of = [](int64_t rows, int64_t columns) {
        TensorSpecs specs{{DType::f32, {rows, columns}, {}}, {DType::f32, {rows, 1}, {}}};
        return ops::fused_text(ops::plan_fused(ops::FusedProgram::parse("inputs 2; add 0 1"), specs))
            .definitions;
    };
    EXPECT_THAT(text_of(1 << 15, (1 << 16) - 4), HasSubstr("int rest = int(at);"));
    EXPECT_THAT(text_of(1 << 15, 1 << 16), HasSubstr("int64_t rest = int64_t(at);"));
    // The kernel serves other shapes, too.
    EXPECT_EQ(text_of(6, 8), text_of(10, 12));
    TensorSpec large{DType::f32, {1 << 15, 1 << 16}, {}}, row{DType::f32, {1 << 16}, {}};
    EXPECT_THAT(cubin("inputs 2; add 0 1", {large, row}), StartsWith(elf));
}

// The text of a program with one operator; empty if it is not elementwise.
template <class O>
std::string one_step() {
    if constexpr (ops::ElementwiseOp<O>) {
        std::string operands;
        for (size_t i = 0; i < O::info.inputs.size(); ++i) operands += text(' ', i);
        return text("inputs ", O::info.inputs.size(), "; ", O::name, operands);
    }
    return {};
}

template <class... O>
std::vector<std::string> all_steps(TypeList<O...>) {
    return {one_step<O>()...};
}

TEST_F(FusedText, FindsTheFunctorOfEachOperator) {
    size_t compiled = 0;
    for (auto& program : all_steps(AllOps{})) {
        if (program.empty()) continue;
        SCOPED_TRACE(program);
        auto parsed = ops::FusedProgram::parse(program);
        for (DType dtype : {DType::f32, DType::i32, DType::boolean}) {
            TensorSpecs inputs(size_t(parsed.inputs()), {dtype, {8}, {}});
            try {
                parsed.infer(inputs);
            } catch (const UserError&) {
                continue;  // not of this dtype
            }
            EXPECT_THAT(cubin(program.c_str(), inputs), StartsWith(elf));
            ++compiled;
            break;
        }
    }
    EXPECT_GT(compiled, 60U);
}

TEST_F(FusedText, TranspositionsAndReductionsCompile) {
    TensorSpec x{DType::f32, {40, 60}, {}}, turned{DType::f32, {60, 40}, {}}, half{DType::f16, {100}, {}};
    EXPECT_THAT(cubin("inputs 2; sin 0; transpose[pattern=1:0] 2; add 3 1; mul 4 3", {x, turned}),
                StartsWith(elf));
    for (auto method : {cuda::ReduceMethod::lanes, cuda::ReduceMethod::rows, cuda::ReduceMethod::columns}) {
        EXPECT_THAT(cubin("inputs 2; mul 0 1; exp 2", {x, x}, {"Addition", false, method}), StartsWith(elf));
        EXPECT_THAT(cubin("inputs 1; greater 0 0", {half}, {"Addition", true, method}), StartsWith(elf));
        EXPECT_THAT(cubin("inputs 1; convert[dtype=int64] 0", {half}, {"Extreme<true>", false, method}),
                    StartsWith(elf));
        EXPECT_THAT(
            cubin("inputs 1; sqrt 0; convert[dtype=uint8] 1", {half}, {"Multiplication", false, method}),
            StartsWith(elf));
    }
}

TEST_F(FusedText, SeveralCompileAsOne) {
    TensorSpec x{DType::f32, {40, 60}, {}};
    std::vector<cuda::KernelText> texts;
    for (auto* program : {"inputs 1; exp 0; sin 1", "inputs 1; sigmoid 0; relu 1", "inputs 1; tanh 0"}) {
        auto plan = ops::plan_fused(ops::FusedProgram::parse(program), {&x, 1});
        texts.push_back(ops::fused_text(plan));
        texts.push_back(ops::fused_text(plan, {"Addition", false, cuda::ReduceMethod::rows}));
    }
    std::string cubin = compiled(texts);
    EXPECT_THAT(cubin, StartsWith(elf));
    for (auto* name : {"fused_0", "fused_1", "joined_1", "fused_4", "fused_5", "joined_5"})
        EXPECT_THAT(cubin, HasSubstr(name));
    EXPECT_EQ(kept().size(), 1u);
}

TEST_F(FusedText, IsKeptOnDisk) {
    TensorSpec x{DType::f32, {64}, {}};
    std::string made = cubin("inputs 1; sin 0; cos 1", {x});
    auto files = kept();
    ASSERT_EQ(files.size(), 1u);
    auto time = std::filesystem::last_write_time(files[0]);
    EXPECT_EQ(cubin("inputs 1; sin 0; cos 1", {x}), made);
    EXPECT_EQ(std::filesystem::last_write_time(files[0]), time) << "it was read, not made";
    // A damaged file is compiled again.
    std::ofstream(files[0], std::ios::app) << "damage";
    EXPECT_EQ(cubin("inputs 1; sin 0; cos 1", {x}), made);
    EXPECT_NE(std::filesystem::last_write_time(files[0]), time);
}

TEST_F(FusedText, InvalidTextReportsCompilerErrors) {
    EXPECT_THAT(error_of<InternalError>([] { cuda::compile_text("void fused() { nonsense; }", "sm_90"); }),
                HasSubstr("identifier \"nonsense\" is undefined"));
}

}  // namespace
}  // namespace mge::test
