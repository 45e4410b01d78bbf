// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>

#include "libmge/base/api.h"

namespace mge {

// A whole file mapped read-only. Keep the pointer as long as any byte is used.
class MGE_API MappedFile {
public:
    // Throws UserError naming the path and the system's reason, MemoryError when that is a lack of memory.
    static std::shared_ptr<const MappedFile> open(const std::string& path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    std::span<const std::byte> bytes() const { return bytes_; }
    const std::string& path() const { return path_; }

private:
    explicit MappedFile(std::string path) : path_(std::move(path)) {}
    std::string path_;
    std::span<const std::byte> bytes_;
};

// Gives the pages that lie wholly in these bytes back to the system: they take no memory until they are read
// again, which brings them back from the file. False when the bytes are no part of a MappedFile; nothing
// happens then.
MGE_API bool release_pages(std::span<const std::byte> bytes);
MGE_API bool is_mapped(const void* data);  // a part of a MappedFile
// Those pages; memory is advised about and counted in whole ones.
MGE_API std::span<std::byte> whole_pages(std::span<const std::byte> bytes);

// Who may read a file that is written: whom the process's umask allows, or its owner alone (keys, decrypted
// content).
enum class FileReaders { anyone, owner };

// Writes a file whole or not at all: `write` fills a new file in the folder of `path`, which is flushed and
// takes its name, and the permissions of a file that has it, only when everything succeeded; a symbolic link
// stays, what it leads to is written. Throws UserError (cannot create, disk full, …); the old file
// then still stands. A process that dies leaves nothing, where the file system has files without a name.
MGE_API void write_file_atomically(const std::string& path, const std::function<void(std::ostream&)>& write,
                                   FileReaders readers = FileReaders::anyone);

}  // namespace mge
