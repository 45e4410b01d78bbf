// SPDX-License-Identifier: Apache-2.0
// Dumps of values, text and binary.
#include <sstream>

#include "libmge/device/default_device.h"
#include "libmge/inspect/compare.h"
#include "libmge/inspect/io_dump/io_dump.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/mutate_bytes.h"

namespace mge::fuzz {
namespace {

Tensor ramp(const Shape& shape) {
    std::vector<float> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(i) / 3;
    return tensor_from_host({DType::f32, shape, {}}, values.data());
}

std::string text_of_two_values() {
    std::ostringstream stream;
    auto sink = text_dump(stream);
    for (int id : {1, 2}) {
        DumpedValue value;
        value.self.id = id;
        value.self.name = "value" + std::to_string(id);
        value.value = ramp({2, 3});
        sink->write(value);
    }
    return stream.str();
}

// A header of little-endian words, the name, the elements.
std::string binary(uint32_t dtype, std::vector<uint32_t> extents, const std::string& name, size_t data) {
    extents.resize(7);
    std::vector<uint32_t> words{uint32_t(name.size()), dtype, 7};
    words.insert(words.end(), extents.begin(), extents.end());
    std::string file(reinterpret_cast<const char*>(words.data()), words.size() * sizeof words[0]);
    return file + name + std::string(data, '\1');
}

void use(const IoDump& dump) {
    for (auto& record : dump.records) {
        if (!record.value) continue;
        dump_head(record.value);
        compare_tensors(record.value, record.value, {});
    }
}

}  // namespace

void try_input(Bytes input) {
    InputFile file(input);
    is_io_dump(file.path());
    read_io_dump(file.path(), false);
    use(read_io_dump(file.path()));
}

std::vector<std::string> seeds() {
    std::vector<std::string> result = data_files("fuzz/io_dumps");
    result.push_back(text_of_two_values());
    result.push_back(binary(0, {2, 3},
                            "var={id:7, layout:{2(3),3(1)}, owner:h2d[6]{Host2DeviceCopy}, name:data, slot:0}"
                            " owner_opr_inputs=0={id:5, layout:{2}}",
                            24));
    result.push_back(binary(12, {5}, "mask", 5));
    result.push_back(binary(100000, {}, "x", 1));
    return result;
}

void mutate(std::string& input, Random& random) {
    if (input.starts_with("var"))
        mutate_text(input, random);
    else if (random.one_in(2))
        mutate_integer(input, random);
    else
        mutate_bytes(input, random);
}

}  // namespace mge::fuzz
