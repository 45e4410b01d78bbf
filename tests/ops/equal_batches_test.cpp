// SPDX-License-Identifier: Apache-2.0
// The result of an item does not depend on its batch: every candidate without an exception gives the same
// bits as for the item alone, and so do programs compiled with same_between_batches.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <set>

#include "libmge/kernel/fastrun_cache.h"
#include "libmge/kernel/other_batch.h"
#include "libmge/mge.h"
#include "tests/harness/check_op.h"
#include "tests/harness/edge_memory.h"

namespace mge::test {
namespace {

constexpr int64_t batch = 8;

// Shapes of one item; the first extent of the others is theirs.
struct Operand {
    Shape shape;
    bool is_item = true, is_constant = false;
    DType dtype = DType::none;  // none: that of the case
};
struct Case {
    const OpInfo* op;
    std::shared_ptr<const void> params;
    std::vector<Operand> operands;
    std::string layout = "nchw";
};

template <class Op>
Case make_case(const typename Op::Params& params, std::vector<Operand> operands,
               const char* layout = "nchw") {
    return {&Op::info, std::make_shared<const typename Op::Params>(params), std::move(operands), layout};
}

Tensor random_tensor(const TensorSpec& spec, std::mt19937& random) {
    const bool is_real = is_float(spec.dtype);
    std::uniform_real_distribution<double> uniform(is_real ? -2 : 0, is_real ? 2 : 127);
    std::vector<double> values(spec.bytes() / size_of(spec.dtype));
    for (auto& v : values) v = uniform(random);
    Tensor flat = make_tensor(spec.dtype, {int64_t(values.size())}, values);
    Tensor result = edge_tensor(spec);
    std::memcpy(result.data(), flat.data(), spec.bytes());
    return result;
}

// Images follow the layout.
TensorSpec spec_of(const Shape& shape, DType dtype, const std::string& layout) {
    bool is_image = shape.rank() == 4 && shape[1] % 16 == 0;
    return {dtype, shape, is_image ? Layout::named(layout) : Layout()};
}

// A case with some batch; owns what its Problem points to.
struct Sized {
    Sized(const Case& c, int64_t n, DType dtype, int threads) {
        uint32_t constants = 0;
        for (size_t i = 0; i < c.operands.size(); ++i) {
            auto& operand = c.operands[i];
            Shape shape = operand.shape;
            if (operand.is_item) shape[0] = n;
            const DType own = operand.dtype == DType::none ? dtype : operand.dtype;
            inputs.push_back(operand.is_item ? spec_of(shape, own, c.layout) : TensorSpec{own, shape, {}});
            constants |= uint32_t(operand.is_constant) << i;
        }
        TensorSpecs plain = inputs;
        for (auto& spec : plain) spec.layout = {};
        outputs = c.op->infer(c.params.get(), plain);
        if (c.layout != "nchw")
            for (auto& spec : outputs) spec = spec_of(spec.shape, spec.dtype, c.layout);
        problem = make_problem(*c.op, c.params.get(), inputs, outputs);
        problem.constant_inputs = constants;
        problem.threads = threads;
    }
    Sized(const Sized&) = delete;
    TensorSpecs inputs, outputs;
    Problem problem;
};

// Output 0, with nothing mapped behind any operand.
std::vector<char> run(const Algorithm& algorithm, const Prepared& prepared, const Problem& problem,
                      const std::vector<const void*>& inputs) {
    Tensors outputs;
    std::vector<void*> addresses;
    for (auto& spec : problem.outputs) addresses.push_back(outputs.emplace_back(edge_tensor(spec)).data());
    StorageRef workspace = edge_workspace(prepared.workspace());
    algorithm.run(prepared, {inputs, addresses, workspace->data, problem.threads});
    auto* begin = static_cast<const char*>(addresses[0]);
    return {begin, begin + problem.outputs[0].bytes()};
}

std::vector<char> run(const NamedCandidate& named, const Problem& problem,
                      const std::vector<const void*>& inputs) {
    std::vector<const void*> constants;
    for (size_t i = 0; i < inputs.size(); ++i)
        constants.push_back(problem.is_constant(i) ? inputs[i] : nullptr);
    Prepared prepared = named.algorithm->prepare({problem, named.candidate, constants});
    return run(*named.algorithm, prepared, problem, inputs);
}

// Whether output 0 of every item is that of the item alone.
bool is_equal_alone(const NamedCandidate& all, const NamedCandidate& one, const Case& c, const Sized& of_all,
                    const Sized& of_one, const Tensors& inputs) {
    std::vector<const void*> addresses;
    for (auto& t : inputs) addresses.push_back(t.data());
    auto together = run(all, of_all.problem, addresses);
    size_t item = together.size() / size_t(batch);
    for (int64_t n = 0; n < batch; ++n) {
        for (size_t i = 0; i < inputs.size(); ++i)
            if (c.operands[i].is_item)
                addresses[i] = static_cast<const char*>(inputs[i].data()) +
                               size_t(n) * (inputs[i].spec().bytes() / size_t(batch));
        auto alone = run(one, of_one.problem, addresses);
        if (std::memcmp(alone.data(), together.data() + size_t(n) * item, item) != 0) return false;
    }
    return true;
}

std::string describe(const Case& c, const Sized& sized, const std::string& name) {
    return text(c.op->name, ' ', sized.problem.key(), ": ", name);
}

// Candidates of one case that depend on the batch without saying so; the marked ones go to `marked`.
void check(const Case& c, DType dtype, std::set<std::string>& marked, int& checked) {
    std::mt19937 random(11);
    for (int threads : {1, 2}) {
        Sized of_all(c, batch, dtype, threads), of_one(c, 1, dtype, threads);
        Tensors inputs;
        for (auto& spec : of_all.inputs) inputs.push_back(random_tensor(spec, random));
        auto kernels = find_kernels(*c.op, default_device());
        auto ones = list_candidates(kernels, of_one.problem);
        for (auto& all : list_candidates(kernels, of_all.problem)) {
            auto one = std::find_if(ones.begin(), ones.end(), [&](auto& candidate) {
                return candidate.candidate.name == all.candidate.name;
            });
            // References go element by element, slowly.
            if (one == ones.end() || all.candidate.attributes.naive) continue;
            ++checked;
            bool is_equal = is_equal_alone(all, *one, c, of_all, of_one, inputs);
            if (all.candidate.attributes.accuracy_depends_on_batch) {
                if (!is_equal) marked.insert(text(c.op->name, ' ', all.candidate.name));
                continue;
            }
            EXPECT_TRUE(is_equal) << describe(c, of_all, all.candidate.name);
        }
    }
}

void check_all(const std::vector<Case>& cases, const std::vector<DType>& dtypes = {DType::f32}) {
    std::set<std::string> marked;
    int checked = 0;
    for (auto& c : cases)
        for (DType dtype : dtypes) check(c, dtype, marked, checked);
    EXPECT_GT(checked, int(cases.size()));
    for (auto& name : marked) std::printf("depends on the batch, and says so: %s\n", name.c_str());
}

Operand image(Shape shape) { return {shape}; }
Operand weight(Shape shape) { return {shape, false, true}; }

// Items of some rows, times a weight in 8 or 4 bits.
Case compressed_product(int64_t bits, int64_t group, Shape x, int64_t rows, bool has_zeros = false) {
    const int64_t columns = x[x.rank() - 1], groups = columns / group;
    std::vector<Operand> operands{image(x), weight({rows, columns * bits / 8}), weight({rows, groups})};
    operands[1].dtype = DType::u8;
    if (has_zeros) operands.push_back({{rows, groups}, false, true, DType::u8});
    return make_case<ops::CompressedMatmul>({.bits = bits, .group = group}, operands);
}

TEST(EqualBatches, Convolution) {
    using P = ops::Conv2d::Params;
    std::vector<Case> cases;
    for (const char* layout : {"nchw", "nhwc", "nChw16c"}) {
        auto add = [&](const P& p, Shape x, Shape w, bool epilogue = false) {
            std::vector<Operand> operands{image(x), weight(w)};
            if (epilogue) {
                TensorSpec in[] = {{DType::f32, x, {}}, {DType::f32, w, {}}};
                Shape y = ops::Conv2d::infer(p, in)[0].shape;
                operands.push_back(weight({1, y[1], 1, 1}));
                operands.push_back(image(y));
            }
            cases.push_back(make_case<ops::Conv2d>(p, operands, layout));
        };
        add({.padding = {1, 1}}, {1, 32, 14, 14}, {32, 32, 3, 3}, true);
        add({.padding = {1, 1}}, {1, 64, 7, 7}, {64, 64, 3, 3});
        add({}, {1, 64, 14, 14}, {128, 64, 1, 1}, true);
        add({.stride = {2, 2}}, {1, 32, 15, 15}, {48, 32, 1, 1});
        add({.stride = {2, 2}, .padding = {3, 3}}, {1, 3, 33, 33}, {16, 3, 7, 7});
        add({.padding = {1, 1}, .groups = 32}, {1, 32, 10, 10}, {32, 1, 1, 3, 3});
        add({.padding = {2, 2}, .dilation = {2, 2}, .groups = 2}, {1, 32, 9, 9}, {2, 16, 16, 3, 3});
        add({.padding = {1, 1}}, {1, 16, 5, 5}, {16, 16, 3, 3});
        add({}, {1, 512, 1, 1}, {100, 512, 1, 1});
    }
    check_all(cases);
    check_all({cases[0], cases[2], cases[5]}, {DType::f16, DType::bf16});
}

TEST(EqualBatches, TransposedConvolution) {
    ops::Conv2dBackwardData::Params p{.stride = {2, 2}, .padding = {1, 1}};
    check_all({make_case<ops::Conv2dBackwardData>(p, {weight({32, 16, 4, 4}), image({1, 32, 7, 7})}),
               make_case<ops::Conv2dBackwardData>(p, {weight({16, 8, 3, 3}), image({1, 16, 12, 5})}),
               make_case<ops::Conv2dBackwardData>({}, {weight({64, 32, 1, 1}), image({1, 64, 9, 9})})});
}

TEST(EqualBatches, Product) {
    std::vector<Case> cases;
    for (Shape w : {Shape{16, 8}, Shape{64, 64}, Shape{84, 10}, Shape{129, 65}, Shape{512, 300},
                    Shape{2048, 100}, Shape{3000, 7}, Shape{4096, 1}}) {
        cases.push_back(make_case<ops::Matmul>({}, {image({1, w[0]}), weight(w)}));
        cases.push_back(make_case<ops::Matmul>({.transpose_b = true, .activation = Activation::relu},
                                               {image({1, w[0]}), weight({w[1], w[0]}), weight({w[1]})}));
    }
    for (int64_t rows : {1, 5, 16, 50}) {
        cases.push_back(make_case<ops::Matmul>({}, {image({1, rows, 96}), weight({96, 64})}));
        cases.push_back(make_case<ops::Matmul>({.transpose_b = true},
                                               {image({1, 4, rows, 32}), image({1, 4, rows, 32})}));
        cases.push_back(make_case<ops::Matmul>({}, {image({1, rows, rows}), image({1, rows, 64})}));
    }
    check_all(cases);
    check_all({cases[4], cases[5], cases[9], cases[16]}, {DType::f16, DType::bf16});
}

TEST(EqualBatches, CompressedProduct) {
    std::vector<Case> cases;
    for (int64_t bits : {8, 4})
        for (int64_t group : {32, 64, 24})
            for (int64_t rows_of_item : {1, 3, 17})
                for (bool has_zeros : {false, true})
                    cases.push_back(compressed_product(bits, group, {1, rows_of_item, 768}, 64, has_zeros));
    check_all(cases);
}

TEST(EqualBatches, Pooling) {
    std::vector<Case> cases;
    for (const char* layout : {"nchw", "nhwc", "nChw8c", "nChw16c"})
        for (Shape x : {Shape{1, 32, 13, 13}, Shape{1, 16, 29, 7}}) {
            cases.push_back(make_case<ops::MaxPool2d>({.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}},
                                                      {image(x)}, layout));
            cases.push_back(make_case<ops::AvgPool2d>({.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 1}},
                                                      {image(x)}, layout));
            cases.push_back(make_case<ops::AvgPool2d>({.kernel = {7, 7}, .stride = {1, 1}, .padding = {0, 0}},
                                                      {image(x)}, layout));
            cases.push_back(make_case<ops::AdaptiveAvgPool2d>({.height = 1, .width = 1}, {image(x)}, layout));
            cases.push_back(make_case<ops::AdaptiveMaxPool2d>({.height = 3, .width = 2}, {image(x)}, layout));
        }
    check_all(cases);
}

