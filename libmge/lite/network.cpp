// SPDX-License-Identifier: Apache-2.0
#include "lite/network.h"

#include <algorithm>

#include "libmge/base/joined.h"
#include "libmge/base/text.h"
#include "libmge/graph/dimension_sizes.h"
#include "libmge/inspect/static_memory.h"
#include "libmge/lite/as_lite_error.h"
#include "libmge/lite/device.h"
#include "libmge/lite/network_impl.h"

namespace lite {
namespace {

template <class Port>
std::string names_of(const std::vector<Port>& ports) {
    return mge::joined(ports, ", ", [](auto& port) { return port.io.name; });
}

template <class Port>
const Port* find(const std::vector<Port>& ports, const std::string& name) {
    auto it = std::ranges::find_if(ports, [&](auto& port) { return port.io.name == name; });
    return it == ports.end() ? nullptr : &*it;
}

template <class Port>
const Port& at(const std::vector<Port>& ports, size_t i, const char* kind) {
    if (i >= ports.size())
        throw Error(mge::text("there is no ", kind, ' ', i, "; the network has ", ports.size()));
    return ports[i];
}

const std::shared_ptr<Tensor>& tensor_of(const Input& input) {
    if (input.is_discrete())
        throw Error(mge::text("input '", input.io.name,
                              "' is discrete: get_discrete_tensors() returns the tensors of its images"));
    return input.tensor;
}

void check(LiteTensorPhase phase) {
    if (phase != LITE_IO && phase != LITE_INPUT && phase != LITE_OUTPUT)
        throw Error(mge::text("there is no tensor phase ", static_cast<int>(phase),
                              "; they are LITE_IO 0, LITE_INPUT 1 and LITE_OUTPUT 2"));
}

template <class Port>
std::vector<std::string> list_names(const std::vector<Port>& ports) {
    std::vector<std::string> names;
    for (auto& port : ports) names.push_back(port.io.name);
    return names;
}

}  // namespace

Network::Network(const Config& config, const NetworkIO& networkio)
    : impl_(std::make_unique<NetworkImplBase>(config, networkio)) {}

Network::Network(const NetworkIO& networkio, const Config& config) : Network(config, networkio) {}

Network::~Network() { NetworkImplBase::end(std::move(impl_)); }

void Network::load_model(void* model_mem, size_t size) {
    as_lite_error([&] { impl_->load(model_mem, size); });
}

void Network::load_model(std::string model_path) {
    as_lite_error([&] { impl_->load(model_path); });
}

void Network::compute_only_configured_output() {
    impl_->require_not_loaded("compute_only_configured_output");
    impl_->own_settings().configured_outputs_only = true;
}

std::shared_ptr<Tensor> Network::get_io_tensor(std::string io_name, LiteTensorPhase phase) {
    impl_->require_loaded("get_io_tensor");
    check(phase);
    if (phase != LITE_OUTPUT)
        if (auto* input = find(impl_->inputs(), io_name)) return tensor_of(*input);
    if (phase != LITE_INPUT)
        if (auto* output = find(impl_->outputs(), io_name)) return output->tensor;
    const char* kind = phase == LITE_INPUT ? "input" : phase == LITE_OUTPUT ? "output" : "input or output";
    throw Error(mge::text("there is no ", kind, " '", io_name, "'; inputs: ", names_of(impl_->inputs()),
                          "; outputs: ", names_of(impl_->outputs())));
}

std::vector<std::shared_ptr<Tensor>> Network::get_discrete_tensors(std::string io_name,
                                                                   LiteTensorPhase phase) {
    impl_->require_loaded("get_discrete_tensors");
    check(phase);
    auto* input = phase == LITE_OUTPUT ? nullptr : find(impl_->inputs(), io_name);
    if (!input || !input->is_discrete())
        throw Error(mge::text("there is no discrete input '", io_name,
                              "'; Config::discrete_input_name makes an input one"));
    return input->images;
}

std::shared_ptr<Tensor> Network::get_input_tensor(size_t index) {
    impl_->require_loaded("get_input_tensor");
    return tensor_of(at(impl_->inputs(), index, "input"));
}

std::vector<std::shared_ptr<Tensor>> Network::get_input_tensors(size_t index) {
    impl_->require_loaded("get_input_tensors");
    auto& input = at(impl_->inputs(), index, "input");
    return input.is_discrete() ? input.images : std::vector{input.tensor};
}

std::shared_ptr<Tensor> Network::get_output_tensor(size_t index) {
    impl_->require_loaded("get_output_tensor");
    return at(impl_->outputs(), index, "output").tensor;
}

Network& Network::set_async_callback(const AsyncCallback& async_callback) {
    impl_->set_callbacks([&](Callbacks& callbacks) { callbacks.async = async_callback; });
    return *this;
}

Network& Network::set_start_callback(const StartCallback& start_callback) {
    impl_->set_callbacks([&](Callbacks& callbacks) { callbacks.start = start_callback; });
    return *this;
}

Network& Network::set_finish_callback(const FinishCallback& finish_callback) {
    impl_->set_callbacks([&](Callbacks& callbacks) { callbacks.finish = finish_callback; });
    return *this;
}

void Network::forward() {
    NetworkImplBase::Entered entered(*impl_);
    impl_->forward();
}

void Network::wait() {
    NetworkImplBase::Entered entered(*impl_);
    impl_->wait();
}

std::string Network::get_input_name(size_t index) const {
    impl_->require_loaded("get_input_name");
    return at(impl_->inputs(), index, "input").io.name;
}

std::string Network::get_output_name(size_t index) const {
    impl_->require_loaded("get_output_name");
    return at(impl_->outputs(), index, "output").io.name;
}

std::optional<std::string> Network::get_input_dimension_name(size_t index, size_t axis) const {
    impl_->require_loaded("get_input_dimension_name");
    (void)at(impl_->inputs(), index, "input");
    auto& graph = impl_->model()->graph();
    auto* open = mge::find_dimension(graph.value(graph.inputs().at(index)).dimensions, int(axis));
    return open ? std::optional(open->name) : std::nullopt;
}

std::vector<std::string> Network::get_all_input_name() const {
    impl_->require_loaded("get_all_input_name");
    return list_names(impl_->inputs());
}

std::vector<std::string> Network::get_all_output_name() const {
    impl_->require_loaded("get_all_output_name");
    return list_names(impl_->outputs());
}

Network& Network::set_device_id(int device_id) {
    impl_->require_not_loaded("set_device_id");
    impl_->own_settings().configuration.config.device_id = device_id;
    return *this;
}

int Network::get_device_id() const { return impl_->settings().configuration.config.device_id; }

Network& Network::set_stream_id(int stream_id) {
    impl_->require_not_loaded("set_stream_id");
    impl_->own_settings().stream_id = stream_id;
    return *this;
}

int Network::get_stream_id() const { return impl_->settings().stream_id; }

void Network::enable_profile_performance(std::string profile_file_path) {
    as_lite_error([&] { impl_->enable_profile(profile_file_path); });
}

const std::string& Network::get_model_extra_info() { return impl_->extra_info(); }

LiteDeviceType Network::get_device_type() const {
    if (!impl_->is_loaded()) return impl_->settings().configuration.config.device_type;
    return device_type_of(impl_->device());
}

void Network::get_static_memory_alloc_info(const std::string& log_dir) const {
    impl_->require_loaded("get_static_memory_alloc_info");
    as_lite_error([&] { mge::write_static_memory_info(log_dir, impl_->program()); });
}

void Network::extra_configure(const ExtraConfig& extra_config) {
    impl_->require_not_loaded("extra_configure");
    impl_->own_settings().uses_model_info = !extra_config.disable_configure_by_model_info;
}

}  // namespace lite
