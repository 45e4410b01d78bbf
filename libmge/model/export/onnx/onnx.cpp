// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/export/onnx/onnx.h"

#include <algorithm>
#include <filesystem>

#include "libmge/base/files/file.h"
#include "libmge/base/number_text.h"
#include "libmge/model/export/onnx/encode.h"
#include "libmge/model/export/onnx/translation.h"
#include "libmge/model/stored_options.h"

namespace mge {
namespace to_onnx {
namespace {

namespace fs = std::filesystem;

constexpr size_t most_problems = 20;  // that one error names

[[noreturn]] void refuse(const std::vector<std::string>& problems) {
    std::string all;
    for (size_t i = 0; i < std::min(problems.size(), most_problems); ++i)
        all += (i ? "; " : "") + problems[i];
    if (problems.size() > most_problems) all += text("; and ", problems.size() - most_problems, " more");
    throw ModelError(text("[write_onnx] ", counted(problems.size(), "part"),
                          " of the model cannot be written as ONNX: ", all));
}

// With these axes open if that can be done, else with fewer.
ModelRecord translated(const Graph& graph, const std::string& name, int opset, OpenAxes open) {
    OpenInputs inputs = open_inputs(graph, open);
    bool is_closed = inputs.dimensions.empty();
    const auto fewer = OpenAxes(std::min(int(open) + 1, int(OpenAxes::none)));
    if (open < OpenAxes::batch && is_closed) return translated(graph, name, opset, fewer);
    GraphWriter writer(opset);
    writer.record.name = name;
    Translation translation(writer, graph, inputs);
    translation.run();
    if (translation.problems().empty()) return {opset, inputs.batch, writer.finish(), {}};
    if (is_closed) refuse(translation.problems());
    return translated(graph, name, opset, fewer);
}

OpenAxes most_open_axes(const Model& model) {
    if (has_const_shape(model)) return OpenAxes::none;
    for (ValueId id : model.graph.inputs())
        for (auto& dimension : model.graph.value(id).dimensions)
            if (dimension.axis || !dimension.name.empty()) return OpenAxes::all;
    return OpenAxes::batch;
}

ModelRecord translated(const Model& model, int opset, const std::string& name) {
    if (opset < least_onnx_opset || opset > largest_onnx_opset)
        throw_value_error("write_onnx", "operator set ", opset, " is not one of ", least_onnx_opset, " to ",
                          largest_onnx_opset);
    ModelRecord record = translated(prepare_graph(model.graph), name, opset, most_open_axes(model));
    record.metadata = model.metadata;
    if (record.batch) record.metadata[onnx_batch_key] = text(record.batch);
    return record;
}

void write_external(std::ostream& stream, const std::vector<ExternalTensor>& tensors) {
    size_t end = 0;
    for (auto& [offset, tensor] : tensors) {
        std::string gap(offset - end, '\0');
        stream.write(gap.data(), std::streamsize(gap.size()));
        stream.write(static_cast<const char*>(tensor.data()), std::streamsize(tensor.spec().bytes()));
        end = offset + tensor.spec().bytes();
    }
}

size_t weight_bytes(const ModelRecord& model) {
    size_t bytes = 0;
    for (auto& [name, tensor] : model.graph.initialisers) bytes += tensor.spec().bytes();
    return bytes;
}

void write_data(const std::string& path, const ModelRecord& record) {
    write_file_atomically(path,
                          [&](std::ostream& stream) { write_external(stream, external_tensors(record)); });
}

// The weights are in a file of the same folder; without a name they are in the model.
void write_structure(const std::string& path, const ModelRecord& record, const std::string& data) {
    std::string name = fs::path(data).filename().string();
    write_file_atomically(path, [&](std::ostream& stream) { encode(stream, record, name); });
}

bool exists(const std::string& path) {
    std::error_code unknown;
    return fs::exists(fs::symlink_status(path, unknown));
}

std::string unused_name(const std::string& path) {
    for (int i = 1;; ++i)
        if (std::string name = text(path, '.', i); !exists(name)) return name;
}

// Gives a regular file the content of another one without a copy. False if that is not possible.
bool replace_by_link(const std::string& path, const std::string& source) {
    std::error_code failure;
    fs::file_status old = fs::symlink_status(path, failure);
    if (!fs::is_regular_file(old)) return false;
    fs::permissions(source, old.permissions(), failure);
    std::string link = unused_name(path);
    fs::create_hard_link(source, link, failure);
    if (failure) return false;
    fs::rename(link, path, failure);
    if (!failure) return true;
    fs::remove(link, failure);
    return false;
}

// A pair of files cannot be replaced at once. A model that is there may need the data beside it, so the data
// of the new model have another name until they are under the usual one, too.
void write_pair(const std::string& path, const ModelRecord& record) {
    const std::string data = path + ".data";
    const std::string aside = exists(path) && exists(data) ? unused_name(data) : "";
    std::error_code failure;
    if (!aside.empty()) {
        write_data(aside, record);
        try {
            write_structure(path, record, aside);
        } catch (...) {
            fs::remove(aside, failure);
            throw;
        }
    }
    if (aside.empty() || !replace_by_link(data, aside)) write_data(data, record);
    write_structure(path, record, data);
    if (!aside.empty()) fs::remove(aside, failure);
}

}  // namespace
}  // namespace to_onnx

void write_onnx(const std::string& path, const Model& model, const OnnxOptions& options) {
    auto record = to_onnx::translated(model, options.opset, std::filesystem::path(path).stem().string());
    if (to_onnx::weight_bytes(record) > options.most_inner_bytes)
        to_onnx::write_pair(path, record);
    else
        to_onnx::write_structure(path, record, {});
}

std::string onnx_bytes(const Model& model, const OnnxOptions& options) {
    TextStream stream;
    to_onnx::encode(stream, to_onnx::translated(model, options.opset, "model"));
    return std::move(stream).str();
}

}  // namespace mge
