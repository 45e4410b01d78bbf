// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "apps/cli/output/table.h"
#include "libmge/base/joined.h"

namespace mge::load_and_run {
namespace {

using cli::Json;

constexpr auto integer = "INTEGER", real = "REAL", words = "TEXT";

// Text of a value without quotes; empty for null.
std::string plain(const Json& value) {
    if (value.is_null()) return {};
    return value.is_string() ? value.get<std::string>()
                             : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string with_doubled(const std::string& given, char quote) {
    std::string result(1, quote);
    for (char c : given) result.append(c == quote ? 2 : 1, c);
    return result + quote;
}

// RFC 4180.
std::string csv_cell(const Json& value) {
    std::string cell = plain(value);
    return cell.find_first_of(",\"\r\n") == cell.npos ? cell : with_doubled(cell, '"');
}

std::string sql_value(const Json& value) {
    if (value.is_null()) return "NULL";
    return value.is_string() ? with_doubled(plain(value), '\'') : plain(value);
}

bool is_figure(const RowField& field) { return field.sql_type == std::string_view(real); }

std::string table_cell(const Json& value, const RowField& field) {
    bool is_rounded = value.is_number() && is_figure(field);
    return is_rounded ? cli::format_number(value.get<double>(), field.decimals) : plain(value);
}

bool is_shown(const RowField& field, const std::vector<Json>& rows, bool shortens) {
    if (!field.heading) return false;
    bool has_any = std::ranges::any_of(rows, [&](auto& row) { return !plain(row.at(field.name)).empty(); });
    if (!has_any) return false;
    if (!shortens || is_figure(field) || rows.size() == 1) return true;
    return std::ranges::any_of(rows, [&](auto& row) { return row.at(field.name) != rows[0].at(field.name); });
}

// A bar would end the cell.
std::string markdown_cell(const std::string& cell) {
    std::string result;
    for (char c : cell) result += c == '|' ? std::string("\\|") : std::string(1, c);
    return result;
}

}  // namespace

const std::vector<RowField>& row_fields() {
    static const std::vector<RowField> fields{
        {"date", words, nullptr},
        {"version", words, nullptr},
        {"build_commit", words, "commit"},
        {"cpu", words, "cpu"},
        {"isa", words, "isa"},
        {"cpus", integer, nullptr},
        {"device", words, "device"},
        {"model", words, "model"},
        {"test", words, "test"},
        {"batch", integer, "batch"},
        {"threads", integer, "threads"},
        {"streams", integer, "streams"},
        {"precision", words, "precision"},
        {"runs", integer, nullptr},
        {"load_ms", real, nullptr, 3},
        {"compile_ms", real, nullptr, 3},
        {"first_run_ms", real, nullptr, 3},
        {"min_ms", real, "min ms", 4},
        {"mean_ms", real, nullptr, 4},
        {"p50_ms", real, "p50 ms", 4},
        {"p90_ms", real, nullptr, 4},
        {"p99_ms", real, "p99 ms", 4},
        {"max_ms", real, nullptr, 4},
        {"throughput_per_s", real, "samples/s", 1},
        {"joules_per_run", real, "J/run", 4},
        {"memory_bytes", integer, nullptr},
        {"error", words, "error"},
    };
    return fields;
}

void write_heading(std::ostream& stream, const std::string& format) {
    auto name = [](auto& field) { return std::string(field.name); };
    if (format == "csv") stream << joined(row_fields(), ",", name) << '\n';
    if (format != "sql") return;
    auto column = [](auto& field) { return text("  \"", field.name, "\" ", field.sql_type); };
    stream << "CREATE TABLE IF NOT EXISTS load_and_run (\n"
           << joined(row_fields(), ",\n", column) << "\n);\n";
}

void write_row(std::ostream& stream, const std::string& format, const Json& row) {
    if (format == "jsonl")
        stream << row.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
    else if (format == "csv")
        stream << joined(row_fields(), ",", [&](auto& field) { return csv_cell(row.at(field.name)); })
               << '\n';
    else if (format == "sql")
        stream << "INSERT INTO load_and_run VALUES ("
               << joined(row_fields(), ", ", [&](auto& field) { return sql_value(row.at(field.name)); })
               << ");\n";
}

std::vector<std::vector<std::string>> table_of(const std::vector<Json>& rows, bool shortens) {
    std::vector<std::vector<std::string>> cells(rows.size() + 1);
    for (auto& field : row_fields()) {
        if (!is_shown(field, rows, shortens)) continue;
        cells[0].emplace_back(field.heading);
        for (size_t i = 0; i < rows.size(); ++i)
            cells[i + 1].push_back(table_cell(rows[i].at(field.name), field));
    }
    return cells;
}

void write_markdown(std::ostream& stream, const std::vector<std::vector<std::string>>& cells) {
    for (auto& row : cells) {
        stream << "| " << joined(row, " | ", markdown_cell) << " |\n";
        if (&row == cells.data()) {
            for (size_t i = 0; i < row.size(); ++i) stream << "|---";
            stream << "|\n";
        }
    }
}

}  // namespace mge::load_and_run
