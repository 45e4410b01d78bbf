// SPDX-License-Identifier: Apache-2.0
// Links libmge.so as users do and loads operators into it.
#include "libmge/op/operator_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "libmge/device/kinds.h"
#include "libmge/eager/tape.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/mge.h"
#include "libmge/model/model.h"
#include "libmge/op/subgraph.h"
#include "tests/new_folder.h"

namespace mge {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string folder = MGE_OPERATOR_LIBRARIES;
std::string library(const std::string& variant) { return folder + "/libmge_test_" + variant + ".so"; }

const OpInfo& cube() {
    load_operators(library("operators"));
    return *find_op("test_cube");
}
Tensor apply_cube(const Tensor& x, double scale = 1) {
    auto& op = cube();
    auto params = op.params.make();
    load_params(op.name, op.fields, params.get(), {{"scale", scale}});
    return apply_one(op, params.get(), {&x, 1});
}
Tensor tensor(std::vector<float> values) {
    return tensor_from_host({DType::f32, {int64_t(values.size())}, {}}, values.data(), default_device());
}
std::vector<float> values_of(const Tensor& given) {
    Tensor t = to_host(given);
    return {t.data<float>(), t.data<float>() + t.spec().numel()};
}

template <class Fn>
std::string error_of(Fn&& fn) {
    try {
        fn();
    } catch (const OperatorLibraryError& e) {
        EXPECT_EQ(e.code(), ErrorCode::usage);
        return e.what();
    }
    return "no OperatorLibraryError";
}
std::string load_error_of(const std::string& variant) {
    size_t before = added_libraries().size();
    std::string error = error_of([&] { load_operators(library(variant)); });
    EXPECT_EQ(added_libraries().size(), before) << variant;
    EXPECT_EQ(find_op("test_other"), nullptr) << variant;
    EXPECT_THAT(error, HasSubstr(library(variant)));
    return error;
}

Graph cube_graph() {
    cube();
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {3}, {}}, "x");
    InterpreterScope scope(builder);
    builder.set_outputs({ops::exp(apply_cube(x, 2))});
    return builder.take();
}

TEST(OperatorLibrary, RunsAndDifferentiates) {
    EXPECT_THAT(values_of(apply_cube(tensor({1, 2, -3}))), ElementsAre(1, 8, -27));
    Tape tape;
    Tensor x = tape.attach(tensor({1, 2, -3}));
    tape.start();
    Tensor y = apply_cube(x, 2);
    EXPECT_THAT(values_of(tape.backward({&y, 1}, std::array{Tensor()})[0]), ElementsAre(6, 24, 54));
}

TEST(OperatorLibrary, IsAddedOnce) {
    auto& first = load_operators(library("operators"));
    EXPECT_EQ(&load_operators(library("operators")), &first);
    EXPECT_EQ(first.name, "test_operators");
    EXPECT_EQ(library_of(cube()), &first);
    EXPECT_EQ(library_of(ops::Add::info), nullptr);
    EXPECT_THAT(first.ops, ElementsAre(&cube()));
}

TEST(OperatorLibrary, ReportsErrorsAndAddsNothing) {
    EXPECT_THAT(load_error_of("absent"), HasSubstr("cannot be read: No such file"));
    EXPECT_THAT(load_error_of("no_entry"), HasSubstr("has no function mge_operators"));
    EXPECT_THAT(load_error_of("other_abi"),
                AllOf(HasSubstr(text("was built for interface ", backend_abi + 1)),
                      HasSubstr(text("this program has ", backend_abi))));
    EXPECT_THAT(load_error_of("missing_symbol"), HasSubstr("undefined_function"));
    EXPECT_THAT(load_error_of("taken_name"),
                HasSubstr("the name 'relu' is taken by an operator of mge itself"));
    EXPECT_THAT(load_error_of("wrong_name"), HasSubstr("'test other' cannot be an operator's name"));
    EXPECT_THAT(load_error_of("no_kernels"), HasSubstr("operator 'test_other' has an empty list of kernels"));
    cube();
    EXPECT_THAT(load_error_of("same_library"),
                HasSubstr("a library named 'test_operators' is already loaded"));
    EXPECT_THAT(load_error_of("same_operator"),
                HasSubstr("the name 'test_cube' is taken by an operator of library 'test_operators'"));
}

TEST(OperatorLibrary, ProvidesDevices) {
    load_operators(library("devices"));
    EXPECT_EQ(physical_name(parse_device("some1:3")), "some1:3");
    EXPECT_THROW(parse_device("some2"), DeviceError);
    auto& alone = load_operators(library("devices_alone"));
    EXPECT_EQ(alone.name, "alone");
    EXPECT_TRUE(alone.ops.empty());
    EXPECT_EQ(&load_operators(library("devices_alone")), &alone);
    EXPECT_EQ(parse_device("alone0").index, 0);
    EXPECT_THROW(load_operators(library("devices_alone"), "another_name"), OperatorLibraryError);
    auto kinds = added_device_kinds();
    EXPECT_EQ(std::ranges::count(kinds, "some", &DeviceKind::name), 1);
    EXPECT_EQ(std::ranges::count(kinds, "alone", &DeviceKind::name), 1);
}

TEST(OperatorLibrary, KeepsDevicesWhenItsOperatorsAreRemoved) {
    for (auto* variant : {"devices", "devices_alone"}) {
        std::string name = load_operators(library(variant)).name;
        size_t kinds = added_device_kinds().size();
        EXPECT_TRUE(remove_operators(name));
        EXPECT_EQ(added_device_kinds().size(), kinds);
        EXPECT_EQ(load_operators(library(variant)).name, name);
        EXPECT_EQ(added_device_kinds().size(), kinds);
    }
}

