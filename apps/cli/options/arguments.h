// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <set>
#include <string>
#include <vector>

namespace mge::cli {

// The arguments behind the program name with option names spelt our way: "--fast_run" and "-fast_run=1"
// become "--fast-run" and "--fast-run=1", as MegEngine's users type them. Values, and everything behind "--",
// stay as they are.
std::vector<std::string> normalize_arguments(int argc, const char* const* argv);
std::vector<std::string> normalize_arguments(const std::vector<std::string>& arguments);

// Puts the flags of files in the place of "--flagfile FILE" (or "FILE,FILE"). A file has one flag per line,
// "--name", "--name=value" or "--name value", blank lines and comments from '#' on; it may name further flag
// files, but not one that is being read. UsageError names file and line.
std::vector<std::string> expand_flag_files(const std::vector<std::string>& arguments);

// "--nofast-run" and "--no-fast-run" become "--fast-run=false" when `flags` has "fast-run" and `options`,
// all names there are, does not have the longer one.
void rewrite_negated_flags(std::vector<std::string>& arguments, const std::set<std::string>& flags,
                           const std::set<std::string>& options);

// "--name=yes" becomes "--name=true" where `flags` has the name. UsageError for what is neither true nor
// false.
void rewrite_truths(std::vector<std::string>& arguments, const std::set<std::string>& flags);

// UsageError for an empty entry in the list of one of these options, as in "--name 50,,99".
void refuse_empty_entries(const std::vector<std::string>& arguments, const std::set<std::string>& lists);

// UsageError for "--name=", for whose value CLI11 would take the next argument.
void refuse_empty_values(const std::vector<std::string>& arguments);

// The value of the last "--name=value" or "--name value"; empty when there is none.
std::string value_of(const std::string& name, const std::vector<std::string>& arguments);

}  // namespace mge::cli
