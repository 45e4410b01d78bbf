// SPDX-License-Identifier: Apache-2.0
#pragma once
// The structures of DLPack, the protocol by which array libraries exchange memory: version 1, and the older
// unversioned form. Field names and order are those of the protocol.

#include <cstdint>

namespace mge::python::dlpack {

enum DeviceType : int32_t { cpu = 1, cuda = 2, cuda_host = 3 };
enum TypeCode : uint8_t { signed_int = 0, unsigned_int = 1, floating = 2, brain_float = 4, truth = 6 };
enum Flag : uint64_t { read_only = 1, is_copied = 2 };

struct Device {
    int32_t type, index;
};
struct DataType {
    uint8_t code, bits;
    uint16_t lanes;
};
struct View {
    void* data;
    Device device;
    int32_t rank;
    DataType dtype;
    int64_t *shape, *strides;  // in elements; null: dense, row-major
    uint64_t byte_offset;
};

struct Managed {
    static constexpr const char* name = "dltensor";
    static constexpr const char* used_name = "used_dltensor";
    View view;
    void* context;
    void (*deleter)(Managed*);
};
struct ManagedVersioned {
    static constexpr const char* name = "dltensor_versioned";
    static constexpr const char* used_name = "used_dltensor_versioned";
    static constexpr uint32_t major_version = 1;
    uint32_t major, minor;
    void* context;
    void (*deleter)(ManagedVersioned*);
    uint64_t flags;
    View view;
};

}  // namespace mge::python::dlpack
