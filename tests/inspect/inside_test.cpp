// SPDX-License-Identifier: Apache-2.0
// Inner graphs of operators, as tools see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "libmge/inspect/elements.h"
#include "libmge/mge.h"
#include "libmge/op/subgraph.h"
#include "tests/harness/expect_error.h"
#include "tests/new_folder.h"

namespace mge::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

TensorSpec f32(Shape shape) { return {DType::f32, shape, {}}; }

// g = cumsum(h), h' = g x[n].
Graph looping(int64_t steps) {
    auto body = make_subgraph(TensorSpecs{f32({2}), f32({2})}, [](std::span<const Tensor> in) -> Tensors {
        Tensor grown = ops::cumsum(in[0], {.axis = 0});
        return {ops::mul(grown, in[1]), grown};
    });
    GraphBuilder builder;
    Tensor h = builder.input(f32({2}), "h"), xs = builder.input(f32({steps, 2}), "xs");
    InterpreterScope scope(builder);
    auto results = ops::scan({h, xs}, {.body = body, .carried = 1, .sliced = 1});
    builder.set_outputs({results[0], results[1]});
    Graph graph = builder.take();
    graph.node(0).name = "loop";
    return graph;
}

// if flag: −x, else the loop within the loop.
Graph nested() {
    auto inner = make_subgraph(TensorSpecs{f32({2})}, [](std::span<const Tensor> in) -> Tensors {
        return {ops::cumsum(in[0], {.axis = 0})};
    });
    auto then_graph = make_subgraph(TensorSpecs{f32({2})},
                                    [](std::span<const Tensor> in) -> Tensors { return {ops::neg(in[0])}; });
    auto else_graph = make_subgraph(TensorSpecs{f32({2})}, [&](std::span<const Tensor> in) -> Tensors {
        return {ops::scan({in[0]}, {.body = inner, .carried = 1, .length = 3})[0]};
    });
    GraphBuilder builder;
    Tensor flag = builder.input(f32({1}), "flag"), x = builder.input(f32({2}), "x");
    InterpreterScope scope(builder);
    builder.set_outputs({ops::cond({flag, x}, {then_graph, else_graph})[0]});
    Graph graph = builder.take();
    graph.node(0).name = "choice";
    return graph;
}

struct Sample {
    explicit Sample(Graph graph) : program(Program::compile(graph, {})), context(Context::create(program)) {}
    void set(size_t i, const std::vector<float>& values) {
        std::memcpy(context->input(i), values.data(), values.size() * sizeof(float));
    }
    void run(StepObserver& observer, int runs = 1) {
        context->observe(&observer);
        for (int i = 0; i < runs; ++i) context->run();
        context->observe(nullptr);
    }
    std::shared_ptr<const Program> program;
    std::unique_ptr<Context> context;
};

// Records all notifications by path.
class EventRecorder final : public StepObserver {
public:
    explicit EventRecorder(std::vector<std::string>& events, std::string path = {})
        : events_(events), path_(std::move(path)) {}
    void before_run(Context&) override { events_.push_back(path_ + "begin"); }
    void after_run(Context&) override { events_.push_back(path_ + "end"); }
    void after_failure(const std::exception_ptr&, Context&) override { events_.push_back(path_ + "failure"); }
    void after_step(size_t step, Context& context) override {
        events_.push_back(path_ + context.program().steps()[step].op);
    }
    StepObserver* inside(const InnerRun& run, Context&) override {
        inside_ = std::make_unique<EventRecorder>(events_, path_ + path_inside(run));
        return inside_.get();
    }

private:
    std::vector<std::string>& events_;
    std::string path_;
    std::unique_ptr<EventRecorder> inside_;
};

TEST(Inside, LoopReportsEachIteration) {
    Sample sample(looping(2));
    sample.set(0, {1, 2});
    sample.set(1, {1, 1, 2, 2});
    std::vector<std::string> events;
    EventRecorder recorder(events);
    sample.run(recorder);
    EXPECT_THAT(events, ElementsAre("begin", "loop/body[0]/begin", "loop/body[0]/cumsum", "loop/body[0]/mul",
                                    "loop/body[0]/end", "loop/body[1]/begin", "loop/body[1]/cumsum",
                                    "loop/body[1]/mul", "loop/body[1]/end", "scan", "end"));
    events.clear();
    sample.context->run();
    EXPECT_THAT(events, IsEmpty()) << "nobody observes";
}

