// SPDX-License-Identifier: Apache-2.0
// Optional facts about an operator are found in its struct, and missing ones have a meaning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/op/define.h"

namespace mge {
namespace {

struct Silent {
    static constexpr auto name = "silent";
    static constexpr auto doc = "Says nothing.";
    static constexpr auto inputs = names("x", example("like", InputKind::optional));
    static constexpr auto outputs = output_names("y");
    struct Params {
        int axis = 0;
    };
    static constexpr auto fields = field_list(field<&Params::axis>("axis", "An axis."));
    static constexpr bool stops_gradient = true;
    static TensorSpecs infer(const Params&, Specs in) { return {in[0]}; }
    static const OpInfo info;
};
constexpr OpInfo silent = define<Silent>();
const OpInfo Silent::info = silent;

struct Talkative : Silent {
    static constexpr OpTraits traits{.reads_selection = true};
    static constexpr PerInputElement operations{3};
    static constexpr Epilogue epilogue{.channel_axis = -1};
    static constexpr ImageLayouts layouts{.inputs = 0b1, .is_preferred = true};
    static constexpr auto autocast = Autocast::wide;
    static std::optional<BatchIndependence> batch_independence(const Params& p, Specs in, Specs) {
        return independent_unless_batch(p.axis, in[0]);
    }
    static std::optional<PhysicalForm> physical_form(const Params& p, const Layout& layout, Specs in,
                                                     Specs out) {
        auto form = form_along_axis(name, p.axis, layout, in, out);
        if (!form) return std::nullopt;
        return PhysicalForm{std::make_shared<const Params>(Params{form->axis}), form->inputs, form->outputs};
    }
};
constexpr OpInfo talkative = define<Talkative>();

struct Holding : Silent {
    static Footprint footprint(const Params&, Specs, Specs) { return {5, 7}; }
};
constexpr OpInfo holding = define<Holding>();

TensorSpec f32(Shape shape) { return {DType::f32, shape, {}}; }

TEST(Facts, AreUnknownByDefault) {
    EXPECT_FALSE(silent.operations || silent.footprint || silent.batch_independence || silent.physical_form);
    EXPECT_FALSE(silent.epilogue || silent.layouts);
    EXPECT_EQ(silent.autocast, Autocast::either);
    Silent::Params params;
    std::array in{f32({4, 5}), f32({100})};
    std::array out{f32({4, 5})};
    Footprint moved = footprint(silent, &params, in, out);
    EXPECT_EQ(moved.operations, 20);
    EXPECT_EQ(moved.bytes, 160) << "an example is not read";
    TensorSpec laid_out{DType::f32, {1, 16, 2, 2}, Layout::named("nChw8c")};
    EXPECT_FALSE(physical_form(silent, std::make_shared<Silent::Params>(), {laid_out}, {laid_out}));
}

TEST(Facts, AreFoundInTheStruct) {
    Talkative::Params params;
    std::array in{f32({4, 5})}, out{f32({2, 5})};
    Footprint selected = footprint(talkative, &params, in, out);
    EXPECT_EQ(selected.operations, 60);
    EXPECT_EQ(selected.bytes, 80) << "it reads no more than comes out";
    EXPECT_EQ(talkative.epilogue->channel_axis, -1);
    EXPECT_TRUE(talkative.layouts->is_preferred && has_operand(talkative.layouts->inputs, 0));
    EXPECT_FALSE(has_operand(talkative.layouts->inputs, 1));
    EXPECT_TRUE(has_operand(talkative.layouts->outputs, 0) && has_operand(talkative.layouts->outputs, 40));
    EXPECT_EQ(talkative.autocast, Autocast::wide);
    EXPECT_FALSE(talkative.batch_independence(&params, in, out));
    params.axis = -2;
    EXPECT_FALSE(talkative.batch_independence(&params, in, out)) << "the first axis, counted from the end";
    params.axis = 1;
    EXPECT_TRUE(talkative.batch_independence(&params, in, out));
}

TEST(Facts, DescribeLayouts) {
    TensorSpec image{DType::f32, {1, 16, 2, 3}, Layout::named("nChw8c")};
    auto form =
        physical_form(talkative, std::make_shared<Silent::Params>(Silent::Params{1}), {image}, {image});
    ASSERT_TRUE(form);
    EXPECT_EQ(static_cast<const Silent::Params*>(form->params.get())->axis, 1);
    EXPECT_EQ(form->inputs[0], f32({1, 2, 2, 3, 8}));
    EXPECT_FALSE(physical_form(talkative, std::make_shared<Silent::Params>(), {f32({4})}, {f32({4})}))
        << "nothing is laid out";
}

TEST(Facts, MayBeAWholeFootprint) {
    Silent::Params params;
    std::array specs{f32({4})};
    EXPECT_EQ(footprint(holding, &params, specs, specs).operations, 5);
    EXPECT_EQ(footprint(holding, &params, specs, specs).bytes, 7);
}

}  // namespace
}  // namespace mge
