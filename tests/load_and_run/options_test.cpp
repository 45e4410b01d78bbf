// SPDX-License-Identifier: Apache-2.0
// Parts of the tool that need no process.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "apps/load_and_run/inputs/input_json.h"
#include "apps/load_and_run/measure/energy.h"
#include "apps/load_and_run/options/device.h"
#include "libmge/base/error.h"
#include "libmge/device/cpu/affinity.h"
#include "libmge/model/stored_options.h"
#include "tests/model/sample_models.h"
#include "tests/new_folder.h"

namespace mge::load_and_run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Folder {
public:
    Folder() : path_(new_folder("mge_options")) {}
    ~Folder() { std::filesystem::remove_all(path_); }
    std::string write(const std::string& name, const std::string& text) const {
        std::filesystem::create_directories((path_ / name).parent_path());
        std::ofstream(path_ / name) << text;
        return (path_ / name).string();
    }
    std::string path() const { return path_.string(); }

private:
    std::filesystem::path path_;
};

TEST(CpuList, IsParsedAndPrinted) {
    EXPECT_THAT(parse_cpu_list("--affinity", "0,2-4"), ElementsAre(0, 2, 3, 4));
    for (auto* bad : {"", "a", "1-", "3-2", "1,,2", "-1", "99999"})
        EXPECT_THROW(parse_cpu_list("--affinity", bad), UserError) << bad;
    EXPECT_EQ(cpu_list(std::vector{0, 2, 3, 4, 7}), "0,2-4,7");
}

TEST(PinThreads, PinsEachThreadToOneCpu) {
    auto allowed = allowed_cpus();
    ASSERT_FALSE(allowed.empty());
    std::thread pinned([&] {
        pin_threads(std::vector{allowed[0]});
        EXPECT_EQ(sched_getcpu(), allowed[0]);
        EXPECT_EQ(allowed_cpus(), allowed) << "pinning takes no CPU from the process";
        EXPECT_THROW(pin_threads(std::vector{4000}), DeviceError);
    });
    pinned.join();
}

TEST(EnergyMeter, AddsPackagesAndWrapsAround) {
    Folder folder;
    for (auto* package : {"intel-rapl:0", "intel-rapl:1"}) {
        folder.write(std::string(package) + "/energy_uj", "9000000");
        folder.write(std::string(package) + "/max_energy_range_uj", "10000000");
    }
    folder.write("intel-rapl:0:0/energy_uj", "5");  // a part of package 0
    EnergyMeter meter(folder.path());
    EXPECT_EQ(meter.unavailable(), "");
    meter.start();
    folder.write("intel-rapl:0/energy_uj", "9500000");
    folder.write("intel-rapl:1/energy_uj", "250000");
    EXPECT_DOUBLE_EQ(meter.joules(), 0.5 + 1.25);
}

TEST(EnergyMeter, ReportsWhyItCannotMeasure) {
    EXPECT_THAT(EnergyMeter("/proc/nonexistent").unavailable(), HasSubstr("no RAPL counter"));
    Folder folder;
    folder.write("intel-rapl:0/energy_uj", "");
    EXPECT_THAT(EnergyMeter(folder.path()).unavailable(), HasSubstr("cannot be read"));
}

TEST(JsonInputs, AreRead) {
    Folder folder;
    auto path = folder.write("x.json", R"({"a": {"shape": [2, 2], "type": "float32", "raw": [1, 2.5, 3, 4]},
        "b": {"shape": [3], "type": "int8", "raw": [1.6, -1, 2]}})");
    auto inputs = read_json_inputs(path);
    EXPECT_EQ(inputs.at("a").shape(), (Shape{2, 2}));
    EXPECT_EQ(inputs.at("a").data<float>()[1], 2.5f);
    EXPECT_EQ(inputs.at("b").data<int8_t>()[0], 2);
    for (auto* bad : {"", "[]", R"({"a": 1})", R"({"a": {"shape": [2], "type": "float32", "raw": [1]}})",
                      R"({"a": {"shape": [-1], "type": "float32", "raw": []}})",
                      R"({"a": {"shape": [1], "type": "complex", "raw": [1]}})",
                      R"({"a": {"shape": [1], "type": "float32", "raw": ["1"]}})"})
        EXPECT_THROW(read_json_inputs(folder.write("bad.json", bad)), ModelError) << bad;
}

TEST(StoredOptions, RoundTrip) {
    Model model = sample_models()[1];
    CompileOptions options;
    options.level = 1;
    options.switches.fuse_elementwise = 0;
    options.switches.pack_weights = false;
    auto program = Program::compile(model.graph, options);
    EXPECT_FALSE(stored_options(model));
    store_options(model, options, *program);
    auto stored = stored_options(model);
    ASSERT_TRUE(stored);
    TensorSpecs inputs = specs_of(program->inputs());
    CompileOptions found = with_stored({}, *stored, inputs);
    EXPECT_EQ(found.level, 1);
    EXPECT_EQ(found.switches.fuse_elementwise, 0);
    EXPECT_EQ(found.switches.pack_weights, false);
    EXPECT_EQ(found.algorithms.size(), program->steps().size());
    inputs[0].shape[0] += 1;
    EXPECT_TRUE(with_stored({}, *stored, inputs).algorithms.empty());
    model.metadata["load_and_run.options"] = "{}";
    EXPECT_THROW(stored_options(model), ModelError);
}

}  // namespace
}  // namespace mge::load_and_run
