// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>

#include "libmge/base/error.h"
#include "libmge/base/files/file.h"
#include "libmge/base/files/file_limit.h"
#include "libmge/base/number_text.h"
#include "libmge/base/read_double.h"
#include "libmge/device/device.h"
#include "libmge/inspect/io_dump/io_dump.h"
#include "libmge/inspect/io_dump/io_dump_format.h"
#include "libmge/inspect/io_dump/io_dump_origin.h"

namespace mge {
namespace {

// The start of a text dump; the marker in the name of a binary one.
constexpr std::string_view text_start = "var", produced = " produced: name=", name_start = "var={id:",
                           origin_line = " from: ", origin_mark = " from=";
constexpr size_t longest_name = 1 << 20;
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

std::string_view as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The text between two marks, the first of which is skipped; nullopt if one is missing.
std::optional<std::string_view> between(std::string_view text, std::string_view from, std::string_view to) {
    size_t start = text.find(from);
    if (start == std::string_view::npos) return std::nullopt;
    start += from.size();
    size_t end = text.find(to, start);
    if (end == std::string_view::npos) return std::nullopt;
    return text.substr(start, end - start);
}

std::optional<int> whole_number(std::string_view text) {
    int value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end == text.data()) return std::nullopt;
    return value;
}

double real_number(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    if (text.starts_with("-nan") || text.starts_with("nan") || text.starts_with("N/A")) return unknown;
    double value = unknown;
    read_double(text.data(), text.data() + text.size(), value);
    return value;
}

// "{4(24),24(1) Float32}" or "{2}": sizes, then the dtype if there is one.
bool read_layout(std::string_view layout, DumpRecord& record) {
    size_t space = layout.find(' ');
    if (space != std::string_view::npos) record.dtype = layout.substr(space + 1);
    std::string_view dims = layout.substr(0, space);
    record.shape = {};
    while (!dims.empty()) {
        size_t comma = dims.find(',');
        auto extent = whole_number(dims.substr(0, comma));
        if (!extent || *extent < 0 || record.shape.rank() == max_rank) return false;
        record.shape.push_back(*extent);
        dims = comma == std::string_view::npos ? std::string_view() : dims.substr(comma + 1);
    }
    return true;
}

// "matmul(x,w)[10]{MatrixMul}": name and type. Names may contain braces, so the last pair counts.
void read_owner(std::string_view owner, DumpRecord& record) {
    size_t open = owner.rfind('{');
    record.owner_name = owner.substr(0, open);
    if (open != std::string_view::npos && owner.ends_with('}'))
        record.owner_type = owner.substr(open + 1, owner.size() - open - 2);
}

class TextReader {
public:
    TextReader(std::string_view text, const std::string& path)
        : text_(text), path_(path), budget_(path, text.size()) {}

    std::vector<DumpRecord> read() {
        while (!text_.empty()) {
            std::string_view line = next_line();
            if (line.starts_with(text_start) && line.find(produced) != std::string_view::npos)
                start_record(line);
            else if (line.starts_with("  [i"))
                read_dependency(line);
            else if (line.starts_with(" val: "))
                read_value(line.substr(6));
            else if (line.starts_with(origin_line))
                read_origin(line.substr(origin_line.size()));
        }
        if (records_.empty()) fail("it holds no values");
        return std::move(records_);
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw ModelError(text("'", path_, "', line ", line_, ": not a readable io dump: ", what));
    }

    std::string_view next_line() {
        ++line_;
        size_t end = text_.find('\n');
        std::string_view line = text_.substr(0, end);
        text_ = end == std::string_view::npos ? std::string_view() : text_.substr(end + 1);
        return line;
    }

    void start_record(std::string_view line) {
        DumpRecord record;
        auto id = whole_number(line.substr(text_start.size()));
        size_t layout = line.rfind(" layout={"), owner = line.rfind(" owner_opr="), opr = line.rfind(" opr");
        size_t name = line.find(produced) + produced.size();
        if (!id || layout == std::string_view::npos || owner == std::string_view::npos || layout < name ||
            owner < layout || opr < owner)
            fail("a value's first line is damaged");
        record.id = *id;
        record.name = line.substr(name, layout - name);
        size_t open = layout + 9, close = line.find('}', open);
        if (close == std::string_view::npos || !read_layout(line.substr(open, close - open), record))
            fail("a layout is damaged");
        size_t start = owner + 11;
        read_owner(line.substr(start, opr > start ? opr - start : std::string_view::npos), record);
        budget_.take(sizeof record + record.name.size() + record.owner_name.size() +
                     record.owner_type.size());
        records_.push_back(std::move(record));
    }

