// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <set>
#include <string>
#include <vector>

namespace mge::cli {

// Returns the arguments after the program name with option names in our spelling: MegEngine's "--fast_run"
// and "-fast_run=1" become "--fast-run" and "--fast-run=1". Values, and everything after "--", are unchanged.
std::vector<std::string> normalize_arguments(int argc, const char* const* argv);
std::vector<std::string> normalize_arguments(const std::vector<std::string>& arguments);

// Replaces "--flagfile FILE" (or "FILE,FILE") by the flags in the files. A file has one flag per line,
// "--name", "--name=value" or "--name value", with blank lines and comments starting at '#'. Files may
// include others, except one that is being read. Throws UsageError with file and line.
std::vector<std::string> expand_flag_files(const std::vector<std::string>& arguments);

// Rewrites "--nofast-run" and "--no-fast-run" to "--fast-run=false" if `flags` contains "fast-run" and
// `options`, the names of all options, does not contain the longer name.
void rewrite_negated_flags(std::vector<std::string>& arguments, const std::set<std::string>& flags,
                           const std::set<std::string>& options);

// Rewrites "--name=yes" to "--name=true" if `flags` contains the name. Throws UsageError for a value that is
// neither true nor false.
void rewrite_truths(std::vector<std::string>& arguments, const std::set<std::string>& flags);

// Throws UsageError for an empty entry in the value of one of these options, as in "--name 50,,99".
void refuse_empty_entries(const std::vector<std::string>& arguments, const std::set<std::string>& lists);

// Throws UsageError for "--name=": CLI11 would take the next argument as its value.
void refuse_empty_values(const std::vector<std::string>& arguments);

// Returns the value of the last "--name=value" or "--name value", or an empty string.
std::string value_of(const std::string& name, const std::vector<std::string>& arguments);

}  // namespace mge::cli
