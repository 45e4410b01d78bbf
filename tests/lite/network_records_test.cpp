// SPDX-License-Identifier: Apache-2.0
// Files that networks write: profiles, dumps, memory plans, models with chosen layouts.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "libmge/inspect/io_dump/io_dump.h"
#include "libmge/inspect/profile/profile.h"
#include "tests/lite/networks.h"
#include "tests/new_folder.h"

namespace lite::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class NetworkRecords : public testing::Test {
protected:
    ~NetworkRecords() override { fs::remove_all(folder_); }
    std::string at(const std::string& name) const { return (folder_ / name).string(); }
    fs::path folder_ = mge::new_folder("mge_lite_records");
};

TEST_F(NetworkRecords, ProfilesAreWrittenAfterEachRun) {
    for (bool is_early : {true, false}) {
        auto network = std::make_shared<Network>();
        auto path = at(is_early ? "early.json" : "late.json");
        if (is_early) network->enable_profile_performance(path);
        network->load_model(classifier());
        if (!is_early) network->enable_profile_performance(path);
        fill(*network, "data");
        for (int i = 0; i < 2; ++i) {
            fs::remove(path);
            run(*network);
            auto profile = mge::read_profile(path);
            EXPECT_EQ(profile.format, mge::Profile::Format::megengine);
            auto& steps = impl_of(*network).program().steps();
            EXPECT_GE(profile.steps.size(), steps.size());
            ASSERT_GE(profile.events.size(), steps.size());
            double seconds = 0;
            for (auto& event : profile.events) seconds += event.span.seconds();
            EXPECT_GT(seconds, 0);
        }
    }
    auto network = load(classifier());
    network->enable_profile_performance(at("stopped.json"));
    network->enable_profile_performance("");
    Runtime::enable_io_txt_dump(network, at("beside.txt"));
    fill(*network, "data");
    run(*network);
    EXPECT_FALSE(fs::exists(at("stopped.json")));
    network->enable_profile_performance(at("no/such/folder/profile.json"));
    fill(*network, "data");
    network->forward();
    EXPECT_THAT(error_of([&] { network->wait(); }), HasSubstr("profile.json"));
}

TEST_F(NetworkRecords, ValuesAreDumpedAsTextAndAsFiles) {
    for (bool is_early : {true, false}) {
        Config config;
        config.options.comp_node_seq_record_level = is_early;
        auto text = std::make_shared<Network>(config), binary = std::make_shared<Network>(config);
        auto file = at(is_early ? "text/early.txt" : "text/late.txt"), folder = at(is_early ? "a/b" : "c/d");
        auto enable = [&] {
            Runtime::enable_io_txt_dump(text, file);
            Runtime::enable_io_bin_dump(binary, folder);
        };
        if (is_early) enable();
        for (auto& network : {text, binary}) network->load_model(classifier());
        if (!is_early) enable();
        for (auto& network : {text, binary}) {
            fill(*network, "data");
            run(*network);
        }
        auto texts = mge::read_io_dump(file), values = mge::read_io_dump(folder);
        EXPECT_TRUE(texts.is_text);
        auto *score = values.find("score"), *printed = texts.find("score");
        ASSERT_TRUE(score && printed);
        auto wanted = output(*binary, "score");
        auto* got = static_cast<const float*>(score->value.data());
        expect_near({got, got + 10}, wanted, 0);
        ASSERT_FALSE(printed->head.empty());
        EXPECT_NEAR(printed->head[0], wanted[0], 1e-3);
        EXPECT_EQ(texts.records.size(), values.records.size());
        EXPECT_GT(values.records.size(), impl_of(*binary).program().steps().size());
        Runtime::enable_io_txt_dump(text, "");
        Runtime::enable_io_bin_dump(binary, "");
        std::filesystem::remove_all(folder);
        std::ofstream(file) << "nothing more";
        for (auto& network : {text, binary}) run(*network);
        EXPECT_EQ(std::filesystem::file_size(file), 12u);
        EXPECT_FALSE(std::filesystem::exists(folder));
    }
}

TEST_F(NetworkRecords, MemoryPlansAreWrittenIntoAnyFolder) {
    auto network = load(classifier());
    for (auto* folder : {"logs/test", "elsewhere"}) {
        network->get_static_memory_alloc_info(at(folder));
        std::ifstream stream(at(folder) + "/StaticMemoryInfo.json");
        auto memory = nlohmann::json::parse(stream);
        size_t top = 0;
        for (auto& [id, chunk] : memory.at("chunk").items())
            if (chunk.at("type") == "static_mem")
                top = std::max(top, std::stoul(chunk.at("logic_addr_end").get<std::string>()));
        EXPECT_GE(top, impl_of(*network).program().memory().plan);
        EXPECT_TRUE(fs::exists(at(folder) + "/graph.json"));
    }
    EXPECT_THAT(error_of([&] { network->get_static_memory_alloc_info("/dev/null/logs"); }),
                HasSubstr("/dev/null/logs"));
}

bool has_own_layout(Network& network) {
    auto& values = impl_of(network).program().values();
    return std::ranges::any_of(values, [](auto& value) { return !value.spec.layout.is_plain(); });
}

TEST_F(NetworkRecords, LayoutsAreChosenByTimesAndKeptInTheModel) {
    auto network = std::make_shared<Network>();
    size_t calls = 0;
    AlgorithmPolicy policy;
    // With these costs another layout than the default is the best.
    bool is_plain_cheap = has_own_layout(*load(classifier()));
    policy.measure = [&calls, is_plain_cheap](const mge::Problem& problem, const mge::Algorithm&,
                                              const mge::Prepared&, double) {
        ++calls;
        auto is_plain = [](auto& spec) { return spec.layout.is_plain(); };
        bool are_plain =
            std::ranges::all_of(problem.inputs, is_plain) && std::ranges::all_of(problem.outputs, is_plain);
        return std::optional(are_plain == is_plain_cheap ? 1. : 1000.);
    };
    impl_of(*network).own_settings().policy = policy;
    Runtime::enable_global_layout_transform(network);
    network->load_model(classifier());
    EXPECT_GT(calls, 0u);
    EXPECT_EQ(has_own_layout(*network), !is_plain_cheap);
    fill(*network, "data");
    run(*network);
    auto wanted = output(*network, "score");
    expect_near(wanted, expected(*network, "score"));
    Runtime::dump_layout_transform_model(network, at("chosen.mge"));

    auto reloaded = load(at("chosen.mge"));
    EXPECT_EQ(has_own_layout(*reloaded), !is_plain_cheap);
    EXPECT_EQ(algorithms_of(*reloaded), algorithms_of(*network));
    fill(*reloaded, "data");
    run(*reloaded);
    expect_near(output(*reloaded, "score"), wanted, 0);
    // The user's options take precedence.
    Config config;
    config.options.graph_opt_level = 0;
    EXPECT_EQ(impl_of(*load(at("chosen.mge"), config)).compile_options().level, 0);
    auto plain = load(classifier());
    EXPECT_THAT(error_of([&] { Runtime::dump_layout_transform_model(plain, at("x.mge")); }),
                HasSubstr("enable_global_layout_transform"));
}

}  // namespace
}  // namespace lite::test
