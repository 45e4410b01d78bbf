// SPDX-License-Identifier: Apache-2.0
// Values for a model's inputs as text: MegEngine's JSON, literals, shapes, random numbers.
#include "apps/cli/options/named_values.h"
#include "apps/load_and_run/inputs/input_json.h"
#include "apps/load_and_run/inputs/input_text.h"
#include "libmge/base/error.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/mutate_bytes.h"

namespace mge::fuzz {

void try_input(Bytes input) {
    std::string text = text_of(input);
    // The same distinction as in make_tests().
    if (text.starts_with("#rand")) {
        load_and_run::parse_random(text);
    } else if (text.starts_with("{\"")) {
        InputFile file(input);
        load_and_run::read_json_inputs(file.path());
    } else if (text.starts_with("{")) {
        load_and_run::parse_braced_shape(text);
    } else {
        for (auto& [name, value] : cli::split_named_values(text, {})) load_and_run::parse_literal(value);
    }
}

std::vector<std::string> seeds() {
    std::vector<std::string> result = data_files("fuzz/input_values");
    for (auto* text :
         {R"({"x": {"shape": [2, 2], "type": "float32", "raw": [[1, 2], [3.5, -4e1]]}})",
          R"({"x": {"shape": [], "type": "int8", "raw": 1}, "y": {"shape": [0], "type": "bool", "raw": []}})",
          "[[1,2],[3,4]]", "1,2,3", "a:1.5;b:[1,2]", "{1,3,224,224}", "#rand(0,1)", "#rand(-1,1,2,3,...)"})
        result.emplace_back(text);
    return result;
}

void mutate(std::string& input, Random& random) { mutate_text(input, random); }

}  // namespace mge::fuzz
