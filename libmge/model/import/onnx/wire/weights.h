// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors in a file, or in external files.

#include <map>
#include <optional>
#include <string>

#include "libmge/base/files/file.h"
#include "libmge/model/import/onnx/wire/record.h"

namespace mge::onnx {

// Nullopt: this program has no equivalent. The number is a TensorProto::DataType.
std::optional<DType> dtype_of(int data_type);
// "FLOAT8E4M3FN", or the number of one that is newer than the schema.
std::string name_of_data_type(int data_type);

// The files with a model's weights, each opened once. After links are resolved, they must be plain files in
// the folder of the user's path to the model, or in that of its target.
class ExternalFiles {
public:
    // The user's path to the model.
    explicit ExternalFiles(std::string model, FileAccess access = FileAccess::mapped)
        : model_(std::move(model)), access_(access) {}
    // The bytes that the tensor names. UserError when they are not all there.
    Bytes find(const file::TensorProto& tensor, size_t size);

private:
    const MappedFile& open(const std::string& location);

    std::string model_;
    FileAccess access_;
    std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

// `raw` replaces the tensor's raw_data if it was parsed separately. Throws Unsupported or UserError.
Tensor tensor_of(const file::TensorProto& tensor, Bytes raw, ExternalFiles& files);
Tensor tensor_of(const file::TensorProto& tensor, ExternalFiles& files);

}  // namespace mge::onnx