    void read_dependency(std::string_view line) {
        auto id = between(line, "]var", ":");
        auto number = id ? whole_number(*id) : std::nullopt;
        if (!number || records_.empty()) fail("a dependency is damaged");
        records_.back().inputs.push_back(*number);
    }

    void read_origin(std::string_view line) {
        auto origin = parse_origin(line, budget_);
        if (!origin || records_.empty()) fail("where a value comes from is damaged");
        records_.back().origin = std::move(*origin);
    }

    // "[0.5, 1, ...]min=0 max=1 mean=0.5 l2=0.7 sd=0.1 s"
    void read_value(std::string_view value) {
        if (records_.empty()) fail("a value comes before its name");
        auto& record = records_.back();
        size_t close = value.find(']');
        if (!value.starts_with('[') || close == std::string_view::npos) return;  // "<invalid>"
        std::string_view head = value.substr(1, close - 1), figures = value.substr(close + 1);
        while (!head.empty()) {
            size_t comma = head.find(',');
            std::string_view element = head.substr(0, comma);
            budget_.take(2 * sizeof(double));
            if (element.find("...") == std::string_view::npos) record.head.push_back(real_number(element));
            head = comma == std::string_view::npos ? std::string_view() : head.substr(comma + 1);
        }
        auto figure = [&](std::string_view mark) {
            size_t at = figures.find(mark);
            return at == std::string_view::npos ? unknown : real_number(figures.substr(at + mark.size()));
        };
        record.has_figures = figures.find("min=") != std::string_view::npos;
        record.min = figure("min=");
        record.max = figure("max=");
        record.mean = figure("mean=");
        record.rms = figure("l2=");
        record.deviation = figure("sd=");
    }

    std::string_view text_;
    const std::string& path_;
    FileBudget budget_;
    size_t line_ = 0;
    std::vector<DumpRecord> records_;
};

// "var={id:7, layout:{…}, …, owner:h2d[6]{Host2DeviceCopy}, name:data, slot:0, …} owner_opr_inputs=0={id:…}"
void read_binary_name(std::string_view name, DumpRecord& record) {
    size_t inputs = name.find(" owner_opr_inputs=");
    std::string_view self = name.substr(0, inputs);
    record.name = self;
    if (!self.starts_with(name_start)) return;
    if (auto id = whole_number(self.substr(name_start.size()))) record.id = *id;
    size_t slot = self.rfind(", slot:"), at = self.rfind(", name:", slot), owner = self.find(", owner:");
    if (slot == std::string_view::npos || at == std::string_view::npos || owner == std::string_view::npos ||
        at < owner)
        return;
    record.name = self.substr(at + 7, slot - at - 7);
    read_owner(self.substr(owner + 8, at - owner - 8), record);
    if (inputs == std::string_view::npos) return;
    for (size_t next = name.find("{id:", inputs); next != std::string_view::npos;
         next = name.find("{id:", next + 1))
        if (auto id = whole_number(name.substr(next + 4))) record.inputs.push_back(*id);
}

uint32_t word(std::span<const std::byte> bytes, size_t index) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value |= uint32_t(std::to_integer<uint8_t>(bytes[4 * index + i])) << 8 * i;
    return value;
}

bool is_binary_record(std::span<const std::byte> bytes) {
    return bytes.size() >= dump_header_bytes && word(bytes, 2) == dump_rank &&
           word(bytes, 0) <= longest_name && dump_dtype(word(bytes, 1)) &&
           bytes.size() - dump_header_bytes >= word(bytes, 0);
}
bool is_text_dump(std::string_view content) {
    std::string_view line = content.substr(0, content.find('\n'));
    return line.starts_with(text_start) && line.find(produced) != std::string_view::npos;
}

