// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/options/key_options.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "apps/cli/options/numbers.h"
#include "apps/cli/options/one_of.h"
#include "apps/cli/secret_prompt.h"
#include "libmge/base/log.h"
#include "libmge/model/crypt/cipher.h"
#include "libmge/model/crypt/crypto_error.h"

namespace mge::cli {
namespace {

struct KeySource {
    SecretBytes content;
    std::string where;  // empty: not read yet
};

KeySource read_key_file(const std::string& path) {
    int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) throw UserError(text("cannot open the key file '", path, "': ", std::strerror(errno)));
    struct Close {
        int fd;
        ~Close() { ::close(fd); }
    } closing{fd};
    struct stat info {};
    if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & (S_IRGRP | S_IROTH)))
        log_warning(text("other users can read the key file '", path, "'; chmod 600 it"));
    std::string where = text("'", path, "'");
    return {read_secret(fd, where), where};
}

// Removes the variable: others may read the environment (/proc/PID/environ), and children inherit it.
KeySource take_variable(const std::string& name, const std::string& prefix) {
    char* value = std::getenv(name.c_str());
    if (!value) throw UserError(text("--", prefix, "key-env: there is no environment variable '", name, "'"));
    KeySource source{SecretBytes(bytes_of(value)), text("the environment variable '", name, "'")};
    wipe(std::as_writable_bytes(std::span(value, std::strlen(value))));
    ::unsetenv(name.c_str());
    return source;
}

KeySource read_source(const KeyOptions& options, const KeyRequest& request) {
    if (!options.file.empty()) return read_key_file(options.file);
    if (!options.env.empty()) return take_variable(options.env, options.prefix);
    if (options.fd >= 0) {
        std::string where = text("file descriptor ", options.fd);
        return {read_secret(options.fd, where), where};
    }
    std::string id = request.key_id.empty() ? "" : text(" (key id ", request.key_id, ')');
    auto typed = prompt_for_secret(text("Key for '", request.file, "'", id, ", hexadecimal: "));
    // The key id is known for an existing file, but not for one that is about to be written.
    std::string missing =
        request.key_id.empty()
            ? text("no key was given for ", request.cipher, ", to read or write '", request.file, "'")
            : text("'", request.file, "' needs a key for ", request.cipher, id);
    if (!typed)
        throw CryptoError(text(missing, "; give it with --", options.prefix, "key-file, --", options.prefix,
                               "key-env or --", options.prefix, "key-fd"));
    return {std::move(*typed), "the typed text"};
}

}  // namespace

struct KeyOptions::Kept {
    std::mutex mutex;
    KeySource source;
};

void add_key_options(CLI::App& command, KeyOptions& options, const std::string& what,
                     const std::string& prefix) {
    MGE_CHECK(what.starts_with("the "), "'", what, "' is within a sentence");
    options.prefix = prefix;
    options.kept = std::make_shared<KeyOptions::Kept>();
    auto name = [&](const char* end) { return "--" + prefix + "key-" + end; };
    auto* file =
        command.add_option(name("file"), options.file, "Take " + what + " from a file")->type_name("FILE");
    auto* env =
        command.add_option(name("env"), options.env, "Take " + what + " from an environment variable")
            ->type_name("NAME");
    auto* fd = command.add_option(name("fd"), options.fd, "Read " + what + " from an open file descriptor")
                   ->type_name("FD")
                   ->check(whole_number(0, 1'000'000));
    for (auto* option : {file, env, fd}) option->group("Keys");
    file->excludes(env)->excludes(fd);
    env->excludes(fd);
}

void add_model_keys(CLI::App& command, ModelKeys& keys, const std::string& prefix, const std::string& what) {
    if (command.get_option_no_throw("--" + prefix + "key-file")) return;
    add_key_options(command, keys.key, "the key of " + what, prefix);
    command
        .add_option("--" + prefix + "cipher", keys.cipher,
                    "The cipher of " + what + " in a MegEngine format, which does not record it")
        ->type_name("NAME")
        ->check(cli::one_of(cipher_names()))
        ->group("Keys");
}

OpenOptions open_options(const ModelKeys& keys, const KeyOptions* otherwise) {
    bool is_given = keys.key.are_given();
    bool takes_other = !is_given && otherwise && otherwise->are_given();
    auto& key = takes_other ? *otherwise : keys.key;
    return {.key = key_provider(key), .cipher = keys.cipher, .allow_plain = !is_given};
}

KeyProvider key_provider(const KeyOptions& options) {
    return [options](const KeyRequest& request) {
        auto cipher = find_cipher(request.cipher);
        if (!options.are_given() && cipher->default_key) return SecretBytes();
        if (!options.file.empty() || !options.kept) {
            KeySource source = read_source(options, request);
            return parse_key(source.content, cipher->key_bytes, source.where);
        }
        std::lock_guard lock(options.kept->mutex);
        auto& source = options.kept->source;
        if (source.where.empty()) source = read_source(options, request);
        return parse_key(source.content, cipher->key_bytes, source.where);
    };
}

}  // namespace mge::cli
