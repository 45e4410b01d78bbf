// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/options/device.h"

#include <CLI/CLI.hpp>
#include <charconv>

#include "apps/cli/options/device_option.h"
#include "apps/cli/options/numbers.h"
#include "libmge/base/error.h"

namespace mge::load_and_run {
namespace {

constexpr int max_cpu = 4095;

[[noreturn]] void refuse_device(const char* option, const std::string& what) {
    throw_value_error(option, what);
}

// No build option, library or model can enable these here.
void require_backend(bool is_requested, const char* option, const char* what) {
    if (is_requested) throw DeviceError(text("[", option, "] ", what));
}

int parse_cpu(const char* option, std::string_view word, const std::string& list) {
    int cpu = -1;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), cpu);
    if (error != std::errc() || end != word.data() + word.size() || cpu < 0 || cpu > max_cpu)
        refuse_device(option,
                      text("'", word, "' in '", list, "' is not a CPU number; expected a list like 0,2-3"));
    return cpu;
}

}  // namespace

DeviceId DeviceOptions::place() const {
    DeviceId id = cli::device_of(requested_name(), cuda ? "--cuda" : "--device");
    if (!id.is_host() && requests_cpu())
        refuse_device("--device", text("'", device, "' contradicts the options for the CPU"));
    return id;
}

int DeviceOptions::wanted_threads() const {
    if (multithread > 0) return multithread;
    if (multithread_default > 0) return multithread_default;
    return cpu_default && !threads ? 1 : threads;
}

std::vector<int> parse_cpu_list(const char* option, const std::string& list) {
    std::vector<int> cpus;
    for (size_t at = 0; at <= list.size();) {
        size_t comma = std::min(list.find(',', at), list.size());
        std::string_view part = std::string_view(list).substr(at, comma - at);
        size_t dash = std::min(part.find('-'), part.size());
        int first = parse_cpu(option, part.substr(0, dash), list);
        int last = dash == part.size() ? first : parse_cpu(option, part.substr(dash + 1), list);
        if (last < first) refuse_device(option, text("the range '", part, "' in '", list, "' is empty"));
        for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
        at = comma + 1;
    }
    return cpus;
}

void add(CLI::App& app, DeviceOptions& o) {
    cli::add_device_option(app, o.device, "Run");
    app.add_flag("--cpu", o.cpu, "Run on the CPU, also where another device is");
    app.add_flag("--cpu-default", o.cpu_default, "Run on the CPU, in the calling thread alone");
    app.add_flag("--cuda", o.cuda, "Run on the first NVIDIA GPU");
    app.add_flag("--opencl", o.opencl, "Run on an OpenCL device");
    app.add_option("--multithread", o.multithread,
                   "Run on the CPU with this many threads, issued by a separate thread")
        ->check(cli::whole_number(-1, 1024));
    app.add_option("--multithread-default", o.multithread_default,
                   "Run on the CPU with this many threads, the calling thread being one of them")
        ->check(cli::whole_number(-1, 1024));
    app.add_option("--multi-thread-core-ids", o.core_ids,
                   "With --multithread or --multithread-default: the CPU of each thread")
        ->type_name("0,1,...");
    app.add_option("--affinity", o.affinity, "CPUs to pin the threads to, one each, as in 0,2-3")
        ->type_name("LIST");
    app.add_option("--tensorrt-cache", o.tensorrt_cache, "Engines that TensorRT built earlier")
        ->type_name("FILE");
    app.add_flag("--list-devices", o.list_devices, "Print the devices that can be used, and end");
    app.add_option("--require-device", o.require_device,
                   "Exit with 4 unless this device exists: cpu, gpu, cpu0, ...")
        ->type_name("DEVICE");
}

void check(const DeviceOptions& o) {
    require_backend(!o.tensorrt_cache.empty(), "--tensorrt-cache",
                    "there is no TensorRT backend in this build");
    require_backend(o.opencl, "--opencl", "there is no OpenCL backend in this build");
    if (o.multithread == 0 || o.multithread_default == 0)
        refuse_device(o.multithread == 0 ? "--multithread" : "--multithread-default",
                      "0 threads cannot run anything");
    if (o.multithread > 0 && o.multithread_default > 0)
        refuse_device("--multithread", "contradicts --multithread-default; give one of them");
    bool is_multi = o.multithread > 0 || o.multithread_default > 0;
    if (is_multi && o.threads)
        refuse_device("--threads", "contradicts --multithread; both say how many threads");
    if (o.cpu_default && (is_multi || o.threads > 1))
        refuse_device("--cpu-default", "is one thread; omit it, or the option that requests more");
    if (o.cuda && o.requests_cpu()) refuse_device("--cuda", "contradicts the options for the CPU");
    if (!o.core_ids.empty() && !is_multi)
        refuse_device("--multi-thread-core-ids", "needs --multithread or --multithread-default");
    if (!o.core_ids.empty() && !o.affinity.empty())
        refuse_device("--multi-thread-core-ids", "contradicts --affinity; give one of them");
    if (o.cuda && !o.device.empty()) refuse_device("--cuda", "contradicts --device; give one of them");
}

}  // namespace mge::load_and_run
