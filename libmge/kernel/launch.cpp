// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/launch.h"

#include <array>
#include <vector>

#include "libmge/device/queue.h"

namespace mge {
namespace {

// The addresses of tensors, of few_operands without memory from the heap.
template <class Address>
class Addresses {
public:
    explicit Addresses(std::span<const Tensor> tensors)
        : many_(tensors.size() > few_.size() ? tensors.size() : 0),
          list_(many_.empty() ? std::span(few_.data(), tensors.size()) : std::span(many_)) {
        write_addresses(tensors, list_.data());
    }
    Addresses(const Addresses&) = delete;
    Addresses& operator=(const Addresses&) = delete;
    std::span<Address const> list() const { return list_; }

private:
    std::array<Address, few_operands> few_;
    std::vector<Address> many_;
    std::span<Address> list_;
};

}  // namespace

void launch_with_memory(const Algorithm& algorithm, const Prepared& prepared, const LaunchSite& site,
                        std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
    Addresses<const void*> in(inputs);
    Addresses<void*> out(outputs);
    StorageRef taken;
    void* workspace = site.workspace;
    if (size_t bytes = prepared.workspace(); bytes && !workspace) {
        taken = site.queue.allocate(bytes);
        workspace = taken->data;
    }
    algorithm.run(prepared,
                  {in.list(), out.list(), workspace, site.threads, site.allocator, &site.queue, site.run});
}

}  // namespace mge
