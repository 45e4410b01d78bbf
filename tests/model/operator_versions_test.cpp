// SPDX-License-Identifier: Apache-2.0
// Operators whose meaning has changed since a file was written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/compile/program.h"
#include "libmge/device/default_device.h"
#include "libmge/graph/builder.h"
#include "libmge/model/model.h"
#include "libmge/op/define.h"
#include "libmge/op/operator_library.h"
#include "tests/new_folder.h"

namespace mge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string file = MGE_TEST_DATA "/models/operator_of_version_1.mge";

// y = x + amount. Version 1 had a percentage, and subtracted it on request.
template <int V>
struct Shift {
    static constexpr auto name = "test_shift";
    static constexpr auto doc = "x + amount";
    static constexpr auto inputs = names("x");
    static constexpr auto outputs = output_names("y");
    static constexpr bool stops_gradient = true;
    static constexpr int version = V;
    struct Params {
        double amount = 0;
    };
    static constexpr auto fields = field_list(field<&Params::amount>("amount", "What is added."));
    static TensorSpecs infer(const Params&, Specs in) { return {in[0]}; }
    static void upgrade(int from, ParamMap& params) {
        EXPECT_EQ(from, 1);
        double amount = 0;
        for (auto& [key, value] : params) {
            if (key == "percent") amount += double(ParamCodec<int64_t>::set(value)) / 100;
            if (key == "negative" && ParamCodec<bool>::set(value)) amount = -amount;
        }
        params = {{"amount", amount}};
    }
    static const OpInfo info;
};
template <>
struct Shift<1> {
    static constexpr auto name = "test_shift";
    static constexpr auto doc = "x + percent / 100, or x - percent / 100";
    static constexpr auto inputs = names("x");
    static constexpr auto outputs = output_names("y");
    static constexpr bool stops_gradient = true;
    struct Params {
        int64_t percent = 0;
        bool negative = false;
    };
    static constexpr auto fields = field_list(field<&Params::percent>("percent", "What is added."),
                                              field<&Params::negative>("negative", "It is taken away."));
    static TensorSpecs infer(const Params&, Specs in) { return {in[0]}; }
    static const OpInfo info;
};
constinit const OpInfo Shift<1>::info = define<Shift<1>>();
template <>
constinit const OpInfo Shift<2>::info = define<Shift<2>>();

double amount_of(const Shift<2>::Params& p) { return p.amount; }
double amount_of(const Shift<1>::Params& p) { return double(p.percent) / (p.negative ? -100 : 100); }

template <class Op>
KernelList kernels(Cpu, Op) {
    static constexpr Algorithm list[] = {{"test", always, copy_problem<typename Op::Params>,
                                          [](const Prepared& prepared, const Launch& launch) {
                                              auto& state =
                                                  prepared.state<ProblemState<typename Op::Params>>();
                                              for (int64_t i = 0; i < state.inputs[0].shape.numel(); ++i)
                                                  launch.out<float>(0)[i] =
                                                      launch.in<float>(0)[i] + float(amount_of(state.params));
                                          }}};
    return list;
}

// Operators of one version for the time of a test.
template <int V>
class Added {
public:
    Added() {
        static constexpr auto tables = operator_tables(TypeList<Shift<V>>{});
        static constexpr OperatorLibrary library = make_operator_library("test_versions", tables);
        add_operators(library);
    }
    ~Added() { remove_operators("test_versions"); }
};

template <class Op>
Model model_of(const typename Op::Params& params) {
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {2}, {}}, "x");
    InterpreterScope scope(builder);
    builder.set_outputs({apply_one(Op::info, &params, {&x, 1})});
    Model model;
    model.graph = builder.take();
    return model;
}

// How the file was made.
TEST(OperatorVersions, DISABLED_WriteTheFile) {
    Added<1> added;
    write_model(file, model_of<Shift<1>>({250, true}));
}

TEST(OperatorVersions, OlderVersionIsUpgraded) {
    Added<2> added;
    Model model = read_model(file);
    auto& node = model.graph.nodes().at(0);
    EXPECT_EQ(node.op->version, 2);
    EXPECT_EQ(node.as<Shift<2>::Params>().amount, -2.5);
    float values[] = {1, 2};
    Tensor x = tensor_from_host({DType::f32, {2}, {}}, values, host_device);
    Tensor y = Executable(model.graph, {}).run({&x, 1})[0];
    EXPECT_THAT(std::vector<float>(y.data<float>(), y.data<float>() + 2), ElementsAre(-1.5F, -0.5F));
}

TEST(OperatorVersions, NewerVersionIsRefused) {
    NewFolder folder("mge_versions");
    std::string path = folder.file("model.mge");
    {
        Added<2> added;
        write_model(path, model_of<Shift<2>>({1}));
    }
    Added<1> added;
    try {
        read_model(path);
        ADD_FAILURE() << "it was read";
    } catch (const ModelError& e) {
        EXPECT_THAT(e.what(),
                    HasSubstr("node 0 (test_shift): version 2 of the operator, but this program has 1"));
    }
}

}  // namespace
}  // namespace mge
