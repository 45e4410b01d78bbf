// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <ostream>

#include "libmge/base/error.h"
#include "libmge/base/files/file.h"
#include "libmge/base/number_text.h"
#include "libmge/inspect/elements.h"
#include "libmge/inspect/io_dump/io_dump.h"
#include "libmge/inspect/io_dump/io_dump_format.h"
#include "libmge/inspect/io_dump/io_dump_origin.h"
#include "libmge/op/apply.h"

namespace mge {
namespace {

constexpr int64_t shown_elements = 5;

template <class... Args>
std::string format(const char* form, Args... args) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, form, args...);
    return buffer;
}

// "{4(24),24(1) Float32}": each size with its stride.
std::string layout_text(const TensorSpec& spec) {
    Shape shape = spec.shape.rank() ? spec.shape : Shape{1};
    std::string dims;
    int64_t stride = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        dims = text(shape[axis], '(', stride, ')', dims.empty() ? "" : ",", dims);
        stride *= shape[axis];
    }
    return text('{', dims, ' ', dump_name(spec.dtype), '}');
}

// Dumps are ASCII: other bytes of a name are written as \xNN.
std::string ascii(std::string_view name) {
    std::string result;
    for (char c : name) {
        auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f)
            result += c;
        else
            result += format("\\x%02x", unsigned(byte));
    }
    return result;
}

std::string owner_text(const DumpedName& v) {
    return text(ascii(v.owner_name.empty() ? v.owner_type : v.owner_name), '{', v.owner_type, '}');
}

// Whether shape and value can be inferred, in MegEngine's numbers: 1 not at all, 2 constant, 4 from the
// inputs.
std::string info_text(const DumpedName& v) {
    int shape = v.is_constant ? 2 : v.is_static ? 4 : 1, value = v.is_constant ? 2 : v.is_input ? 4 : 1;
    std::string place = v.spec.shape.is_known() ? text("layout:", layout_text(v.spec)) : "shape:{}";
    return text("{id:", v.id, ", ", place, ", ", dump_name(v.spec.dtype), ", owner:", owner_text(v),
                ", name:", ascii(v.name), ", slot:", v.slot, ", CompNode(\"cpu0:0\" from \"cpu0:0\"), ",
                v.is_static ? 's' : 'd', ", ", shape, ", ", value, '}');
}

std::string inputs_text(const DumpedValue& v) {
    std::string result;
    for (size_t i = 0; i < v.inputs.size(); ++i) {
        if (i) result += ' ';
        if (v.inputs.size() > 1) result += text(i, '=');
        result += info_text(v.inputs[i].value);
    }
    return result;
}

class TextDump final : public IoDumpSink {
public:
    explicit TextDump(std::ostream& stream) : stream_(stream) {}

    void write(const DumpedValue& v) override {
        auto letter = [](const DumpedName& name) { return name.is_static ? 's' : 'd'; };
        // Through text(): the stream may write numbers as some language does.
        stream_ << text("var", v.self.id, " produced: name=", ascii(v.self.name),
                        " layout=", layout_text(v.value.spec()), " owner_opr=", owner_text(v.self), " opr",
                        v.self.owner_id, "\n deps:\n");
        for (size_t i = 0; i < v.inputs.size(); ++i)
            stream_ << text("  [i", i, "]var", v.inputs[i].value.id, ": ", v.inputs[i].head, ' ',
                            letter(v.inputs[i].value), '\n');
        stream_ << " val: " << dump_head(v.value) << figures(v.value) << ' ' << letter(v.self) << '\n';
        if (std::string origin = origin_text(v.origin); !origin.empty())
            stream_ << " from: " << origin << '\n';
        stream_.flush();
    }

private:
    static std::string figures(const Tensor& value) {
        TensorFigures f = figures_of(value);
        if (f.count == 0) return "";
        // MegEngine's figures know no exceptions: one element that is not finite spoils them.
        if (f.not_a_number || f.infinite) {
            double bad = f.not_a_number ? NAN : INFINITY;
            f.mean = f.rms = f.deviation = bad;
        }
        auto shown = [](double value) { return decimal_text(value, 3); };
        return text("min=", shown(f.min), " max=", shown(f.max), " mean=", shown(f.mean),
                    " l2=", shown(f.rms), " sd=", f.count < 2 ? "N/A" : shown(f.deviation));
    }

    std::ostream& stream_;
};

void put(std::ostream& stream, uint32_t number) {
    const char bytes[] = {char(number), char(number >> 8), char(number >> 16), char(number >> 24)};
    stream.write(bytes, 4);
}

class BinaryDump final : public IoDumpSink {
public:
    BinaryDump(std::string folder, std::function<std::string(const DumpedValue&)> file_name)
        : folder_(std::move(folder)), file_name_(std::move(file_name)) {}

    void write(const DumpedValue& v) override {
        std::string file = file_name_ ? file_name_(v) : format("%06x", unsigned(v.self.id));
        Tensor value = v.value;
        if (DType written = written_dtype(value.dtype()); written != value.dtype())
            value = convert_dtype(value, written);
        std::string name = text("var=", info_text(v.self), " owner_opr_inputs=", inputs_text(v));
        if (std::string origin = origin_text(v.origin); !origin.empty()) name += " from=" + origin;
        write_file_atomically(folder_ + "/" + file, [&](std::ostream& stream) {
            put(stream, uint32_t(name.size()));
            put(stream, dump_number(value.dtype()));
            put(stream, dump_rank);
            // Zero ends the shape, so a scalar is one element.
            Shape shape = value.shape().rank() ? value.shape() : Shape{1};
            for (int i = 0; i < int(dump_rank); ++i) put(stream, i < shape.rank() ? uint32_t(shape[i]) : 0);
            stream.write(name.data(), std::streamsize(name.size()));
            stream.write(static_cast<const char*>(value.data()), std::streamsize(value.spec().bytes()));
        });
    }

private:
    std::string folder_;
    std::function<std::string(const DumpedValue&)> file_name_;
};

}  // namespace

std::string dump_head(const Tensor& plain) {
    std::string result = "[";
    int64_t n = plain.spec().numel();
    for (int64_t i = 0; i < std::min(n, shown_elements); ++i)
        result += (i ? ", " : "") + decimal_text(element_at(plain, i), 4);
    return result + (n > shown_elements ? ", ...]" : "]");
}

std::unique_ptr<IoDumpSink> text_dump(std::ostream& stream) { return std::make_unique<TextDump>(stream); }

std::unique_ptr<IoDumpSink> binary_dump(std::string folder,
                                        std::function<std::string(const DumpedValue&)> file_name) {
    return std::make_unique<BinaryDump>(std::move(folder), std::move(file_name));
}

}  // namespace mge
