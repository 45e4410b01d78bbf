// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/megengine/fastrun_cache.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "libmge/base/files/file_limit.h"
#include "libmge/base/number_text.h"
#include "libmge/model/crypt/hex.h"

namespace mge::megengine {
namespace {

class Reader {
public:
    Reader(std::string_view bytes, std::string label) : bytes_(bytes), label_(std::move(label)) {}

    uint32_t number() {
        uint32_t value = 0;
        std::memcpy(&value, take(sizeof value, "a number").data(), sizeof value);
        return value;
    }
    std::string_view block(const char* what) { return take(number(), what); }
    std::string_view take(size_t count, const char* what) {
        size_t left = bytes_.size() - at_;
        if (count > left)
            fail(text(what, " of ", counted(count, "byte"), " extends beyond the end; ", left, " are left"));
        std::string_view part = bytes_.substr(at_, count);
        at_ += count;
        return part;
    }
    bool is_at_end() const { return at_ == bytes_.size(); }
    [[noreturn]] void fail(const std::string& what) const {
        throw ModelError(
            text("'", label_, "' is not a cache of MegEngine, or is damaged at byte ", at_, ' ', what));
    }

private:
    std::string_view bytes_;
    std::string label_;
    size_t at_ = 0;
};

// "profile:plat=cpu:ConvBiasForward…": the platform, and the rest.
std::pair<std::string, std::string> split_category(std::string_view name) {
    std::string_view prefix = "profile:";
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    size_t colon = name.find(':');
    if (colon == name.npos) return {"", std::string(name)};
    return {std::string(name.substr(0, colon)), std::string(name.substr(colon + 1))};
}

// Each layout ends with '|'; the bytes after the last one are the parameters.
std::string problem_of(const std::string& op, std::string_view key) {
    size_t bar = key.rfind('|');
    std::string_view layouts = bar == key.npos ? "" : key.substr(0, bar);
    std::string_view params = bar == key.npos ? key : key.substr(bar + 1);
    return text(op, "(", hex_of(std::as_bytes(std::span(params))), ") ", layouts);
}

void read_figures(Reader& reader, Measurement& m) {
    std::string line(reader.block("the text of a result"));
    uint64_t attribute = 0, workspace = 0;
    double seconds = 0;
    if (std::sscanf(line.c_str(), ":%" SCNu64 ";%lf;%" SCNu64 ":", &attribute, &seconds, &workspace) != 3 ||
        !std::isfinite(seconds) || seconds < 0 || workspace > uint64_t(INT64_MAX))
        reader.fail(text("'", line.c_str(), "' is not a result (attribute, seconds, workspace)"));
    m.milliseconds = seconds * 1000;
    m.workspace = workspace;
    m.attributes.reproducible = attribute & 1;
    m.attributes.naive = attribute & 2;
}

std::string algorithm_name(std::string_view blob, const std::string& label) {
    Reader reader(blob, label);
    reader.number();
    reader.number();
    uint32_t params = reader.number(), name = reader.number();
    reader.take(params, "the parameters of an algorithm");
    return std::string(reader.take(name, "the name of an algorithm"));
}

void read_results(std::string_view value, CacheRow row, const std::string& label, FileBudget& budget,
                  std::vector<CacheRow>& rows) {
    Reader reader(value, label);
    for (uint32_t left = reader.number(); left > 0; --left) {
        budget.take(sizeof row + row.problem.size() + row.machine.size());  // a key may occur in many rows
        row.measured = {};
        row.measured.name = algorithm_name(reader.block("an algorithm"), label);
        read_figures(reader, row.measured);
        rows.push_back(row);
    }
    if (!reader.is_at_end()) reader.fail("there are bytes after the results");
}

}  // namespace

std::vector<CacheRow> parse_fastrun_cache(std::span<const std::byte> bytes, const std::string& label) {
    Reader reader({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, label);
    FileBudget budget(label, bytes.size());
    std::vector<CacheRow> rows;
    for (uint32_t categories = reader.number(); categories > 0; --categories) {
        auto [platform, op] = split_category(reader.block("the name of a category"));
        for (uint32_t entries = reader.number(); entries > 0; --entries) {
            CacheRow row{text("MegEngine | ", platform), {}, {}, 0};
            row.problem = problem_of(op, reader.block("a key"));
            read_results(reader.block("a value"), row, label, budget, rows);
        }
    }
    if (!reader.is_at_end()) reader.fail("there are bytes after the last category");
    return rows;
}

}  // namespace mge::megengine
