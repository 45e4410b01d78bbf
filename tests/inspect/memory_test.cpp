// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <regex>

#include "libmge/base/error.h"
#include "libmge/base/files/file.h"
#include "libmge/base/utf8.h"
#include "libmge/inspect/json_document.h"
#include "libmge/mge.h"
#include "tests/new_folder.h"

namespace mge {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;

constexpr int64_t side = 1 << 18;  // 1 MiB of float32

// A chain that cannot be computed in place throughout: transposes of 1 MiB, or of as many rows.
std::shared_ptr<const Program> chain(int length, bool is_planned = true, int64_t rows = 512) {
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {rows, side / 512}, {}}, "x");
    {
        InterpreterScope scope(builder);
        for (int i = 0; i < length; ++i) x = ops::relu(ops::transpose(x, {.pattern = {1, 0}}));
        builder.set_outputs({x});
    }
    CompileOptions options;
    options.level = 0;
    options.force_dynamic_alloc = !is_planned;
    return Program::compile(builder.take(), options);
}

TEST(MemoryTimeline, SumsToThePlan) {
    auto program = chain(4);
    MemoryTimeline timeline = memory_timeline(*program);
    EXPECT_EQ(timeline.arena, program->memory().plan);
    EXPECT_EQ(timeline.peak, program->memory().plan_lower_bound);
    ASSERT_EQ(timeline.live.size(), program->steps().size());
    EXPECT_EQ(*std::max_element(timeline.live.begin(), timeline.live.end()), timeline.peak);
    for (auto& a : timeline.blocks) {
        EXPECT_LE(a.offset + a.bytes, timeline.arena);
        EXPECT_LE(a.first, a.last);
        for (auto& b : timeline.blocks)
            if (&a != &b && a.first <= b.last && b.first <= a.last) {
                EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
                    << a.name << " and " << b.name;
            }
    }
}

TEST(MemoryTimeline, IsJson) {
    auto program = chain(4);
    std::string text = to_json(memory_timeline(*program), *program);
    auto json = JsonDocument::parse(std::as_bytes(std::span(text)), "timeline");
    auto root = json.root();
    EXPECT_EQ(size_t(root.at("arena").integer("arena")), program->memory().plan);
    size_t step = 0;
    int64_t ends = 0;
    for (auto each : root.at("steps").items("steps")) {
        auto& report = program->steps()[step++];
        EXPECT_EQ(each.at("op").text("op"), report.op);
        size_t output = 0;
        for (auto value : each.at("outputs").items("outputs")) {
            ValueId id = report.outputs[output++];
            EXPECT_EQ(value.at("value").integer("value"), id);
            EXPECT_EQ(value.at("name").text("name"), program->values()[size_t(id)].name);
            EXPECT_EQ(value.at("bytes").integer("bytes"), int64_t(program->values()[size_t(id)].bytes));
            if (value.at("place").text("place") != "arena") continue;
            int64_t begin = value.at("offset").integer("offset");
            ends = std::max(ends, begin + value.at("bytes").integer("bytes"));
        }
        EXPECT_EQ(output, report.outputs.size());
    }
    EXPECT_EQ(step, program->steps().size());
    EXPECT_EQ(ends, int64_t(program->memory().plan));
    auto unplanned = chain(4, false);
    EXPECT_THAT(to_json(memory_timeline(*unplanned), *unplanned), HasSubstr("\"bytes\":null"));
}

TEST(MemoryTimeline, IsDrawn) {
    auto program = chain(3);
    std::string svg = to_svg(memory_timeline(*program), *program);
    EXPECT_THAT(svg, HasSubstr("<svg xmlns"));
    EXPECT_THAT(svg, HasSubstr("</svg>"));
    size_t rectangles = 0;
    for (size_t at = svg.find("<rect"); at != std::string::npos; at = svg.find("<rect", at + 1)) ++rectangles;
    EXPECT_EQ(rectangles, 1 + memory_timeline(*program).blocks.size());
}

TEST(MemoryTimeline, LabelsLargeBoxesAndExplainsColours) {
    auto program = chain(3);
    auto timeline = memory_timeline(*program);
    std::string svg = to_svg(timeline, *program);
    ASSERT_FALSE(timeline.blocks.empty());
    for (auto& block : timeline.blocks)
        EXPECT_THAT(svg, HasSubstr(text("pointer-events=\"none\">", block.name, "</text>")));
    for (auto meaning : {"values", "workspaces of kernels", "the step of the peak"})
        EXPECT_THAT(svg, HasSubstr(text("\">", meaning)));
}

// The labels of the axis of bytes: numbers, and their common unit.
std::vector<double> ticks_of(const std::string& svg, std::string& unit) {
    std::vector<double> ticks;
    std::regex label("text-anchor=\"end\">([0-9.e+-]+) ([KMG]iB)</text>");
    for (std::sregex_iterator it(svg.begin(), svg.end(), label), end; it != end; ++it) {
        if (ticks.empty()) unit = (*it)[2];
        EXPECT_EQ((*it)[2], unit);
        ticks.push_back(std::stod((*it)[1]));
    }
    std::ranges::sort(ticks);
    auto rest = std::ranges::unique(ticks);  // both drawings have the same
    ticks.erase(rest.begin(), rest.end());
    return ticks;
}

