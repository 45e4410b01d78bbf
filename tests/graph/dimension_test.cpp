// SPDX-License-Identifier: Apache-2.0
// Names of open dimensions: through passes, and sizes given by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/graph/edit.h"
#include "libmge/mge.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

using testing::ElementsAre;

// sum = a + b, where b has one more axis of an expression.
Graph named_graph() {
    GraphBuilder builder;
    Tensor a = builder.input({DType::f32, {1, 8, 4}, {}}, "a");
    Tensor b = builder.input({DType::f32, {1, 8, 4}, {}}, "b");
    Tensor past = builder.input({DType::f32, {9, 2}, {}}, "past");
    InterpreterScope scope(builder);
    builder.set_outputs({ops::relu(ops::add(a, b)), ops::exp(past)});
    Graph graph = builder.take();
    graph.value(graph.inputs()[0]).dimensions = {{0, "batch-size", {}}, {1, "seq", {2, 64}}};
    graph.value(graph.inputs()[1]).dimensions = {{0, "batch-size", {}}, {1, "seq", {}}};
    graph.value(graph.inputs()[2]).dimensions = {{0, "seq + 1", {}}, {1, "", {}}};
    return graph;
}

std::vector<Shape> shapes_of(const TensorSpecs& specs) {
    std::vector<Shape> shapes;
    for (auto& spec : specs) shapes.push_back(spec.shape);
    return shapes;
}

TEST(Dimensions, NamesAreListedWithoutExpressionsOverThem) {
    EXPECT_THAT(dimension_names(named_graph()), ElementsAre("batch-size", "seq"));
}

TEST(Dimensions, SizesApplyToAllAxesOfTheName) {
    auto specs = specs_with_sizes(named_graph(), {{"batch-size", 3}, {"seq", 16}}, "--dim");
    EXPECT_THAT(shapes_of(specs), ElementsAre(Shape{3, 16, 4}, Shape{3, 16, 4}, Shape{17, 2}));
}

TEST(Dimensions, MismatchIsNamed) {
    Graph graph = named_graph();
    auto refused = [&](const ExtentValues& sizes, const std::string& message) {
        expect_user_error(ErrorClass::value, message, [&] { specs_with_sizes(graph, sizes, "--dim"); });
    };
    refused({{"sequence", 3}}, "[--dim] the model has no dimension 'sequence'; it has 'batch-size', 'seq'");
    refused({{"seq", 0}}, "[--dim] dimension 'seq' is at least 2 and at most 64, got 0");
    refused({{"seq", 65}}, "[--dim] dimension 'seq' is at least 2 and at most 64, got 65");
    refused({{"batch-size", -1}}, "[--dim] dimension 'batch-size' is at least 0, got -1");
    for (ValueId id : graph.inputs()) graph.value(id).dimensions.clear();
    refused({{"seq", 3}}, "[--dim] the model's inputs have no named dimensions, got 'seq'");
}

TEST(Dimensions, AShapeThatContradictsASizeIsNamed) {
    Graph graph = named_graph();
    ExtentValues sizes{{"seq", 16}};
    TensorSpecs specs = specs_with_sizes(graph, sizes, "--dim");
    EXPECT_EQ(find_contradiction(graph, sizes, specs), std::nullopt);
    specs[2].shape = {16, 2};
    EXPECT_EQ(find_contradiction(graph, sizes, specs),
              "dimension 'seq + 1' is 17, but input 'past' has the shape (16, 2)");
}

TEST(Dimensions, AreKeptByPassesAndCopies) {
    Graph graph = named_graph();
    Graph optimised = run_passes(graph, {});
    ASSERT_EQ(optimised.inputs().size(), 3u);
    std::map<ValueId, ValueId> known;
    Graph copied;
    copy_values(copied, graph, graph.outputs(), known);
    for (size_t i = 0; i < 3; ++i) {
        auto& own = graph.value(graph.inputs()[i]);
        EXPECT_EQ(optimised.value(optimised.inputs()[i]).dimensions, own.dimensions);
        EXPECT_EQ(copied.value(known.at(graph.inputs()[i])).dimensions, own.dimensions);
    }
}

TEST(Dimensions, TextHasNamesAndSizes) {
    EXPECT_EQ(named_shape_text({1, 8, 4}, {{0, "batch", {}}, {2, "", {}}}), "(batch=1, 8, ?=4)");
    EXPECT_EQ(named_shape_text({5}, {{0, "n", {}}}), "(n=5,)");
    EXPECT_EQ(named_shape_text({1, 8, 4}, {}), "(1, 8, 4)");
    EXPECT_EQ(named_shape_text(Shape::unknown(), {{0, "n", {}}}), "(?)");
}

TEST(Dimensions, AnErrorOfShapesNamesTheDimensionThatDiffers) {
    Graph graph = named_graph();
    auto compiled = [&](Shape a, Shape b) {
        return Program::compile(graph, {{DType::f32, a, {}}, {DType::f32, b, {}}, {DType::f32, {5, 2}, {}}},
                                {});
    };
    // A model may broadcast: it runs.
    EXPECT_EQ(compiled({2, 3, 4}, {2, 1, 4})->outputs()[0].spec.shape, Shape({2, 3, 4}));
    EXPECT_THAT(error_of([&] {
                    compiled({2, 3, 4}, {2, 5, 4});
                }),
                testing::StartsWith("dimension 'seq' is 3 in input 'a' and 5 in input 'b': [add]"));
}

}  // namespace
}  // namespace mge::test