TEST(EqualBatches, Norms) {
    std::vector<Case> cases;
    for (int64_t c : {7, 16, 64, 130}) {
        cases.push_back(make_case<ops::LayerNorm>({.axes = 1}, {image({1, 5, c}), weight({c}), weight({c})}));
        cases.push_back(make_case<ops::LayerNorm>({.axes = 1}, {image({1, c}), weight({c}), weight({c})}));
        cases.push_back(make_case<ops::LayerNorm>({.axes = 3}, {image({1, c, 4, 5})}));
    }
    for (const char* layout : {"nchw", "nhwc", "nChw16c"})
        for (int64_t c : {16, 48}) {
            cases.push_back(make_case<ops::GroupNorm>(
                {.groups = 4}, {image({1, c, 6, 7}), weight({c}), weight({c})}, layout));
            cases.push_back(make_case<ops::BatchNorm>(
                {.training = false},
                {image({1, c, 9, 5}), weight({c}), weight({c}), weight({c}), weight({c})}, layout));
        }
    check_all(cases);
}

TEST(EqualBatches, SoftmaxAndReductions) {
    std::vector<Case> cases;
    for (int64_t c : {3, 10, 64, 1000, 9001}) {
        cases.push_back(make_case<ops::Softmax>({.axis = 1}, {image({1, c})}));
        cases.push_back(make_case<ops::Softmax>({.axis = -1, .log = true}, {image({1, 3, c})}));
        cases.push_back(make_case<ops::Softmax>({.axis = 1}, {image({1, c, 5})}));
        for (auto& shape : {Shape{1, c, 5}, Shape{1, 5, c}, Shape{1, c, 3, 7}}) {
            cases.push_back(make_case<ops::Sum>({.axes = {1}}, {image(shape)}));
            cases.push_back(make_case<ops::Mean>({.axes = {2}}, {image(shape)}));
            cases.push_back(make_case<ops::Prod>({.axes = {-1}, .keepdims = true}, {image(shape)}));
            cases.push_back(make_case<ops::Max>({.axes = {1, 2}}, {image(shape)}));
            cases.push_back(make_case<ops::Sum>({.axes = {1, 2}}, {image(shape)}));
        }
        cases.push_back(make_case<ops::Mean>({.axes = {2, 3}}, {image({1, 16, c, 2})}));
        cases.push_back(make_case<ops::Cumsum>({.axis = 1}, {image({1, c, 3})}));
        cases.push_back(make_case<ops::Argmax>({.axis = 1}, {image({1, c})}));
    }
    check_all(cases);
}