TEST(Inside, SeesDeeplyNestedGraphs) {
    Sample sample(nested());
    sample.set(0, {0});
    sample.set(1, {1, 2});
    std::vector<std::string> events;
    EventRecorder recorder(events);
    sample.run(recorder);
    std::erase_if(events, [](auto& line) { return !line.ends_with("cumsum"); });
    EXPECT_THAT(events, ElementsAre("choice/else_graph/scan#0/body[0]/cumsum",
                                    "choice/else_graph/scan#0/body[1]/cumsum",
                                    "choice/else_graph/scan#0/body[2]/cumsum"));
    sample.set(0, {1});
    events.clear();
    sample.run(recorder);
    EXPECT_THAT(events, ElementsAre("begin", "choice/then_graph/begin", "choice/then_graph/neg",
                                    "choice/then_graph/end", "cond", "end"));
}

TEST(Inside, ErrorNamesTheWholePath) {
    auto body = make_subgraph(TensorSpecs{f32({1}), f32({1})}, [](std::span<const Tensor> in) -> Tensors {
        Tensor limit = ops::full({.shape = {1}, .value = 2});
        ops::assert_equal(ops::minimum(in[0], limit), in[0]);
        return {ops::add(in[0], in[1])};
    });
    GraphBuilder builder;
    Tensor h = builder.input(f32({1}), "h"), xs = builder.input(f32({4, 1}), "xs");
    {
        InterpreterScope scope(builder);
        builder.set_outputs({ops::scan({h, xs}, {.body = body, .carried = 1, .sliced = 1})[0]});
    }
    Graph graph = builder.take();
    graph.node(0).name = "loop";
    Sample sample(graph);
    sample.set(0, {0});
    sample.set(1, {1, 1, 1, 1});
    std::string id = text("graph ", sample.program->id());
    std::string error = error_of<Error>([&] { sample.context->run(); });
    EXPECT_THAT(error, HasSubstr(id + ", scan 'loop': body[3]: assert_equal 'assert_equal#")) << error;
    EXPECT_THAT(error, HasSubstr("[assert_equal] error 0.5")) << error;

    std::vector<std::string> events;
    EventRecorder recorder(events);
    EXPECT_THROW(sample.run(recorder), Error);
    ASSERT_THAT(events, testing::Contains("loop/body[3]/failure"));
    EXPECT_EQ(events.back(), "failure");
    sample.context->observe(nullptr);
    events.clear();
    sample.set(0, {-9});
    sample.context->run();
    EXPECT_THAT(events, IsEmpty());
}

TEST(Inside, GuardsFindValuesByPath) {
    Sample sample(looping(3));
    sample.set(0, {1, 1});
    sample.set(1, {1, 1, 1, 3e38F, 1, 1});
    ValueGuard finite(sample.program, std::nullopt);
    try {
        sample.run(finite);
        ADD_FAILURE() << "no error";
    } catch (const GuardError& e) {
        EXPECT_EQ(e.finding().name, "loop/body[1]/mul#1") << e.what();
        EXPECT_EQ(e.finding().op, "mul");
        EXPECT_EQ(e.finding().index, 1);
    }
    sample.context->observe(nullptr);
    sample.set(1, {1, 1, 8, 8, 1, 1});
    ValueGuard range(sample.program, 20);
    try {
        sample.run(range);
        ADD_FAILURE() << "no error";
    } catch (const GuardError& e) {
        EXPECT_EQ(e.finding().name, "loop/body[1]/mul#1") << e.what();
        EXPECT_EQ(e.finding().index, 1);
        EXPECT_EQ(e.finding().value, 24);
    }
    sample.context->observe(nullptr);
    sample.set(1, {1, 1, 1, 1, 1, 1});
    WriteGuard written(sample.program);
    sample.run(written, 3);
}

