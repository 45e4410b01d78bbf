// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/options/cache_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>

#include "libmge/base/files/file.h"
#include "libmge/base/files/lock_wait.h"
#include "libmge/model/crypt/encrypted_file.h"

namespace mge::cli {
namespace {

namespace fs = std::filesystem;

// Excludes other writers in the same folder. The file itself cannot be locked, because writing replaces it.
class FolderLock {
public:
    // Throws UserError if another process holds the lock for longer than the limit.
    FolderLock(const fs::path& file, std::chrono::seconds limit) {
        fs::path folder = file.has_parent_path() ? file.parent_path() : ".";
        fd_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        std::string what = text("the folder of fast-run cache '", file.string(), "'");
        LockWait wait(what, limit);
        // If folders cannot be locked, the last writer wins. A missing folder is reported by the write.
        while (fd_ >= 0 && ::flock(fd_, LOCK_EX | LOCK_NB) != 0 && (errno == EINTR || errno == EWOULDBLOCK))
            if (!wait.wait_a_moment()) {
                ::close(fd_);
                throw UserError(text(what, ": another process still holds its lock after ", wait.limit_text(),
                                     " of waiting"));
            }
    }
    ~FolderLock() {
        if (fd_ >= 0) ::close(fd_);
    }
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

private:
    int fd_ = -1;
};

bool exists(const fs::path& path) {
    std::error_code unknown;  // opening reports it better
    return fs::exists(path, unknown) || unknown;
}

class EncryptedCacheFile final : public CacheStorage {
public:
    EncryptedCacheFile(std::string path, FileCipher cipher, std::chrono::seconds lock_limit)
        : path_(std::move(path)), cipher_(std::move(cipher)), lock_limit_(lock_limit) {}

    SecretBytes read() const { return exists(path_) ? decrypt_to_memory(path_, cipher_) : SecretBytes(); }

    void update(const std::function<std::vector<std::byte>(Bytes present)>& change) override {
        FolderLock lock(path_, lock_limit_);
        auto content = change(read());
        SecretBytes sealed = encrypt_in_memory(content, path_, cipher_);
        wipe(content);
        write_file_atomically(path_, [&](std::ostream& stream) { stream << text_of(sealed); });
    }

private:
    std::string path_;
    FileCipher cipher_;
    std::chrono::seconds lock_limit_;
};

std::unique_ptr<FastrunCache> open_encrypted(const std::string& path, const KeyOptions& key, CacheUse use) {
    FileCipher cipher{container_cipher, key_provider(key)};
    auto storage = std::make_unique<EncryptedCacheFile>(
        path, cipher, std::chrono::seconds(use == CacheUse::tolerant ? 5 : 30));
    if (use == CacheUse::read || use == CacheUse::look_up)
        return FastrunCache::from_bytes(storage->read(), path);
    if (!exists(path)) {
        // Reports a bad key before anything is measured.
        encrypt_in_memory({}, path, cipher);
        std::error_code ignored;  // writing reports it better
        if (fs::path(path).has_parent_path()) fs::create_directories(fs::path(path).parent_path(), ignored);
    }
    SecretBytes present = storage->read();
    return FastrunCache::from_storage(present, path, std::move(storage), use == CacheUse::tolerant);
}

}  // namespace

std::unique_ptr<FastrunCache> open_cache(const std::string& path, const KeyOptions& key, CacheUse use,
                                         bool has_to_be_encrypted, CacheName name) {
    if (!exists(path) && use == CacheUse::read)
        throw UserError(
            text("fast-run cache '", path, "' does not exist; mge-fastrun-cache build makes one"));
    std::error_code unknown;
    bool is_encrypted = fs::is_regular_file(path, unknown) && is_encrypted_file(path);
    if (is_encrypted || has_to_be_encrypted) return open_encrypted(path, key, use);
    switch (use) {
        case CacheUse::read:
            return FastrunCache::open_read_only(path);
        case CacheUse::write:
            return FastrunCache::open(path);
        case CacheUse::tolerant:
            return FastrunCache::open_tolerant(path, Durability::process, name);
        case CacheUse::look_up:
            break;
    }
    return FastrunCache::open_to_look_up(path, name);
}

}  // namespace mge::cli