std::vector<char> run(const Choice& choice, const Problem& problem, const std::vector<const void*>& inputs) {
    return run(*choice.algorithm, choice.prepared, problem, inputs);
}

// The algorithm of a single item serves all, at once or item by item, for any measurements, and when selected
// by name.
TEST(EqualBatches, ChoicesDoNotDependOnTheBatch) {
    const Case cases[] = {
        make_case<ops::Matmul>({}, {image({1, 2048}), weight({2048, 100})}),
        make_case<ops::Matmul>({}, {image({1, 16}), weight({16, 8})}),
        make_case<ops::Matmul>({}, {image({1, 8, 64}), image({1, 64, 8})}),
        make_case<ops::Conv2d>({.padding = {1, 1}}, {image({1, 16, 9, 9}), weight({16, 16, 3, 3})}),
        compressed_product(8, 64, {1, 768}, 64),
        compressed_product(4, 64, {1, 768}, 64),
        make_case<ops::Softmax>({.axis = 1}, {image({1, 100})})};
    std::mt19937 random(5);
    std::set<bool> was_each;
    auto cache = FastrunCache::in_memory();
    for (auto& c : cases)
        for (bool measures : {false, true}) {
            Sized of_all(c, batch, DType::f32, 2), of_one(c, 1, DType::f32, 2);
            Tensors inputs;
            for (auto& spec : of_all.inputs) inputs.push_back(random_tensor(spec, random));
            std::vector<const void*> addresses, constants;
            for (size_t i = 0; i < inputs.size(); ++i) {
                addresses.push_back(inputs[i].data());
                constants.push_back(c.operands[i].is_constant ? inputs[i].data() : nullptr);
            }
            SelectOptions options{.heuristic = !measures, .profile = measures, .same_between_batches = true};
            options.cache = cache.get();
            auto kernels = find_kernels(*c.op, default_device());
            Choice all = select(kernels, of_all.problem, constants, options);
            Choice one = select(kernels, of_one.problem, constants, options);
            bool is_each = all.candidate.name == text(each_item_prefix, one.candidate.name);
            was_each.insert(is_each);
            EXPECT_TRUE(is_each || all.candidate.name == one.candidate.name) << all.candidate.name;
            if (measures) {
                EXPECT_EQ(one.source, ChoiceSource::cache) << "of the batch";
            }
            auto together = run(all, of_all.problem, addresses);
            SelectOptions by_name;
            by_name.forced = all.candidate.name;
            EXPECT_EQ(run(select(kernels, of_all.problem, constants, by_name), of_all.problem, addresses),
                      together);
            for (int64_t n = 0; n < batch; ++n) {
                for (size_t i = 0; i < inputs.size(); ++i)
                    if (c.operands[i].is_item)
                        addresses[i] = static_cast<const char*>(inputs[i].data()) +
                                       size_t(n) * (inputs[i].spec().bytes() / size_t(batch));
                auto alone = run(one, of_one.problem, addresses);
                EXPECT_EQ(std::memcmp(alone.data(), together.data() + size_t(n) * alone.size(), alone.size()),
                          0)
                    << c.op->name << ' ' << all.candidate.name << ' ' << n;
            }
        }
    EXPECT_EQ(was_each.size(), 2u) << "both ways are taken";
}

