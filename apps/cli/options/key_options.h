// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sources of keys. Never the command line, which every user of the machine can read.

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
    std::string prefix;  // prefix of the flags: "new-" for --new-key-file
    struct Kept;
    std::shared_ptr<Kept> kept;  // shared between copies

    bool are_given() const { return !file.empty() || !env.empty() || fd >= 0; }
};

// Defines --key-file, --key-env and --key-fd, which exclude each other. With the prefix "new-" they are
// --new-key-file etc. `what` describes the key in help texts.
void add_key_options(CLI::App& command, KeyOptions& options, const std::string& what,
                     const std::string& prefix = {});

// Returns a provider that reads the key on demand. Without options it prompts at the terminal, or uses the
// default key of a MegEngine cipher. A key that can be read only once (a variable, which is removed from the
// environment, a descriptor, the terminal) is kept for the lifetime of `options`. A key file is read each
// time. The provider throws CryptoError for a missing key or one of wrong length, UserError if it cannot be
// read.
KeyProvider key_provider(const KeyOptions& options);

// Options for opening a model.
struct ModelKeys {
    KeyOptions key;
    std::string cipher;  // for MegEngine's encrypted formats
};

// Defines the key flags and --cipher, all with `prefix`, unless the command has them already. `what`
// describes the encrypted object.
void add_model_keys(CLI::App& command, ModelKeys& keys, const std::string& prefix = {},
                    const std::string& what = "an encrypted model");
// If a key is given, plain models are refused. If not, `otherwise` is tried, and plain models are accepted.
OpenOptions open_options(const ModelKeys& keys, const KeyOptions* otherwise = nullptr);

}  // namespace mge::cli
