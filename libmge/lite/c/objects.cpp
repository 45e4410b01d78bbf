// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/c/objects.h"

#include "libmge/base/threads/at_fork.h"

namespace lite::c {
namespace {

template <class T, uint64_t tag>
Handles<T>& table() {
    // Objects in static storage of programs may give their handles back when the process ends.
    static auto& all = *std::make_unique<Handles<T>>(tag).release();
    return all;
}
const mge::HeldAcrossFork tensors_at_fork([]() -> auto& { return tensors().mutex(); });
const mge::HeldAcrossFork networks_at_fork([]() -> auto& { return networks().mutex(); });

}  // namespace

Handles<TensorObject>& tensors() { return table<TensorObject, 0x4c54>(); }
Handles<NetworkObject>& networks() { return table<NetworkObject, 0x4c4e>(); }

NetworkTensors::~NetworkTensors() { clear(); }

void NetworkTensors::clear() {
    std::lock_guard lock(mutex_);
    for (auto& [tensor, handle] : handles_) tensors().remove(handle);
    handles_.clear();
}

LiteTensor NetworkTensors::handle_of(const std::shared_ptr<Tensor>& tensor) {
    std::lock_guard lock(mutex_);
    auto [at, is_new] = handles_.try_emplace(tensor.get());
    if (is_new) try {
            at->second = tensors().add(std::make_shared<TensorObject>(TensorObject{tensor, true}));
        } catch (...) {
            handles_.erase(at);
            throw;
        }
    return at->second;
}

const char* Texts::keep(std::string text) {
    std::lock_guard lock(mutex_);
    return kept_.insert(std::move(text)).first->c_str();
}

}  // namespace lite::c
