// SPDX-License-Identifier: Apache-2.0
#include "libmge/train/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "libmge/base/error.h"
#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/model/model.h"

namespace mge {
namespace {

// Values are named parameter/NAME and state/PART/NAME. Keys of the metadata:
constexpr const char *key_version = "checkpoint.version", *key_optimizer = "checkpoint.optimizer",
                     *key_rate = "checkpoint.learning_rate", *note_prefix = "note.";
constexpr const char* version_written = "1";

std::string parameter_key(const std::string& name) { return "parameter/" + name; }
std::string state_key(std::string_view part, const std::string& name) {
    return text("state/", part, '/', name);
}

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
    throw ModelError(text("checkpoint '", path, "': ", reason));
}

class Reader {
public:
    explicit Reader(const std::string& path) : path_(path), model_(read_model(path)) {
        auto version = find(key_version);
        if (!version) fail(path, "is a model, not a checkpoint");
        if (*version != version_written) fail(path, text("has version ", *version));
        for (auto& value : model_.graph.values())
            if (value.is_constant()) tensors_[value.name] = value.constant;
    }

    const std::string* find(const std::string& key) const {
        auto it = model_.metadata.find(key);
        return it == model_.metadata.end() ? nullptr : &it->second;
    }
    // Returns a copy of the value; null if the name is missing. Throws if the spec differs.
    Tensor take(const std::string& key, const TensorSpec& spec, DeviceId device) const {
        auto it = tensors_.find(key);
        if (it == tensors_.end()) return {};
        if (!(it->second.spec() == spec))
            fail(path_, text("'", key, "' is ", it->second.spec(), ", expected ", spec));
        return tensor_from_host(spec, it->second.data(), device);
    }
    CheckpointNotes notes() const {
        CheckpointNotes notes;
        for (auto& [key, value] : model_.metadata)
            if (key.starts_with(note_prefix)) notes[key.substr(std::string_view(note_prefix).size())] = value;
        return notes;
    }
    size_t parameter_count() const {
        return size_t(std::ranges::count_if(
            tensors_, [](auto& entry) { return entry.first.starts_with("parameter/"); }));
    }

private:
    const std::string& path_;
    Model model_;
    std::unordered_map<std::string, Tensor> tensors_;
};

Tensors read_parameters(const Reader& reader, const std::string& path, const Parameters& parameters) {
    Tensors values;
    for (size_t i = 0; i < parameters.size(); ++i) {
        auto& name = parameters.names()[i];
        auto& now = parameters[i];
        values.push_back(reader.take(parameter_key(name), now.spec(), now.device()));
        if (!values.back()) fail(path, text("has no parameter '", name, "'"));
    }
    if (size_t count = reader.parameter_count(); count != parameters.size())
        fail(path, text("has ", counted(int64_t(count), "parameter"), ", expected ", parameters.size()));
    return values;
}

std::vector<Tensors> read_state(const Reader& reader, const std::string& path, const Optimizer& optimizer) {
    auto kind = reader.find(key_optimizer);
    if (!kind) fail(path, "has no state of an optimizer");
    if (*kind != optimizer.kind())
        fail(path, text("is for optimizer '", *kind, "', not '", optimizer.kind(), "'"));
    auto& parameters = optimizer.parameters();
    std::vector<Tensors> state(parameters.size());
    for (size_t i = 0; i < parameters.size(); ++i)
        for (auto part : optimizer.state_names()) {
            auto& value = parameters[i];
            TensorSpec spec = part == "step" ? TensorSpec{DType::f32, {}, {}} : value.spec();
            state[i].push_back(reader.take(state_key(part, parameters.names()[i]), spec, value.device()));
        }
    return state;
}

}  // namespace

void save_checkpoint(const std::string& path, const Parameters& parameters, const Optimizer* optimizer,
                     const CheckpointNotes& notes) {
    Model model;
    std::vector<ValueId> all;
    auto add = [&](const std::string& name, const Tensor& value) {
        all.push_back(model.graph.add_constant(to_host(value), name));
    };
    for (size_t i = 0; i < parameters.size(); ++i) add(parameter_key(parameters.names()[i]), parameters[i]);
    model.metadata[key_version] = version_written;
    if (optimizer) {
        if (&optimizer->parameters() != &parameters)
            throw_value_error("save_checkpoint", "the optimizer is one of other parameters");
        model.metadata[key_optimizer] = optimizer->kind();
        model.metadata[key_rate] = hexadecimal_text(optimizer->learning_rate());
        auto names = optimizer->state_names();
        for (size_t i = 0; i < parameters.size(); ++i)
            for (size_t k = 0; k < optimizer->state()[i].size(); ++k)
                if (auto& part = optimizer->state()[i][k])
                    add(state_key(names[k], parameters.names()[i]), part);
    }
    for (auto& [key, value] : notes) model.metadata[note_prefix + key] = value;
    model.graph.set_outputs(std::move(all));
    write_model(path, model);
}

CheckpointNotes load_checkpoint(const std::string& path, Parameters& parameters, Optimizer* optimizer) {
    Reader reader(path);
    Tensors values = read_parameters(reader, path, parameters);
    if (optimizer) {
        auto state = read_state(reader, path, *optimizer);
        auto rate = reader.find(key_rate);
        auto number = rate ? parse_number(*rate) : std::nullopt;
        if (!number || !(*number >= 0) || !std::isfinite(*number)) fail(path, "has no learning rate");
        optimizer->set_learning_rate(*number);
        optimizer->set_state(std::move(state));
    }
    for (size_t i = 0; i < values.size(); ++i) parameters.set(i, std::move(values[i]));
    return reader.notes();
}

}  // namespace mge
