// SPDX-License-Identifier: Apache-2.0
// Callbacks of networks, for functions of C.
#include <functional>

#include "libmge/base/text.h"
#include "libmge/lite/c/call.h"
#include "libmge/lite/c/structs.h"

using namespace lite;
using namespace lite::c;

namespace {

// A function of C for inputs or outputs, with its user_data if it has some.
using IOFunction = std::function<int(const LiteIO*, const LiteTensor*, size_t)>;

// Ports in the order of the model.
struct Ports {
    std::vector<LiteIO> ios;
    std::vector<LiteTensor> tensors;
};

Ports ports_of(const IOTensors& all, const std::vector<std::string>& names, NetworkTensors& handles) {
    Ports ports;
    for (auto& name : names) {
        auto found = all.find(name);
        if (found == all.end()) continue;
        auto& [io, tensor] = found->second;
        ports.ios.push_back(io_of(io));
        ports.tensors.push_back(handles.handle_of(tensor));
    }
    return ports;
}

// Binds the caller's data to a function of C; empty without a function, which removes a callback.
template <class Function>
IOFunction with_data(Function* function, void* user_data) {
    if (!function) return {};
    return [function, user_data](auto* ios, auto* tensors, size_t size) {
        return function(ios, tensors, size, user_data);
    };
}

IOFunction without_data(LiteStartCallback function) { return function ? IOFunction(function) : IOFunction(); }

int set_async(const char* caller, LiteNetwork network, AsyncCallback callback) {
    return run(caller,
               [&](const Call& call) { call.network(network).network->set_async_callback(callback); });
}

int set_start(const char* caller, LiteNetwork handle, IOFunction function) {
    return run(caller, [&](const Call& call) {
        auto& target = call.network(handle);
        // The network calls it, so it is there then.
        auto* network = target.network.get();
        if (!function) return void(network->set_start_callback({}));
        network->set_start_callback([network, handles = target.tensors, function](const IOTensors& inputs) {
            auto ports = ports_of(inputs, network->get_all_input_name(), *handles);
            if (int answer = function(ports.ios.data(), ports.tensors.data(), ports.ios.size()))
                throw Error(mge::text("the start callback returned ", answer, ", which ends the run"));
        });
    });
}

int set_finish(const char* caller, LiteNetwork handle, IOFunction function) {
    return run(caller, [&](const Call& call) {
        auto& target = call.network(handle);
        auto* network = target.network.get();
        if (!function) return void(network->set_finish_callback({}));
        network->set_finish_callback([network, handles = target.tensors, function](const IOTensors& outputs) {
            auto ports = ports_of(outputs, network->get_all_output_name(), *handles);
            function(ports.ios.data(), ports.tensors.data(), ports.ios.size());
        });
    });
}

}  // namespace

int LITE_set_runtime_thread_affinity(LiteNetwork network,
                                     const LiteThreadAffinityCallback thread_affinity_callback) {
    return run(__func__, [&](const Call& call) {
        auto& target = call.network(network);
        auto* function = call.pointer(thread_affinity_callback, "thread_affinity_callback");
        Runtime::set_runtime_thread_affinity(target.network, [function](int thread) { function(thread); });
    });
}

int LITE_set_async_callback(LiteNetwork network, const LiteAsyncCallback async_callback) {
    AsyncCallback callback;
    if (async_callback) callback = [async_callback] { async_callback(); };
    return set_async(__func__, network, callback);
}

int LITE_set_async_callback_with_userdata(LiteNetwork network, LiteAsyncCallbackWithData async_callback,
                                          void* user_data) {
    AsyncCallback callback;
    if (async_callback) callback = [async_callback, user_data] { async_callback(user_data); };
    return set_async(__func__, network, callback);
}

int LITE_set_start_callback(LiteNetwork network, const LiteStartCallback start_callback) {
    return set_start(__func__, network, without_data(start_callback));
}

int LITE_set_start_callback_with_userdata(LiteNetwork network, LiteStartCallbackWithData start_callback,
                                          void* user_data) {
    return set_start(__func__, network, with_data(start_callback, user_data));
}

int LITE_set_finish_callback(LiteNetwork network, const LiteFinishCallback finish_callback) {
    return set_finish(__func__, network, without_data(finish_callback));
}

int LITE_set_finish_callback_with_userdata(LiteNetwork network, LiteFinishCallbackWithData finish_callback,
                                           void* user_data) {
    return set_finish(__func__, network, with_data(finish_callback, user_data));
}
