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

// Opens a file for reading; the caller closes the descriptor, which is that of a regular file. A pipe
// (`<(…)`) is read to its end first, up to file_limit() (base/files/input_pipe.h). UserError for other files,
// and for a pipe without a writer.
MGE_API int open_input(const std::string& path);

MGE_API std::string read_text(const std::string& path);

// How the bytes of a file are used: in place, or from a copy in memory, which no other process can change.
enum class FileAccess { mapped, copied };

// A whole file mapped read-only. Keep the pointer as long as any byte is used. If another process truncates
// the file meanwhile, the missing part reads as zeros: a SIGBUS handler ensures that
// (base/files/mapped_range.h).
class MGE_API MappedFile {
public:
    // Throws UserError naming the path and the system's reason, MemoryError when that is a lack of memory.
    // With `copied`, and with MGE_MAP_FILES=0 in the environment, the file is read into memory instead.
    static std::shared_ptr<const MappedFile> open(const std::string& path,
                                                  FileAccess access = FileAccess::mapped);
    ~MappedFile();
    // The file that contains these bytes; null if there is none.
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

// Number of mapped files of this process that were found truncated so far. Makes no system call.
MGE_API int cut_files();

// Returns the whole pages within these bytes to the system: they take no memory until the next read, which
// loads them from the file. Returns false, without an effect, if the bytes do not belong to a MappedFile.
MGE_API bool release_pages(std::span<const std::byte> bytes);
MGE_API bool is_mapped(const void* data);  // a part of a MappedFile
// The whole pages within these bytes; memory is advised and counted by pages.
MGE_API std::span<std::byte> whole_pages(std::span<const std::byte> bytes);

// The permissions of a written file: according to the process's umask, or only for its owner (keys, decrypted
// content).
enum class FileReaders { anyone, owner };

// Whether a new file may replace an existing one.
enum class Replace { yes, no };

// Whether a written file survives a loss of power: waiting for the disk takes long, and a cache need not.
enum class Durable { yes, no };

// A file that is written completely or not at all. Until finish() it has no name, so that nothing remains if
// the process dies; on file systems without such files it has a random name that no link or other file has.
// finish() flushes it to the disk (with Durable::yes) and gives it its name, and the permissions of an
// existing file of that name. A symbolic link is kept, and its target is written; with Replace::no neither a
// file nor a link may exist. A device or a pipe is written directly. Throws UserError (cannot create, disk
// full, …); the old file is kept then.
class MGE_API NewFile {
public:
    explicit NewFile(const std::string& path, FileReaders readers = FileReaders::anyone,
                     Replace replace = Replace::yes);
    ~NewFile();
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    int descriptor() const { return descriptor_; }  // to write to, until finish()
    void finish(Durable durable = Durable::yes);

private:
    struct Unopened {};
    NewFile(const std::string& path, FileReaders readers, Replace replace, Unopened);
    bool open_nameless(unsigned mode);
    void open_named(unsigned mode);
    std::string link() const;  // path through which the nameless file can be reached
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
                                   FileReaders readers = FileReaders::anyone, Replace replace = Replace::yes,
                                   Durable durable = Durable::yes);

}  // namespace mge
