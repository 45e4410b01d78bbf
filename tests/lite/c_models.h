/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Models for programs in C. A folder that is new is written to; 0, or what() on standard error and -1. */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A folder of the program's own, whose name has `size` bytes at most. */
int make_folder(char* path, size_t size);
void remove_folder(const char* path);

/* "data" float32 {batch, 3, 16, 16} to "score" {batch, 10} and "pooled" {batch, 8}; the batch may be changed.
 */
int write_classifier(const char* path, int batch);
/* A packed model: the model file, and what the parser of that name is to read. */
int write_packed(const char* path, const char* model_path, const char* info_parser, const char* info);
/* "a" and "b" float32 {4} to "sum" and "difference". */
int write_sum_and_difference(const char* path);
/* The model of another file in the ONNX format. */
int write_as_onnx(const char* path, const char* model_path);

#ifdef __cplusplus
}
#endif