TEST(OperatorLibrary, RefusesInvalidDevices) {
    load_operators(library("devices"));
    EXPECT_THAT(load_error_of("same_devices"), HasSubstr("a backend named 'some' is loaded already"));
    EXPECT_THAT(load_error_of("devices_of_cpu"), HasSubstr("the name 'cpu' is taken by the CPU"));
    EXPECT_THAT(load_error_of("wrong_devices"), HasSubstr("'two2' cannot name a kind of device"));
}

TEST(OperatorLibrary, RefusesAFileThatIsNotALibrary) {
    NewFolder folder("mge_library");
    auto path = folder.file("text");
    std::ofstream(path) << "text";
    EXPECT_THAT(error_of([&] { load_operators(path); }), HasSubstr("cannot be loaded"));
}

TEST(OperatorLibrary, RefusesAFileThatChanged) {
    NewFolder folder("mge_library");
    auto path = folder.file("changed.so");
    std::filesystem::copy_file(library("second"), path);
    load_operators(path);
    remove_operators("test_second");
    std::filesystem::remove(path);
    std::filesystem::copy_file(library("third"), path);
    EXPECT_THAT(error_of([&] { load_operators(path); }),
                HasSubstr("has changed since this process loaded it"));
    EXPECT_EQ(find_op("test_third"), nullptr);
}

TEST(OperatorLibrary, ReleasesItsNames) {
    load_operators(library("fourth"));
    const OpInfo* op = find_op("test_fourth");
    ASSERT_NE(op, nullptr);
    Tensor x = tensor({2}), y;
    EXPECT_TRUE(remove_operators("test_fourth"));
    EXPECT_FALSE(remove_operators("test_fourth"));
    EXPECT_EQ(find_op("test_fourth"), nullptr);
    // A known name still works.
    EXPECT_THAT(values_of(apply_one(*op, op->params.make().get(), {&x, 1})), ElementsAre(8));
    load_operators(library("fourth"));
    EXPECT_EQ(find_op("test_fourth"), op);
}

TEST(OperatorLibrary, IsCompiledAndMeasured) {
    CompileOptions options;
    auto cache = FastrunCache::in_memory();
    options.select.profile = true;
    options.select.heuristic = false;
    options.select.cache = cache.get();
    auto program = Program::compile(cube_graph(), options);
    ASSERT_EQ(program->steps().size(), 2u);
    EXPECT_EQ(program->steps()[0].algorithm, "test_parallel");
    EXPECT_EQ(program->steps()[0].source, ChoiceSource::measured);
    auto context = Context::create(program);
    context->fill_inputs(std::array{tensor({0, 0.5, -1})});
    context->run();
    EXPECT_THAT(values_of(context->output(0)),
                ElementsAre(testing::FloatEq(1), testing::FloatEq(std::exp(0.25F)),
                            testing::FloatEq(std::exp(-2.F))));
}

// A fused step would name the operator in its text, where libraries are not searched.
TEST(OperatorLibrary, IsNotFused) {
    cube();
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {64, 1024}, {}}, "x");
    {
        InterpreterScope scope(builder);
        builder.set_outputs({ops::exp(ops::relu(apply_cube(ops::tanh(ops::neg(x)), 2)))});
    }
    Graph graph = builder.take();
    for (bool is_loaded : {true, false}) {
        if (!is_loaded) remove_operators("test_operators");
        Graph better = run_passes(graph, {});
        std::vector<std::string_view> ops;
        for (auto& node : better.nodes()) ops.push_back(node.op->name);
        EXPECT_THAT(ops, ElementsAre("fused_elementwise", "test_cube", "fused_elementwise"));
    }
}

TEST(OperatorLibrary, HoldsGraphs) {
    load_operators(library("graphs"));
    auto& op = *find_op("test_twice");
    Tensor x = tensor({1, 2, -3});
    auto params = op.params.make();
    load_params(op.name, op.fields, params.get(),
                {{"graph", make_subgraph(std::array{x.spec()}, [](auto given) {
                      return Tensors{ops::add(ops::square(given[0]), ops::relu(given[0]))};
                  })}});
    EXPECT_THAT(values_of(apply_one(op, params.get(), {&x, 1})), ElementsAre(6, 42, 90));
}

TEST(OperatorLibrary, IsSavedInModels) {
    NewFolder folder("mge_library");
    auto path = folder.file("model.mge");
    write_model(path, {.graph = cube_graph()});
    Model model = read_model(path);
    ASSERT_EQ(model.graph.nodes().size(), 2u);
    EXPECT_EQ(model.graph.node(0).op, &cube());
    remove_operators("test_operators");
    try {
        read_model(path);
        ADD_FAILURE() << "read without the library";
    } catch (const ModelError& e) {
        EXPECT_THAT(e.what(), AllOf(HasSubstr("'test_cube'"), HasSubstr("library 'test_operators'"),
                                    HasSubstr("is not loaded")));
    }
    load_operators(library("operators"));
    EXPECT_NO_THROW(read_model(path));
}

TEST(OperatorLibrary, IsFoundNextToAnAddedOne) {
    load_operators(library("operators"));
    std::atomic<bool> is_done = false;
    std::thread reader([&] {
        while (!is_done)
            if (!find_op("test_cube") || find_op("test_no_such")) std::abort();
    });
    for (int i = 0; i < 200; ++i) {
        load_operators(library("fifth"));
        ASSERT_NE(find_op("test_fifth"), nullptr);
        ASSERT_TRUE(remove_operators("test_fifth"));
    }
    is_done = true;
    reader.join();
}

TEST(OperatorLibrary, WorksInAChild) {
    cube();
    pid_t child = ::fork();
    if (child == 0) ::_exit(values_of(apply_cube(tensor({2})))[0] == 8 && find_op("test_cube") ? 0 : 1);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace mge
