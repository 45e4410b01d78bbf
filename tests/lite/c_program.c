/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lite/c_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lite-c/global_c.h"
#include "tests/lite/c_models.h"

static char folder[256];

void open_folder(void) { works(make_folder(folder, sizeof folder), "a folder"); }
void close_folder(void) { remove_folder(folder); }

void check(int holds, const char* what) {
    if (holds) return;
    fprintf(stderr, "not so: %s (last error: %s)\n", what, LITE_get_last_error());
    exit(1);
}

void works(int code, const char* what) { check(code == 0, what); }

void fails(int code, const char* reason) {
    check(code == -1, reason);
    check(LITE_get_last_error_code() == LITE_INTERNAL_ERROR, "the code of a failure");
    if (!strstr(LITE_get_last_error(), reason)) check(0, reason);
}

const char* in_folder(const char* name) {
    static char paths[16][400];
    static int next = 0;
    char* path = paths[next++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

long size_of_file(const char* path) {
    FILE* file = fopen(path, "rb");
    if (!file) return -1;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    fclose(file);
    return size;
}

uint8_t* read_file(const char* path, size_t* size) {
    *size = (size_t)size_of_file(path);
    uint8_t* bytes = malloc(*size);
    FILE* file = fopen(path, "rb");
    check(file && bytes && fread(bytes, 1, *size, file) == *size, path);
    fclose(file);
    return bytes;
}

void write_file(const char* path, const uint8_t* bytes, size_t size) {
    FILE* file = fopen(path, "wb");
    check(file && fwrite(bytes, 1, size, file) == size, path);
    fclose(file);
}

float* floats_of(LiteTensor tensor) {
    void* data = NULL;
    works(LITE_get_tensor_memory(tensor, &data), "LITE_get_tensor_memory");
    return data;
}

LiteTensor counting(size_t rows, size_t columns) {
    LiteTensorDesc description = default_desc;
    description.layout.ndim = 2;
    description.layout.shapes[0] = rows;
    description.layout.shapes[1] = columns;
    LiteTensor tensor = NULL;
    works(LITE_make_tensor(description, &tensor), "LITE_make_tensor");
    for (size_t i = 0; i < rows * columns; ++i) floats_of(tensor)[i] = (float)i;
    return tensor;
}

LiteNetwork load(const char* path) {
    LiteNetwork network = NULL;
    works(LITE_make_default_network(&network), "LITE_make_default_network");
    works(LITE_load_model_from_path(network, path), "LITE_load_model_from_path");
    return network;
}

LiteTensor tensor_of(LiteNetwork network, const char* name) {
    LiteTensor tensor = NULL;
    works(LITE_get_io_tensor(network, name, LITE_IO, &tensor), "LITE_get_io_tensor");
    return tensor;
}
