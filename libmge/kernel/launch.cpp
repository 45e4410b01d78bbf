// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/launch.h"

#include <vector>

#include "libmge/device/queue.h"

namespace mge {
namespace {

constexpr size_t few = 8;  // operands of most operators, without memory from the heap

void write_addresses(std::span<const Tensor> tensors, auto* to) {
    for (auto& tensor : tensors) *to++ = tensor ? tensor.address() : nullptr;
}

[[gnu::always_inline]] inline void run(const Algorithm& algorithm, const Prepared& prepared,
                                       const LaunchSite& site, std::span<const void* const> inputs,
                                       std::span<void* const> outputs) {
    if (size_t bytes = prepared.workspace(); bytes && !site.workspace) {
        StorageRef taken = site.queue.allocate(bytes);
        return algorithm.run(prepared,
                             {inputs, outputs, taken->data, site.threads, site.allocator, &site.queue});
    }
    algorithm.run(prepared, {inputs, outputs, site.workspace, site.threads, site.allocator, &site.queue});
}

[[gnu::noinline]] void launch_many(const Algorithm& algorithm, const Prepared& prepared,
                                   const LaunchSite& site, std::span<const Tensor> inputs,
                                   std::span<const Tensor> outputs) {
    std::vector<const void*> in(inputs.size());
    std::vector<void*> out(outputs.size());
    write_addresses(inputs, in.data());
    write_addresses(outputs, out.data());
    run(algorithm, prepared, site, in, out);
}

}  // namespace

void launch(const Algorithm& algorithm, const Prepared& prepared, const LaunchSite& site,
            std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
    if (inputs.size() > few || outputs.size() > few) [[unlikely]]
        return launch_many(algorithm, prepared, site, inputs, outputs);
    const void* in[few];
    void* out[few];
    write_addresses(inputs, in);
    write_addresses(outputs, out);
    run(algorithm, prepared, site, {in, inputs.size()}, {out, outputs.size()});
}

}  // namespace mge