TEST(MemoryTimeline, TicksAreRound) {
    for (int64_t rows : {3, 40, 333, 512, 1057, 1700, 4000}) {
        auto program = chain(3, true, rows);
        auto timeline = memory_timeline(*program);
        std::string unit;
        auto ticks = ticks_of(to_svg(timeline, *program), unit);
        ASSERT_GE(ticks.size(), 3u) << rows;
        EXPECT_LE(ticks.size(), 6u) << rows;
        double distance = ticks[1], power = std::pow(10.0, std::floor(std::log10(distance) + 1e-9));
        EXPECT_THAT(distance / power,
                    testing::AnyOf(DoubleNear(1, 1e-6), DoubleNear(2, 1e-6), DoubleNear(5, 1e-6)))
            << rows;
        for (size_t i = 0; i < ticks.size(); ++i)
            EXPECT_NEAR(ticks[i], double(i) * distance, 1e-6 * distance) << rows;
        double most = double(timeline.arena) / (unit == "KiB" ? 1 << 10 : 1 << 20);
        EXPECT_LE(ticks.back(), most) << rows;
        EXPECT_GT(ticks.back() + distance, most) << rows;
    }
}

TEST(MemoryTimeline, LongNamesAreCutBetweenLetters) {
    for (std::string first : {"", "x"}) {
        std::string name = first;
        for (int i = 0; i < 200; ++i) name += "ä";
        GraphBuilder builder;
        Tensor x = builder.input({DType::f32, {512, 512}, {}}, "x");
        {
            InterpreterScope scope(builder);
            builder.set_outputs({ops::sum(ops::transpose(x, {.pattern = {1, 0}}), {.axes = {0}})});
        }
        Graph graph = builder.take();
        for (size_t i = 0; i < graph.nodes().size(); ++i) graph.node(NodeId(i)).name = name;
        CompileOptions options;
        options.level = 0;
        auto program = Program::compile(graph, options);
        std::string svg = to_svg(memory_timeline(*program), *program);
        EXPECT_TRUE(is_utf8(svg));
        EXPECT_THAT(svg, HasSubstr("…</text>"));
    }
}

TEST(MemoryLimit, IsPredicted) {
    auto program = chain(3);
    size_t needed = predicted_bytes(*program);
    check_memory_limit(*program, needed);
    try {
        check_memory_limit(*program, needed - 1);
        FAIL() << "no error";
    } catch (const MemoryError& e) {
        EXPECT_THAT(e.what(), HasSubstr("the most is in use at step"));
        EXPECT_THAT(e.what(), HasSubstr("transpose"));
        EXPECT_EQ(e.code(), ErrorCode::memory);
    }
}

TEST(Memory, ContextUsesThePredictedMemory) {
    auto program = chain(5);
    size_t allocated = device({}).memory().allocated;
    ProcessMemory before = settled_process_memory();
    auto context = Context::create(program);
    size_t predicted = program->memory().plan + program->memory().inputs_outputs;
    size_t measured = device({}).memory().allocated - allocated;
    [[maybe_unused]] size_t seen = settled_process_memory().anonymous - before.anonymous;
    [[maybe_unused]] constexpr double tolerance = 2 << 20;
    EXPECT_NEAR(double(measured), double(predicted), 1024);
#ifndef __SANITIZE_THREAD__
    EXPECT_NEAR(double(seen), double(predicted), tolerance);  // includes the sanitizer's shadow
#endif
}

TEST(Memory, AllocatorLimitIsEnforced) {
    auto& cpu = device({});
    size_t allocated = cpu.memory().allocated;
    cpu.set_memory_limit(allocated + (1 << 20));
    EXPECT_THROW(queue_of(host_device).allocate(2 << 20), MemoryError);
    EXPECT_THROW(queue_of(host_device).allocate(2 << 20), MemoryError);
    EXPECT_EQ(cpu.memory().allocated, allocated) << "what was refused is given back";
    { StorageRef fits = queue_of(host_device).allocate(1000 << 10); }
    EXPECT_EQ(cpu.memory().allocated, allocated);
    cpu.set_memory_limit(0);
}

TEST(Memory, FilesAreSeen) {
    EXPECT_GT(process_memory().anonymous, 0u);
    EXPECT_GE(process_memory().peak, process_memory().anonymous);
}

TEST(Memory, FilePagesAreReleased) {
    NewFolder folder("mge_pages");
    const std::string path = folder.file("pages");
    constexpr size_t bytes = 1 << 20;
    write_file_atomically(path, [](std::ostream& out) { out << std::string(bytes, 'x'); });
    auto file = MappedFile::open(path);
    std::vector halves{file->bytes().first(bytes / 2), file->bytes().last(bytes / 2)};
    auto resident = [&](size_t half) { return resident_bytes({halves[half]}).value(); };
    EXPECT_EQ(resident_bytes(halves), 0u);
    EXPECT_EQ(std::ranges::count(file->bytes(), std::byte('x')), int64_t(bytes));
    EXPECT_EQ(resident(0), bytes / 2);
    EXPECT_EQ(resident_bytes(halves), bytes) << "shared pages count once";
    EXPECT_TRUE(release_pages(halves[0]));
    EXPECT_EQ(resident(0), 0u);
    EXPECT_EQ(resident(1), bytes / 2);
    EXPECT_EQ(std::to_integer<char>(halves[0][12345]), 'x');
    EXPECT_GT(resident(0), 0u);
    std::vector<std::byte> own(bytes, std::byte{7});
    EXPECT_FALSE(release_pages(own));
    EXPECT_EQ(own[bytes / 2], std::byte{7});
    EXPECT_GE(resident_bytes({own}).value(), bytes);
}

}  // namespace
}  // namespace mge
