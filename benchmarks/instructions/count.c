// SPDX-License-Identifier: Apache-2.0
// A plugin of qemu-user that counts instructions of the emulated program. It appends a line to the file COUNT_FILE for each call of
// getppid(), with the instructions since the previous one, and a line for the whole program at its end. Build: README.md.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// Debian does not package qemu-plugin.h; these are the parts of its interface, version 1, that are used here.
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
typedef void (*Translated)(qemu_plugin_id_t, struct qemu_plugin_tb*);
typedef void (*Called)(qemu_plugin_id_t, unsigned, int64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
typedef void (*Ended)(qemu_plugin_id_t, void*);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, Translated);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t, Called);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, Ended, void*);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb*);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb*, enum qemu_plugin_op, void*, uint64_t);

int qemu_plugin_version = 1;

enum { getppid_on_arm64 = 173 };
static uint64_t count, previous;

static void print(const char* what, uint64_t value) {
    FILE* file = fopen(getenv("COUNT_FILE"), "a");
    fprintf(file, "%s %llu\n", what, (unsigned long long)value);
    fclose(file);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb* block) {
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(block, QEMU_PLUGIN_INLINE_ADD_U64, &count, qemu_plugin_tb_n_insns(block));
}

static void called(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                   uint64_t f, uint64_t g, uint64_t h) {
    (void)id, (void)cpu, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
    if (number != getppid_on_arm64) return;
    print("since", count - previous);
    previous = count;
}

static void ended(qemu_plugin_id_t id, void* data) {
    (void)id, (void)data;
    print("all", count);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void* info, int argc, char** argv) {
    (void)info, (void)argc, (void)argv;
    if (!getenv("COUNT_FILE")) return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_vcpu_syscall_cb(id, called);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
