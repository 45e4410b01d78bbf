// SPDX-License-Identifier: Apache-2.0
#pragma once
// The objects behind C handles.

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "libmge/lite/c/handles.h"
#include "lite-c/network_c.h"
#include "lite/network.h"

namespace lite::c {

struct TensorObject {
    std::shared_ptr<Tensor> tensor;
    bool is_networks = false;  // its handle lives as long as the network
};

// Handles for the tensors of a network, one for each, that end with this, or with the model.
class NetworkTensors {
public:
    NetworkTensors() = default;
    NetworkTensors(const NetworkTensors&) = delete;
    NetworkTensors& operator=(const NetworkTensors&) = delete;
    ~NetworkTensors();
    LiteTensor handle_of(const std::shared_ptr<Tensor>& tensor);
    void clear();

private:
    std::mutex mutex_;  // callbacks run on other threads
    std::unordered_map<const Tensor*, LiteTensor> handles_;
};

// Texts that live as long as this.
class Texts {
public:
    const char* keep(std::string text);

private:
    std::mutex mutex_;
    std::unordered_set<std::string> kept_;
};

struct NetworkObject {
    // Shared with the callbacks, through which the network may outlive its handle.
    std::shared_ptr<NetworkTensors> tensors = std::make_shared<NetworkTensors>();
    Texts texts;
    std::shared_ptr<Network> network;
};

Handles<TensorObject>& tensors();
Handles<NetworkObject>& networks();

}  // namespace lite::c
