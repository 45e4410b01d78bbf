// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "libmge/tensor/device_id.h"

namespace CLI {
class App;
}

namespace mge::load_and_run {

// The device of the model.
struct DeviceOptions {
    std::string device;  // by name; empty: the first CPU
    bool cpu = false, cpu_default = false, cuda = false, opencl = false;
    int threads = 0;                                 // largest number per operator; 0: the limit of the
                                                     // machine
    int multithread = -1, multithread_default = -1;  // -1: not given
    std::string core_ids;                            // --multi-thread-core-ids
    std::string affinity;                            // "0,2-3"
    std::string tensorrt_cache;
    bool list_devices = false;
    std::string require_device;

    // UserError or DeviceError if there is no such device, or other options contradict it. Libraries may add
    // devices: load them first.
    DeviceId place() const;
    // The requested name, including --cuda's; empty: no request.
    std::string requested_name() const { return cuda ? "gpu0" : device; }
    // An option requests a CPU.
    bool requests_cpu() const { return cpu || cpu_default || multithread > 0 || multithread_default > 0; }
    // Requested number of threads per operator; 0: no request.
    int wanted_threads() const;
    // A worker of the context runs it, instead of the thread that waits.
    bool runs_on_worker() const { return multithread > 0; }
};

void add(CLI::App& app, DeviceOptions& options);
// `runs`: number of concurrent runs, each with its own threads.
void check(const DeviceOptions& options);

// "0,2-3" → 0, 2, 3. UserError that names `option` for an invalid list.
std::vector<int> parse_cpu_list(const char* option, const std::string& list);

}  // namespace mge::load_and_run
