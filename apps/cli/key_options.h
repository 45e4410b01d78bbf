// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where tools take keys from. Never from the command line, which every user of the machine can read.

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

    bool are_given() const { return !file.empty() || !env.empty() || fd >= 0; }
};

// Defines --key-file, --key-env and --key-fd, of which one may be given. `prefix` makes others of the same
// kind: "new-" → --new-key-file; `what` says whose key it is.
void add_key_options(CLI::App& command, KeyOptions& options, const std::string& what,
                     const std::string& prefix = {});

// Reads the key when it is first asked for, once; without options it asks at the terminal, or leaves a cipher
// of MegEngine's its default key. The key is forgotten with the last copy of the provider. A variable is
// removed from the environment once it was read. CryptoError when the key has the wrong length or there is
// none, UserError when it cannot be read.
KeyProvider key_provider(const KeyOptions& options);

// What opening a model may need.
struct ModelKeys {
    KeyOptions key;
    std::string cipher;  // of a model in one of MegEngine's encrypted formats
};

// Defines the key flags and --cipher, unless the command has them.
void add_model_keys(CLI::App& command, ModelKeys& keys);
// With a key on the command line a plain model is refused.
OpenOptions open_options(const ModelKeys& keys);

}  // namespace mge::cli
