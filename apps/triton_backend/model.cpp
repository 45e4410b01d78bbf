// SPDX-License-Identifier: Apache-2.0
#include "apps/triton_backend/model.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "apps/triton_backend/sample.h"

namespace mge::triton {

namespace {

namespace fs = std::filesystem;

constexpr int DefaultMaxBatch = 32;

std::string find_model(const std::string& folder, const std::string& file_name) {
    if (!file_name.empty()) return (fs::path(folder) / file_name).string();
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        if (entry.is_regular_file()) files.push_back(entry.path());
    }
    if (files.size() == 1) return files[0].string();
    throw std::runtime_error(folder + " has " + std::to_string(files.size()) +
                             " files; default_model_filename of the configuration names the model");
}

// The outputs' shapes of a run on zeros with the file's sizes, or with another number of rows.
std::vector<std::vector<int64_t>> run_on_zeros(Network& network, int64_t rows = 0) {
    for (size_t i = 0; i < network.inputs().size(); ++i) {
        std::vector<int64_t> shape = network.inputs()[i].sizes;
        if (rows) shape.at(0) = rows;
        std::memset(network.input(i, shape), 0, bytes_of(network.inputs()[i].type, shape));
    }
    network.run();
    std::vector<std::vector<int64_t>> shapes;
    for (size_t i = 0; i < network.outputs().size(); ++i) shapes.push_back(network.output_shape(i));
    return shapes;
}

// Tried with the sizes of the file. A model that refuses the values or the sizes has no batches.
bool rows_are_independent(Network& network) {
    const auto first_size = [](const TensorInfo& info) { return info.sizes.empty() ? 0 : info.sizes[0]; };
    const int64_t rows = network.inputs().empty() ? 0 : first_size(network.inputs()[0]);
    const auto has_rows = [&](const TensorInfo& info) { return first_size(info) == rows; };
    if (rows == 0 || !std::ranges::all_of(network.inputs(), has_rows)) return false;
    try {
        const auto once = run_on_samples(network, 1), twice = run_on_samples(network, 2);
        for (size_t i = 0; i < once.size(); ++i) {
            if (!is_same_with_more_rows(network.outputs()[i].type, rows, once[i], twice[i])) return false;
        }
        return true;
    } catch (const std::runtime_error&) {
        return false;
    }
}

}  // namespace

Model::Model(const std::string& config, const std::string& folder)
    : config_(config), settings_(settings_of(config)) {
    options_.path = find_model(folder, settings_.file_name);
    options_.key_file = settings_.key_file;
    options_.fast_run_cache = settings_.fast_run_cache;
    options_.threads = settings_.threads;
    if (!options_.threads && settings_.instances > 1) {
        const int cpus = static_cast<int>(std::thread::hardware_concurrency());
        options_.threads = std::max(cpus / settings_.instances, 1);
    }
    source_ = std::make_unique<Network>(options_);
    inputs_ = source_->inputs();
    outputs_ = source_->outputs();

    const bool has_batches = rows_are_independent(*source_);
    if (settings_.max_batch > 0 && !has_batches) {
        throw std::runtime_error(
            options_.path +
            " has no batch dimension: the first dimension of an input or output is not the "
            "number of rows; max_batch_size must be 0");
    }
    max_batch_ = settings_.has_batching ? settings_.max_batch : has_batches ? DefaultMaxBatch : 0;
    describe_outputs();
}

void Model::describe_outputs() {
    const auto shapes = run_on_zeros(*source_);
    for (size_t i = 0; i < outputs_.size(); ++i) outputs_[i].shape = shapes[i];
    // Open dimensions of inputs, except that of the batch, may change any size of an output.
    const bool has_open = std::ranges::any_of(inputs_, [&](const TensorInfo& info) {
        return std::find(info.shape.begin() + (max_batch_ ? 1 : 0), info.shape.end(), -1) != info.shape.end();
    });
    for (TensorInfo& info : outputs_) {
        if (has_open) std::ranges::fill(info.shape, -1);
    }
}

std::string Model::config() const { return completed(config_, inputs_, outputs_, max_batch_); }

std::unique_ptr<Network> Model::make_network() {
    const std::lock_guard lock(mutex_);
    auto network = std::make_unique<Network>(*source_, options_);
    if (max_batch_ == 0) run_on_zeros(*network);
    // Planning another number of rows takes longer than a run.
    for (int64_t rows = 1; rows <= max_batch_; rows *= 2) run_on_zeros(*network, rows);
    return network;
}

}  // namespace mge::triton
