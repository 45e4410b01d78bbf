// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where tools take keys from. Never from the command line, which every user of the machine can read.

#include <memory>
#include <string>

#include "libmge/model/crypt/key.h"
#include "libmge/model/open.h"

namespace CLI {
class App;
}

namespace mge::cli {

struct KeyOptions {
    std::string file, env;
    int fd = -1;
    std::string prefix;  // of the flags: "new-" for --new-key-file
    struct Kept;
    std::shared_ptr<Kept> kept;  // shared by copies

    bool are_given() const { return !file.empty() || !env.empty() || fd >= 0; }
};

// Defines --key-file, --key-env and --key-fd, of which one may be given. `prefix` makes others of the same
// kind: "new-" → --new-key-file; `what` says whose key it is.
void add_key_options(CLI::App& command, KeyOptions& options, const std::string& what,
                     const std::string& prefix = {});

// Reads the key when it is asked for; without options it asks at the terminal, or leaves a cipher of
// MegEngine's its default key. What can be read only once (a variable, which is removed from the environment,
// a descriptor, the terminal) is kept in `options` until they go; a key file is read each time and not kept.
// CryptoError when the key has the wrong length or there is none, UserError when it cannot be read.
KeyProvider key_provider(const KeyOptions& options);

// What opening a model may need.
struct ModelKeys {
    KeyOptions key;
    std::string cipher;  // of a model in one of MegEngine's encrypted formats
};

// Defines the key flags and --cipher, all with `prefix`, unless the command has them. `what` is theirs.
void add_model_keys(CLI::App& command, ModelKeys& keys, const std::string& prefix = {},
                    const std::string& what = "an encrypted model");
// With a key on the command line a plain model is refused. `otherwise`: the key to try when none was given;
// then a plain one is as good.
OpenOptions open_options(const ModelKeys& keys, const KeyOptions* otherwise = nullptr);

}  // namespace mge::cli
