// SPDX-License-Identifier: Apache-2.0
// Pictures as inputs of models: PNG, JPEG, PPM and PGM.
#include "apps/cli/files/image_file.h"
#include "libmge/base/error.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/mutate_bytes.h"

namespace mge::fuzz {

void try_input(Bytes input) {
    for (auto channels : {cli::Channels::as_stored, cli::Channels::grey, cli::Channels::color}) {
        Tensor image = cli::decode_image(input, "input", channels);
        MGE_CHECK(image.shape().rank() == 4 && image.shape()[0] == 1, image.shape());
        cli::swap_red_and_blue(image);
    }
}

std::vector<std::string> seeds() {
    std::vector<std::string> result = data_files("fuzz/images");
    result.push_back("P5\n3 2\n255\nabcdef");
    result.push_back("P6\n# comment\n1 2\n255\nabcdef");
    result.push_back("P6 2 1 65535\n123456789abc");
    return result;
}

void mutate(std::string& input, Random& random) {
    if (input.starts_with("P") && random.one_in(2))
        mutate_text(input, random);
    else
        mutate_bytes(input, random);
}

}  // namespace mge::fuzz