TEST(OtherBatch, RecognisesSharedOperands) {
    auto operands_of = [](const Case& c, int64_t n) {
        Sized sized(c, n, DType::f32, 1);
        return batch_operands(sized.problem);
    };
    using Flags = std::vector<bool>;
    // A square matrix is no batch of rows.
    auto square = operands_of(make_case<ops::Matmul>({}, {image({1, 8}), {{8, 8}, false, false}}), 8);
    ASSERT_TRUE(square);
    EXPECT_EQ(square->inputs, (Flags{true, false}));
    auto pairs = operands_of(make_case<ops::Matmul>({}, {image({1, 3, 4}), image({1, 4, 5})}), 8);
    ASSERT_TRUE(pairs);
    EXPECT_EQ(pairs->inputs, (Flags{true, true}));
    EXPECT_FALSE(
        operands_of(make_case<ops::Matmul>({.transpose_a = true}, {{{4, 8}, false}, {{4, 8}, false}}), 8));
    EXPECT_FALSE(operands_of(make_case<ops::Sum>({.axes = {0}}, {image({1, 4})}), 8));
    EXPECT_FALSE(operands_of(make_case<ops::Sum>({}, {image({1, 4})}), 8));
    EXPECT_FALSE(operands_of(make_case<ops::Softmax>({.axis = -2}, {image({1, 4})}), 8));
    EXPECT_FALSE(operands_of(make_case<ops::Transpose>({.pattern = {1, 0}}, {image({1, 4})}), 8));
    Operand channel{{8}, false};
    Case norm = make_case<ops::BatchNorm>({}, {image({1, 8, 2, 2}), channel, channel, channel, channel});
    EXPECT_FALSE(operands_of(norm, 8)) << "it learns";
    norm.params = std::make_shared<const ops::BatchNorm::Params>(ops::BatchNorm::Params{.training = false});
    ASSERT_TRUE(operands_of(norm, 8));
    EXPECT_EQ(operands_of(norm, 8)->outputs, (Flags{true, false, false, false, false}));
}

// Their vectors end at other elements in another batch.
TEST(EqualBatches, ElementwiseOperators) {
    std::vector<Case> cases;
    for (auto* op : all_ops()) {
        if (!op->traits.elementwise || op->inputs.size() > 2 || op->is_variadic() || op->inputs.empty())
            continue;
        std::vector<Operand> operands(op->inputs.size(), image({1, 3, 7}));
        Case c{op, op->params.make(), operands, "nchw"};
        TensorSpecs specs(operands.size(), {DType::f32, {1, 3, 7}, {}});
        try {
            op->infer(c.params.get(), specs);
        } catch (const UserError&) {
            continue;  // for integers or truth values only
        }
        for (int64_t extent : {1, 7, 33, 4099}) {
            for (auto& operand : c.operands) operand.shape = {1, extent};
            cases.push_back(c);
        }
    }
    EXPECT_GT(cases.size(), 100u);
    check_all(cases);
}

}  // namespace
}  // namespace mge::test
