// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/devices.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/options/device_option.h"
#include "apps/cli/output/table.h"
#include "libmge/base/error.h"
#include "libmge/base/threads/threads.h"
#include "libmge/device/cpu/affinity.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/device/device.h"
#include "libmge/device/gpu.h"
#include "libmge/device/kinds.h"

namespace mge::load_and_run {
namespace {

// Devices that MegEngine supports and this program does not.
struct Absent {
    std::string_view name, reason;
};
constexpr std::array absent_devices{
    Absent{"opencl", "this build has no OpenCL backend"},
    Absent{"rocm", "this build has no ROCm backend"},
    Absent{"atlas", "this build has no Atlas backend"},
    Absent{"cambricon", "this build has no Cambricon backend"},
    Absent{"npu", "this build has no NPU backend"},
};

// Devices that no library added. A user of this function is interested in GPUs.
std::vector<Absent> still_absent() {
    std::vector<Absent> result(absent_devices.begin(), absent_devices.end());
    if (auto& gpu = gpus(); gpu.count == 0)
        for (auto* name : {"cuda", "gpu"}) result.insert(result.begin(), {name, gpu.why_unavailable});
    for (auto& kind : added_device_kinds())
        if (kind.count) std::erase_if(result, [&](auto& absent) { return absent.name == kind.name; });
    return result;
}

std::string kind_of(const std::string& name) {
    auto digit = std::ranges::find_if(name, [](unsigned char c) { return std::isdigit(c); });
    return {name.begin(), digit};
}

bool is_kind(const std::string& name) {
    return name == "cpu" || name == "xpu" || name == "multithread" ||
           std::ranges::any_of(added_device_kinds(), [&](auto& kind) { return kind.name == name; });
}

}  // namespace

void list_devices(Job& job) {
    if (!job.options.device.list_devices) return;
    auto cpus = allowed_cpus();
    std::cout << "Devices\n";
    std::vector<std::vector<std::string>> rows{{"device", "model", "instruction set", "threads", "CPUs"}};
    rows.push_back({"cpu0", cpu_model(), std::string(name_of(cpu_isa())), std::to_string(usable_cpus()),
                    cpu_list(cpus)});
    job.report["devices"] = {{{"name", "cpu0"},
                              {"kind", "cpu"},
                              {"model", cpu_model()},
                              {"isa", name_of(cpu_isa())},
                              {"threads", usable_cpus()},
                              {"cpus", cpus}}};
    auto absent_kinds = still_absent();
    for (auto& kind : added_device_kinds())
        for (int i = 0; i < kind.count; ++i) {
            std::string name = text(kind.name, i), model = device(parse_device(name)).model();
            rows.push_back({name, model, "-", "-", "-"});
            job.report["devices"].push_back({{"name", name}, {"kind", kind.name}, {"model", model}});
        }
    job.report["absent_devices"] = cli::Json::array();
    cli::print_table(std::cout, rows);
    for (auto& absent : absent_kinds) {
        job.report["absent_devices"].push_back({{"kind", absent.name}, {"reason", absent.reason}});
        std::cout << absent.name << ": none (" << absent.reason << ")\n";
    }
    job.is_done = true;
}

void require_device(Job& job) {
    std::string name = job.options.device.require_device;
    if (name.empty()) return;
    for (auto& absent : still_absent())
        if (kind_of(name) == absent.name)
            throw DeviceError(text("[--require-device] '", name, "' is not available: ", absent.reason));
    DeviceId id =
        cli::device_of(kind_of(name) == name && is_kind(name) ? name + '0' : name, "--require-device");
    job.report["required_device"] = physical_name(id);
}

}  // namespace mge::load_and_run
