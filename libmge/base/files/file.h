// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>

#include "libmge/base/api.h"
#include "libmge/base/error.h"

namespace mge {

// The system refused: with its errno.
class MGE_API FileError : public UserError {
public:
    FileError(const std::string& message, int system_code) : UserError(message), system_code_(system_code) {}
    int system_code() const { return system_code_; }

private:
    int system_code_;
};

// Opens a file to read it; the caller closes the descriptor, which is that of a regular file. A pipe (`<(…)`)
// is read to its end first, as far as file_limit() allows (base/files/input_pipe.h). UserError for anything
// else, and for a pipe that nobody writes to.
MGE_API int open_input(const std::string& path);

MGE_API std::string read_text(const std::string& path);

// A whole file mapped read-only. Keep the pointer as long as any byte is used. Where another process cuts the
// file meanwhile, what is lost reads as zeros: a handler of SIGBUS sees to that (base/files/mapped_range.h).
class MGE_API MappedFile {
public:
    // Throws UserError naming the path and the system's reason, MemoryError when that is a lack of memory.
    static std::shared_ptr<const MappedFile> open(const std::string& path);
    ~MappedFile();
    // The file that these bytes lie in; null: none.
    static const MappedFile* of(const void* data);
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    std::span<const std::byte> bytes() const { return bytes_; }
    const std::string& path() const { return path_; }
    // Some of its bytes were read after they were lost. Makes no call of the system.
    bool is_cut() const;
    // ModelError when the file is shorter than when it was mapped. Warns when it was written to since.
    void require_whole() const;

private:
    struct Identity;
    explicit MappedFile(std::string path);
    std::string path_;
    std::span<const std::byte> bytes_;
    std::unique_ptr<const Identity> identity_;
    struct MappedRange* range_ = nullptr;
};

// How many mapped files of this process were found cut so far. Makes no call of the system.
MGE_API int cut_files();

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

// What a new file may replace.
enum class Replace { yes, no };

// A file that is written whole or not at all. Until finish() it has no name, so that nothing is left of it
// when the process dies; where the file system has no such files it has a name that nobody can guess, which
// is taken by no link and no other file. finish() flushes it to the disk and gives it its name, and the
// permissions of a file that has it. A symbolic link stays, what it leads to is written; with Replace::no
// neither a file nor a link may be there. A device or a pipe is written to as it is.
// Throws UserError (cannot create, disk full, …); the old file then still stands.
class MGE_API NewFile {
public:
    explicit NewFile(const std::string& path, FileReaders readers = FileReaders::anyone,
                     Replace replace = Replace::yes);
    ~NewFile();
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    int descriptor() const { return descriptor_; }  // to write to, until finish()
    void finish();

private:
    struct Unopened {};
    NewFile(const std::string& path, FileReaders readers, Replace replace, Unopened);
    bool open_nameless(unsigned mode);
    void open_named(unsigned mode);
    std::string link() const;  // where the nameless file can be reached
    void keep_mode();
    void give_new_name();
    void give_name();

    std::string path_, target_, temporary_;
    FileReaders readers_;
    Replace replace_;
    int descriptor_ = -1;
    bool is_named_ = false, is_special_ = false;
};

// A NewFile that `write` fills.
MGE_API void write_file_atomically(const std::string& path, const std::function<void(std::ostream&)>& write,
                                   FileReaders readers = FileReaders::anyone, Replace replace = Replace::yes);

}  // namespace mge
