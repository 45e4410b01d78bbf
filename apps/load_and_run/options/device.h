// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "libmge/tensor/device_id.h"

namespace CLI {
class App;
}

namespace mge::load_and_run {

// Where the model runs.
struct DeviceOptions {
    std::string device;  // by name; empty: the first CPU
    bool cpu = false, cpu_default = false, cuda = false, opencl = false;
    int threads = 0;                                 // an operator may use; 0: what the machine allows
    int multithread = -1, multithread_default = -1;  // -1: not given
    std::string core_ids;                            // --multi-thread-core-ids
    std::string affinity;                            // "0,2-3"
    std::string tensorrt_cache;
    bool list_devices = false;
    std::string require_device;

    // UserError or DeviceError when there is no such device, or other options contradict it. Libraries may
    // bring devices: load them first.
    DeviceId place() const;
    // The name that was asked for, --cuda's too; empty: none.
    std::string asked_name() const { return cuda ? "gpu0" : device; }
    // Some option says that it is a CPU.
    bool asks_cpu() const { return cpu || cpu_default || multithread > 0 || multithread_default > 0; }
    // Threads of one operator as asked for; 0: nothing was.
    int wanted_threads() const;
    // A worker of the context runs it, instead of the thread that waits.
    bool runs_on_worker() const { return multithread > 0; }
};

void add(CLI::App& app, DeviceOptions& options);
// `runs`: how many runs go on at the same time, each with threads of its own.
void check(const DeviceOptions& options);

// "0,2-3" → 0, 2, 3. UserError, as `option`, when it is no such list.
std::vector<int> parse_cpu_list(const char* option, const std::string& list);

}  // namespace mge::load_and_run
