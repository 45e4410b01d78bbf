// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace mge::cli {

// Marks an option or argument whose value is a file that the tool writes. Returns it.
CLI::Option* written(CLI::Option* option);
// Adds such an argument, which has to be given.
void add_written_file(CLI::App& command, const std::string& name, std::string& path,
                      const std::string& description);
// The same mark where the value is a folder, or the tool makes the folders on the way, or can do without it.
CLI::Option* written_with_folders(CLI::Option* option);

// UsageError when two that are marked and were given name the same place: only the later would be there in
// the end. --json may not name a positional argument either, which is what the tool works on.
void refuse_same_outputs(std::span<const CLI::App* const> apps);

// UsageError when one that is marked and was given names a file where none can be: there is no such folder,
// or nothing can be written into it. What the system does not tell, writing will. `report` is what --json
// says; when that is the one, it is emptied before.
void refuse_unwritable(std::span<const CLI::App* const> apps, std::string& report);

}  // namespace mge::cli