DumpRecord parse_binary(std::span<const std::byte> bytes, const std::string& path, bool with_value) {
    auto fail = [&](const std::string& what) {
        throw ModelError(text("'", path, "' is not a readable tensor dump: ", what));
    };
    if (bytes.size() < dump_header_bytes) fail("its header is cut off");
    if (word(bytes, 2) != dump_rank)
        fail("it does not start like one; load_and_run --bin-io-dump writes such files, --io-dump texts");
    auto dtype = dump_dtype(word(bytes, 1));
    if (!dtype) fail(text("dtype number ", word(bytes, 1), " is not supported"));
    size_t name_bytes = word(bytes, 0);
    if (name_bytes > longest_name || bytes.size() - dump_header_bytes < name_bytes)
        fail("its name is cut off");
    DumpRecord record;
    std::string_view name = as_text(bytes.subspan(dump_header_bytes, name_bytes));
    read_binary_name(name, record);
    // MegEngine's names have no such suffix: blanks follow their last mark.
    if (size_t at = name.rfind(origin_mark);
        at != std::string_view::npos && name.find(' ', at + 1) == std::string_view::npos) {
        FileBudget budget(path, bytes.size());
        auto origin = parse_origin(name.substr(at + origin_mark.size()), budget);
        if (!origin) fail("where its value comes from is damaged");
        record.origin = std::move(*origin);
    }
    record.dtype = dtype->name;
    int rank = int(dump_rank);
    while (rank > 0 && word(bytes, size_t(2 + rank)) == 0) --rank;
    for (int i = 0; i < rank; ++i) record.shape.push_back(int64_t(word(bytes, size_t(3 + i))));
    auto data = bytes.subspan(dump_header_bytes + name_bytes);
    // Zeros at the end of a shape are ambiguous with unused places; the name resolves that.
    if (data.empty()) {
        DumpRecord named;
        auto layout = between(as_text(bytes.subspan(dump_header_bytes, name_bytes)), "layout:{", "}");
        if (layout && read_layout(*layout, named) && std::ranges::count(named.shape.dims(), 0))
            record.shape = named.shape;
    }
    size_t expected = 0;
    try {
        expected = size_t(checked_numel("io dump", record.shape)) * size_of(dtype->stored);
    } catch (const UserError& e) {
        fail(e.what());
    }
    if (data.size() != expected)
        fail(text("shape ", record.shape, " needs ", counted(expected, "byte"), ", there are ", data.size()));
    if (with_value)
        record.value = tensor_from_host({dtype->stored, record.shape, {}}, data.data(), host_device);
    return record;
}

}  // namespace

const DumpRecord* IoDump::find(const std::string& name) const {
    auto it = std::find_if(records.rbegin(), records.rend(), [&](auto& r) { return r.name == name; });
    return it == records.rend() ? nullptr : &*it;
}

bool is_io_dump(const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return true;
    auto file = MappedFile::open(path);
    return is_text_dump(as_text(file->bytes()).substr(0, longest_name)) || is_binary_record(file->bytes());
}

DumpRecord read_binary_record(const std::string& path, bool with_value) {
    DumpRecord record = parse_binary(MappedFile::open(path)->bytes(), path, with_value);
    record.file = std::filesystem::path(path).filename().string();
    record.path = path;
    return record;
}

IoDump read_io_dump(const std::string& path, bool with_values) {
    std::error_code error;
    IoDump dump;
    if (!std::filesystem::is_directory(path, error)) {
        auto file = MappedFile::open(path);
        dump.is_text = is_text_dump(as_text(file->bytes()).substr(0, longest_name));
        if (dump.is_text)
            dump.records = TextReader(as_text(file->bytes()), path).read();
        else
            dump.records.push_back(read_binary_record(path, with_values));
        return dump;
    }
    std::vector<std::string> files;
    for (auto& entry : std::filesystem::directory_iterator(path, error))
        if (entry.is_regular_file()) files.push_back(entry.path().string());
    if (error) throw UserError(text("cannot read folder '", path, "': ", error.message()));
    std::sort(files.begin(), files.end());
    if (files.empty()) throw ModelError(text("'", path, "' is not an io dump: the folder is empty"));
    for (auto& file : files) dump.records.push_back(read_binary_record(file, with_values));
    return dump;
}

}  // namespace mge