TEST(Inside, RepeatedValuesAreComparedByPath) {
    Sample sample(looping(20));
    std::vector<float> ones(40, 1);
    sample.set(0, {1, 1});
    sample.set(1, ones);
    RepeatGuard guard(sample.program, 1, 0);
    sample.run(guard, 3);
    ones[3] = 2;
    sample.set(1, ones);
    try {
        sample.run(guard);
        ADD_FAILURE() << "no error";
    } catch (const GuardError& e) {
        EXPECT_EQ(e.finding().name, "loop/body[1]/mul#1") << e.what();
        EXPECT_EQ(e.finding().index, 1);
        EXPECT_THAT(e.finding().why, HasSubstr("in run 4"));
    }
    sample.context->observe(nullptr);
    // The result of the loop shows values that the first iterations do not.
    ones[3] = 1;
    ones[39] = 2;
    sample.set(1, ones);
    try {
        sample.run(guard);
        ADD_FAILURE() << "no error";
    } catch (const GuardError& e) {
        EXPECT_EQ(e.finding().name, "loop") << e.what();
    }
    sample.context->observe(nullptr);
}

TEST(Inside, DumpsHoldTheFirstIterations) {
    Sample sample(looping(20));
    sample.set(0, {1, 0});
    std::vector<float> ones(40, 1);
    ones[0] = 5;
    sample.set(1, ones);
    std::ostringstream stream;
    auto sink = text_dump(stream);
    IoDumpRun dump(sample.program, *sink);
    sample.run(dump);
    std::string all = stream.str();
    EXPECT_THAT(all, AllOf(HasSubstr("name=loop/body[0]/cumsum#0"), HasSubstr("name=loop/body[15]/mul#1"),
                           testing::Not(HasSubstr("body[16]"))));
    EXPECT_LT(all.find("loop/body[15]/mul#1"), all.find("owner_opr=loop{scan}"));

    auto folder = new_folder("mge_inside");
    auto files = binary_dump(folder.string());
    IoDumpRun binary(sample.program, *files);
    sample.run(binary, 2);
    IoDump read = read_io_dump(folder.string());
    std::filesystem::remove_all(folder);
    auto* first = read.find("loop/body[0]/mul#1");
    auto* second = read.find("loop/body[1]/mul#1");
    ASSERT_TRUE(first && second);
    EXPECT_EQ(element_at(first->value, 0), 5);
    EXPECT_EQ(element_at(first->value, 1), 1);
    EXPECT_EQ(element_at(second->value, 1), 6);
    EXPECT_THAT(first->origin.values, IsEmpty());
}

TEST(Inside, AProfileSumsUpIterations) {
    Sample sample(looping(50));
    sample.set(0, {1, 0});
    sample.set(1, std::vector<float>(100, 1));
    Profiler profiler(*sample.program, {.warm_up_runs = 1});
    sample.run(profiler, 4);
    const Profiler* profilers[] = {&profiler};
    Profile profile = make_profile(*sample.program, "loop.mge", profilers);
    std::vector<std::string> paths;
    int64_t inside = 0;
    for (auto& step : profile.inner_steps) {
        paths.push_back(step.path);
        EXPECT_EQ(step.count, 3 * 50);
        EXPECT_GT(step.total, 0);
        EXPECT_EQ(step.step, 0);
        inside += step.total;
    }
    EXPECT_THAT(paths, UnorderedElementsAre("loop/body/cumsum#0", "loop/body/mul#1"));
    int64_t outside = 0;
    for (auto& run : profile.runs) outside += run.duration();
    EXPECT_LE(inside, outside);

    auto folder = new_folder("mge_inside");
    std::string path = (folder / "profile.json").string();
    write_profile(path, profile);
    Profile read = read_profile(path);
    std::filesystem::remove_all(folder);
    ASSERT_THAT(read.inner_steps, SizeIs(profile.inner_steps.size()));
    EXPECT_EQ(read.inner_steps[0].path, profile.inner_steps[0].path);
    EXPECT_EQ(read.inner_steps[0].total, profile.inner_steps[0].total);
    EXPECT_EQ(read.inner_steps[0].algorithm, profile.inner_steps[0].algorithm);
}

}  // namespace
}  // namespace mge::test
