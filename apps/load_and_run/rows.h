// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rows of a sweep in the formats of --format.

#include <ostream>
#include <string>
#include <vector>

#include "apps/cli/tool.h"

namespace mge::load_and_run {

// A field of every row. Rows are JSON objects that hold all fields; a figure that was not measured is null.
struct RowField {
    const char *name, *sql_type;
    const char* heading;  // in tables for people; null: not there
    int decimals = 0;     // printed there, for numbers
};
const std::vector<RowField>& row_fields();

// Writes what precedes the first row: the heading of csv, the statement that creates the table of sql.
void write_heading(std::ostream& stream, const std::string& format);
// Writes a row as csv, jsonl or sql.
void write_row(std::ostream& stream, const std::string& format, const cli::Json& row);

// Returns the rows as cells under headings. Fields that are equal in all rows and are no figure are left out
// if `shortens`.
std::vector<std::vector<std::string>> table_of(const std::vector<cli::Json>& rows, bool shortens);
void write_markdown(std::ostream& stream, const std::vector<std::vector<std::string>>& cells);

}  // namespace mge::load_and_run
