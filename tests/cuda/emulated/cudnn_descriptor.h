// SPDX-License-Identifier: Apache-2.0
#pragma once
// A descriptor of the emulated cuDNN: attributes by name, as in cuDNN's documentation. It refuses the same
// calls as cuDNN, so that a wrong call is detected without a GPU.

#include <cudnn_graph.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mge::cuda::emulated {

struct Descriptor;

struct Attribute {
    cudnnBackendAttributeType_t type;
    int64_t count = 0;
    std::vector<char> bytes;                          // contents of plain values
    std::vector<std::shared_ptr<Descriptor>> others;  // copies of other descriptors at the time they were set
};

struct Descriptor {
    cudnnBackendDescriptorType_t type;
    bool is_final = false;
    std::map<cudnnBackendAttributeName_t, Attribute> attributes;

    bool has(cudnnBackendAttributeName_t name) const { return attributes.contains(name); }
    // For existing attributes.
    template <class T>
    const T* values(cudnnBackendAttributeName_t name) const {
        return reinterpret_cast<const T*>(attributes.at(name).bytes.data());
    }
    template <class T>
    T value(cudnnBackendAttributeName_t name) const {
        return *values<T>(name);
    }
    int64_t count(cudnnBackendAttributeName_t name) const { return attributes.at(name).count; }
    const Descriptor& other(cudnnBackendAttributeName_t name, size_t i = 0) const {
        return *attributes.at(name).others.at(i);
    }
    const std::vector<std::shared_ptr<Descriptor>>& others(cudnnBackendAttributeName_t name) const {
        return attributes.at(name).others;
    }

    // Empty, or what is wrong with it.
    std::string set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                    const void* values);
    template <class T>
    void give(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t attribute_type,
              const std::vector<T>& values) {
        auto* bytes = reinterpret_cast<const char*>(values.data());
        attributes[name] = {
            attribute_type, int64_t(values.size()), {bytes, bytes + values.size() * sizeof(T)}, {}};
    }
    // Whether all that has to be set is set, and agrees.
    std::string why_not_final() const;
};

}  // namespace mge::cuda::emulated
