// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>

#include "apps/crypt/commands.h"

namespace mge::crypt {
namespace {

cli::Manual manual() {
    return {
        .description = "Encrypts and decrypts models, caches and any other file.",
        .footer =
            "Short form: mge-crypt --aes IN OUT --key-file FILE encrypts with aes-256-gcm.\n"
            "Keys come from a file, an environment variable, a file descriptor or the terminal; never from "
            "the command line.",
        .examples = {{"mge-crypt keygen key", "A new key, readable only by its owner"},
                     {"mge-crypt encrypt model.mge secret.mge --key-file key", "With aes-256-gcm"},
                     {"mge-crypt info secret.mge --key-file key", "The cipher, and whether the key fits"},
                     {"load_and_run secret.mge --key-file key", "Runs it; no plain content reaches a disk"},
                     {"mge-crypt decrypt secret.mge plain.mge --key-file key", "The model as it was"}},
        .files = {},
    };
}

constexpr void (*commands[])(cli::App&) = {add_encrypt, add_decrypt, add_info, add_rekey, add_keygen};

// Expands "--aes IN OUT" to "encrypt IN OUT", with AES unless another cipher is named.
void expand_short_form(std::vector<std::string>& arguments) {
    auto end = std::ranges::find(arguments, "--");
    auto found = std::find(arguments.begin(), end, "--aes");
    if (found == end) return;
    arguments.erase(found);
    arguments.insert(arguments.begin(), "encrypt");
}

int run(cli::Invocation& invocation) {
    expand_short_form(invocation.arguments);
    cli::App app(invocation, manual());
    for (auto add : commands) add(app);
    // For help and completion only: expand_short_form() has replaced it.
    bool is_short = false;
    app.root().add_flag("--aes", is_short, "Short for: encrypt")->group("Short form");
    return app.run();
}

}  // namespace
}  // namespace mge::crypt

int main(int argc, char** argv) { return mge::cli::run_tool("mge-crypt", argc, argv, mge::crypt::run); }
