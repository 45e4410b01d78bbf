// SPDX-License-Identifier: Apache-2.0
// Networks: made, loaded, run, and their tensors.
#include "lite-c/network_c.h"

#include <algorithm>

#include "libmge/base/text.h"
#include "libmge/lite/c/call.h"
#include "libmge/lite/c/structs.h"
#include "libmge/lite/network_impl.h"

using namespace lite;
using namespace lite::c;

namespace {

LiteNetwork handle_of_new(const Config& config, const NetworkIO& io) {
    auto object = std::make_shared<NetworkObject>();
    object->network = std::make_shared<Network>(config, io);
    return networks().add(std::move(object));
}

// The number of names, and copies of them that live as long as the network.
void give_names(NetworkObject& network, const std::vector<std::string>& names, size_t* size,
                const char** name) {
    if (size) *size = names.size();
    if (name)
        for (auto& each : names) *name++ = network.texts.keep(each);
}

}  // namespace

int LITE_make_default_network(LiteNetwork* network) {
    return run(__func__, [&](const Call& call) {
        auto& result = call.given(network, "network");
        result = handle_of_new({}, {});
    });
}

int LITE_make_network(LiteNetwork* network, const LiteConfig config, const LiteNetworkIO network_io) {
    return run(__func__, [&](const Call& call) {
        auto& result = call.given(network, "network");
        result = handle_of_new(config_of(config), io_of(network_io));
    });
}

int LITE_make_network_config(LiteNetwork* network, const LiteConfig config) {
    return run(__func__, [&](const Call& call) {
        auto& result = call.given(network, "network");
        result = handle_of_new(config_of(config), {});
    });
}

int LITE_destroy_network(LiteNetwork network) {
    return run(__func__, [&](const Call& call) {
        call.pointer(network, "network");
        auto held = networks().hold(network);
        if (auto* object = held.get())
            NetworkHelper::impl(*object->network).require_outside("LITE_destroy_network");
        networks().remove(network);
    });
}

int LITE_load_model_from_mem(LiteNetwork network, void* model_mem, size_t size) {
    return run(__func__, [&](const Call& call) {
        auto& target = call.network(network);
        target.network->load_model(call.pointer(model_mem, "model_mem"), size);
        target.tensors->clear();
    });
}

int LITE_load_model_from_path(LiteNetwork network, const char* model_path) {
    return run(__func__, [&](const Call& call) {
        auto& target = call.network(network);
        target.network->load_model(call.pointer(model_path, "model_path"));
        target.tensors->clear();
    });
}

int LITE_compute_only_configured_output(LiteNetwork network) {
    return run(__func__,
               [&](const Call& call) { call.network(network).network->compute_only_configured_output(); });
}

int LITE_shared_weight_with_network(LiteNetwork dst_network, const LiteNetwork src_network) {
    return run(__func__, [&](const Call& call) {
        auto &target = call.network(dst_network, "dst_network"),
             &source = call.network(src_network, "src_network");
        Runtime::shared_weight_with_network(target.network, source.network);
        target.tensors->clear();
    });
}

int LITE_forward(const LiteNetwork network) {
    return run(__func__, [&](const Call& call) { call.network(network).network->forward(); });
}

int LITE_wait(const LiteNetwork network) {
    return run(__func__, [&](const Call& call) { call.network(network).network->wait(); });
}

int LITE_get_io_tensor(LiteNetwork network, const char* io_name, LiteTensorPhase phase, LiteTensor* tensor) {
    return run(__func__, [&](const Call& call) {
        auto& source = call.network(network);
        call.pointer(io_name, "io_name");
        auto& result = call.given(tensor, "tensor");
        result = source.tensors->handle_of(source.network->get_io_tensor(io_name, phase));
    });
}

int LITE_get_discrete_tensor(LiteNetwork network, const char* io_name, size_t n_idx, LiteTensorPhase phase,
                             LiteTensor* tensor) {
    return run(__func__, [&](const Call& call) {
        auto& source = call.network(network);
        call.pointer(io_name, "io_name");
        auto& result = call.given(tensor, "tensor");
        auto tensors = source.network->get_discrete_tensors(io_name, phase);
        if (n_idx >= tensors.size())
            throw Error(mge::text("the discrete input '", io_name, "' has ", tensors.size(),
                                  " tensors; number ", n_idx, " was asked for"));
        result = source.tensors->handle_of(tensors[n_idx]);
    });
}

int LITE_get_input_name(const LiteNetwork network, size_t index, const char** name) {
    return network_fact(__func__, network, name, "name",
                        [&](auto& from) { return from.texts.keep(from.network->get_input_name(index)); });
}

int LITE_get_input_dimension_name(const LiteNetwork network, size_t index, size_t axis, const char** name) {
    return run(__func__, [&](const Call& call) {
        auto& source = call.network(network);
        auto& result = call.given(name, "name");
        auto found = source.network->get_input_dimension_name(index, axis);
        result = found ? source.texts.keep(*found) : nullptr;
    });
}

int LITE_get_output_name(const LiteNetwork network, size_t index, const char** name) {
    return network_fact(__func__, network, name, "name",
                        [&](auto& from) { return from.texts.keep(from.network->get_output_name(index)); });
}

int LITE_get_all_input_name(const LiteNetwork network, size_t* size, const char** name) {
    return run(__func__, [&](const Call& call) {
        auto& source = call.network(network);
        give_names(source, source.network->get_all_input_name(), size, name);
    });
}

int LITE_get_all_output_name(const LiteNetwork network, size_t* size, const char** name) {
    return run(__func__, [&](const Call& call) {
        auto& source = call.network(network);
        give_names(source, source.network->get_all_output_name(), size, name);
    });
}
