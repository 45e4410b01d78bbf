/* SPDX-License-Identifier: Apache-2.0 */
/* The likeliest class of an image of one colour, in C.
 *
 *     classify_c MODEL [GREY]
 */
#include <lite-c/global_c.h>
#include <lite-c/network_c.h>
#include <stdio.h>
#include <stdlib.h>

static int failed(const char* what) {
    fprintf(stderr, "%s: %s\n", what, LITE_get_last_error());
    return 1;
}

static int fill(LiteTensor input, float value) {
    LiteLayout layout;
    void* memory = NULL;
    size_t bytes = 0, i;
    if (LITE_get_tensor_layout(input, &layout) || LITE_get_tensor_memory(input, &memory) ||
        LITE_get_tensor_total_size_in_byte(input, &bytes))
        return failed("the input");
    if (layout.data_type != LITE_FLOAT) {
        fprintf(stderr, "the model does not take float32\n");
        return 1;
    }
    for (i = 0; i < bytes / sizeof(float); ++i) ((float*)memory)[i] = value;
    return 0;
}

static int show(LiteTensor output) {
    void* memory = NULL;
    size_t bytes = 0, best = 0, i;
    if (LITE_get_tensor_memory(output, &memory) || LITE_get_tensor_total_size_in_byte(output, &bytes))
        return failed("the output");
    for (i = 1; i < bytes / sizeof(float); ++i)
        if (((float*)memory)[i] > ((float*)memory)[best]) best = i;
    printf("class %zu: %g\n", best, (double)((float*)memory)[best]);
    return 0;
}

static int run(LiteNetwork network, const char* path, float value) {
    const char *input_name = NULL, *output_name = NULL;
    LiteTensor input = NULL, output = NULL;
    if (LITE_load_model_from_path(network, path)) return failed("loading");
    if (LITE_get_input_name(network, 0, &input_name) ||
        LITE_get_io_tensor(network, input_name, LITE_INPUT, &input))
        return failed("the input");
    if (fill(input, value)) return 1;
    if (LITE_forward(network) || LITE_wait(network)) return failed("running");
    if (LITE_get_output_name(network, 0, &output_name) ||
        LITE_get_io_tensor(network, output_name, LITE_OUTPUT, &output))
        return failed("the output");
    return show(output);
}

int main(int argc, char** argv) {
    LiteNetwork network = NULL;
    int code;
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: classify_c MODEL [GREY]\n");
        return 2;
    }
    if (LITE_make_default_network(&network)) return failed("the network");
    code = run(network, argv[1], argc > 2 ? (float)atof(argv[2]) : 0.5F);
    if (LITE_destroy_network(network) && !code) return failed("the network");
    return code;
}
