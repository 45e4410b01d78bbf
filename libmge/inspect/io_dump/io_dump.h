// SPDX-License-Identifier: Apache-2.0
#pragma once
// Dumps of the values between operators, in MegEngine's formats: one readable text file, or a folder with one
// binary file per value. Both can be read back, including MegEngine's own dumps.
//
// Text, per value:
//     var11 produced: name=y layout={4(24),24(1) Float32} owner_opr=matmul{matmul} opr10
//      deps:
//       [i0]var7: [-0.2812, -0.9688, ...] s
//      val: [0.188, -0.4158, ...]min=-0.733 max=0.818 mean=-0.0501 l2=0.302 sd=0.3 s
//     from: 3:0,4:0;3/conv2d/1/5f00aa/conv1;4/relu/1/77/
// (l2 is the root of the mean square; s: planned ahead, d: found while running. MegEngine's have no last
// line, which says where the value comes from: io_dump_origin.h.) Binary: u32 length of the name, u32 dtype,
// u32 7, u32 shape[7], the name, the elements. The file is called by the value's number, six hexadecimal
// digits. Its name ends with " from=" and where the value comes from.

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "libmge/graph/graph.h"
#include "libmge/tensor/tensor.h"

namespace mge {

// Identity of a value.
struct DumpedName {
    int id = -1;
    std::string name;
    int owner_id = -1, slot = 0;
    std::string owner_name, owner_type;
    bool is_static = true, is_constant = false, is_input = false;
    TensorSpec spec;
};

struct DumpedDependency {
    DumpedName value;
    std::string head;  // its first elements when the operator read it: "[1, 2, ...]"
};

// The origin of a value in the source network, before any passes; empty in dumps of MegEngine, and for values
// that are not results of an operator.
struct DumpedOrigin {
    std::vector<ValueOrigin> values;    // which values of the source graph it is
    std::vector<SourceNode> operators;  // the source operators computed in it
};

// A value that was just produced.
struct DumpedValue {
    DumpedName self;
    std::vector<DumpedDependency> inputs;  // inputs of the operator that made it
    Tensor value;                          // plain
    DumpedOrigin origin;
};

class MGE_API IoDumpSink {
public:
    virtual ~IoDumpSink() = default;
    virtual void write(const DumpedValue& value) = 0;
};

// The stream has to live as long as the sink.
MGE_API std::unique_ptr<IoDumpSink> text_dump(std::ostream& stream);
// `folder` has to exist; UserError when a file cannot be written. `file_name` gives the name of each file;
// empty: the number of the value.
MGE_API std::unique_ptr<IoDumpSink> binary_dump(
    std::string folder, std::function<std::string(const DumpedValue&)> file_name = {});

// "[1, 2, 0.3333, ...]": the first elements as a dump shows them.
MGE_API std::string dump_head(const Tensor& plain);

// One value of a dump.
struct DumpRecord {
    std::string file;  // binary dumps: the file's name in its folder
    std::string path;  // path of that file
    int id = -1;       // −1: absent
    std::string name, owner_name, owner_type;
    std::vector<int> inputs;  // numbers of the values that its operator read
    DumpedOrigin origin;
    Shape shape;
    std::string dtype;  // as MegEngine writes it: "Float32"

    Tensor value;  // binary dumps: all elements. 16-bit and truth values keep their type, quantised ones
                   // are their integers.

    // Text dumps: their information about the elements. A figure is NaN if absent ("N/A", "nan").
    std::vector<double> head;
    double min = 0, max = 0, mean = 0, rms = 0, deviation = 0;
    bool has_figures = false;
};

struct IoDump {
    bool is_text = false;
    std::vector<DumpRecord> records;  // in the order of the text; binary: by file name
    // The last record of that name; null if there is none.
    MGE_API const DumpRecord* find(const std::string& name) const;
};

// True if the content of `path` is an io dump.
MGE_API bool is_io_dump(const std::string& path);
// A text dump, a folder of binary files or one such file. Without `with_values` only the metadata of the
// values is read; read_binary_record reads them one by one. ModelError that names the file and its fault;
// UserError if it cannot be read.
MGE_API IoDump read_io_dump(const std::string& path, bool with_values = true);
// One file of a binary dump.
MGE_API DumpRecord read_binary_record(const std::string& path, bool with_value = true);

}  // namespace mge
