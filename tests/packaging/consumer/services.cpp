// SPDX-License-Identifier: Apache-2.0
// Uses, from the installed headers alone, each service of the library that users are promised (docs/cpp.md).
#include <libmge/mge.h>

#include <cstdio>
#include <iostream>
#include <span>
#include <sstream>
#include <string>

namespace {

using namespace mge;

void require(bool condition, const char* what) {
    if (!condition) throw UserError(text("not true: ", what));
}

// exp(−x) for each −x: what a pass of one's own may look like.
Graph drop_negations(Graph graph, const PassOptions&) {
    Rewrite rewrite(graph);
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        auto& node = graph.node(NodeId(i));
        if (node.op == &ops::Neg::info)
            rewrite.replace(node.outputs[0], rewrite(node.inputs[0]));
        else
            rewrite.copy(NodeId(i));
    }
    return rewrite.finish();
}
constexpr Pass own_pass{"drop_negations", 0, drop_negations};

Graph make_graph() {
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {2, 3}, {}}, "x");
    InterpreterScope scope(builder);
    Tensor y = ops::matmul(ops::exp(ops::neg(x)), ops::full({.shape = {3, 4}, .value = 0.5}));
    builder.set_outputs({ops::softmax(y, {.axis = 1})});
    return builder.take();
}

Tensors ones() { return {ops::full({.shape = {2, 3}, .value = 1})}; }

void models(const std::string& path) {
    write_model(path, {.graph = make_graph(), .metadata = {{"who", "consumer"}}});
    require(read_model(path).metadata.at("who") == "consumer", "metadata come back");
    require(open_model(path).graph.nodes().size() == make_graph().nodes().size(), "the graph comes back");
}

void graphs() {
    Graph graph = make_graph();
    KnownValues known;
    for (size_t i = 0; i < graph.nodes().size(); ++i) known.add(graph, NodeId(i));
    require(!known.find(graph, graph.outputs()[0]), "the output is not known before a run");
    auto& node = graph.node(0);
    require(infer_application(*node.op, node.params, input_specs(graph, node), Tensors(node.inputs.size()))
                    .outputs.size() == 1,
            "one output");
    CompileOptions options;
    options.level = 1;  // without fusions, which would hide the operator
    options.own_passes = {&own_pass};
    std::vector<PassStage> stages;
    Graph better = run_passes(graph, pass_options(options), &stages);
    require(!pipeline().empty() && !stages.empty(), "passes ran");
    require(to_text(better).find("neg") == std::string::npos, "so did one's own");
}

std::shared_ptr<const Program> programs() {
    auto cache = FastrunCache::in_memory();
    CompileOptions options;
    options.own_passes = {&own_pass};
    options.select.profile = true;
    options.select.heuristic = false;
    options.select.cache = cache.get();
    auto program = Program::compile(make_graph(), options);
    require(!cache->rows().empty(), "algorithms were measured");
    require(memory_timeline(*program).arena == program->memory().plan, "the timeline is that of the plan");
    require(!cpu_kernel_table().empty(), "the CPU's kernels are known");
    return program;
}

void observers(std::shared_ptr<const Program> program, const std::string& profile) {
    auto context = Context::create(program);
    context->fill_inputs(ones());
    std::ostringstream dumped;
    auto sink = text_dump(dumped);
    Profiler profiler(*program);
    ValueGuard finite(program, std::nullopt);
    IoDumpRun dump(program, *sink);
    ObserverList all;
    all.add(finite);
    all.add(dump);
    all.add(profiler);
    context->observe(&all);
    context->run();
    context->wait();
    context->observe(nullptr);
    require(dumped.str().find("softmax") != std::string::npos, "values were dumped");
    const Profiler* profilers[] = {&profiler};
    write_profile(profile, make_profile(*program, "consumer", profilers));
}

void differences() {
    Graph graph = name_values(make_graph());
    auto walk = [&] { return std::make_unique<LayerWalk>(graph, CompileOptions{}, ones()); };
    auto first = walk(), second = walk();
    ValueKeys keys = keys_for_files(first->graph());
    auto uses = last_uses(*first, keys);
    auto reference = walk_reference(std::move(second), keys, uses);
    auto found = find_first_difference(*first, *reference, keys, {});
    require(found.compared > 0 && !found.first, "a graph does not differ from itself");
}

void gradients() {
    Tape tape;
    Tensor x = tape.attach(ones()[0]);
    tape.start();
    Tensors y{ops::square(x)};
    require(tape.backward(y, Tensors(1))[0].data<float>()[0] == 2, "the slope of x² at 1");
    Trace trace({});
    for (int call = 0; call < 2; ++call) {
        Tensors arguments = ones();
        trace.begin(arguments);
        Tensors results{ops::add(ops::exp(arguments[0]), arguments[0])};
        trace.end(results);
        require(to_host(results[0]).data<float>()[0] > 3.7F, "e + 1");
    }
    require(trace.graph().nodes().size() == 2, "two operators were recorded");
}

void messages() {
    require(!log_enabled(LogChannel::passes), "MGE_LOG is not set");
    log_warning("a warning of the consumer");
}

}  // namespace

int main(int, char** argv) try {
    std::string folder = argv[1];
    models(folder + "/model.mge");
    graphs();
    observers(programs(), folder + "/profile.json");
    differences();
    gradients();
    messages();
    std::puts("all services work");
    return 0;
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
