/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Common part of the test programs in C. Each ends with a message at the first failure. */
#include <stddef.h>
#include <stdint.h>

#include "lite-c/network_c.h"

/* A folder of the program's own; a file's path in it, which stays until 16 others were asked for. */
void open_folder(void);
void close_folder(void);
const char* in_folder(const char* name);

void check(int holds, const char* what);
void works(int code, const char* what);
/* The call failed, and the message of the last error has this in it. */
void fails(int code, const char* reason);

long size_of_file(const char* path); /* -1: there is none */
uint8_t* read_file(const char* path, size_t* size);
void write_file(const char* path, const uint8_t* bytes, size_t size);

float* floats_of(LiteTensor tensor);
/* float32 {rows, columns} with 0, 1, 2, ... */
LiteTensor counting(size_t rows, size_t columns);
LiteNetwork load(const char* path);
LiteTensor tensor_of(LiteNetwork network, const char* name);
