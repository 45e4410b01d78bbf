// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace mge::cli {

// Marks an option or argument whose value is an output file. Returns it.
CLI::Option* written(CLI::Option* option);
// Adds a required argument for an output file.
void add_written_file(CLI::App& command, const std::string& name, std::string& path,
                      const std::string& description);
// Marks an option whose value is a folder, or whose missing folders the tool creates, or which is optional to
// write.
CLI::Option* written_with_folders(CLI::Option* option);

// Lets a marked option name the file of an input, an option or argument of this name: the tool has read that
// one completely when it writes. Returns the option.
CLI::Option* replaces(CLI::Option* option, const std::string& input);

// Returns true if a marked option is given.
bool names_output(std::span<const CLI::App* const> apps);

// Throws UsageError if two marked options name the same place, because the second would overwrite the first.
// Nor may one name the file of an input, which is an argument or an option of type FILE or REF, unless both
// are arguments or replaces() says so.
void refuse_same_outputs(std::span<const CLI::App* const> apps);

// Throws UsageError if a marked option names a file that cannot be created or written. Errors that the system
// cannot predict appear when writing. `report` is the value of --json; it is cleared if it is the faulty one.
void refuse_unwritable(std::span<const CLI::App* const> apps, std::string& report);

}  // namespace mge::cli
