// SPDX-License-Identifier: Apache-2.0
// A library with the interface of NCCL that moves nothing: it writes down its calls, by thread. Connecting
// and collective calls go on in the background, as NCCL's do when they do not block.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>

#include "libmge/base/api.h"

namespace {

constexpr int success = 0, in_progress = 7, remote_error = 6;

thread_local std::string calls;
std::atomic<int> next_result{success};        // that of a collective call
std::atomic<int> background_result{success};  // found by later questions
std::atomic<int> aborted{0};

struct Id {
    char bytes[128];
};
struct Config {
    size_t size;
    unsigned magic, version;
    int blocking;
};
struct Connection {
    int size, rank;
    std::atomic<int> questions{0};
    Connection* next_aborted = nullptr;
};
// Aborted connections stay in memory, because other threads may still ask about them.
std::atomic<Connection*> all_aborted{nullptr};

template <class... Args>
int note(const char* format, Args... args) {
    char line[256];
    std::snprintf(line, sizeof line, format, args...);
    calls += line;
    calls += '\n';
    return next_result.exchange(success);
}

const char* place(void* connection) {
    thread_local char text[32];
    auto* c = static_cast<Connection*>(connection);
    std::snprintf(text, sizeof text, "rank %d of %d", c->rank, c->size);
    return text;
}
long address(const void* pointer) { return long(reinterpret_cast<size_t>(pointer)); }

}  // namespace

extern "C" {

MGE_API const char* stub_take_calls() {
    thread_local std::string taken;
    taken.swap(calls);
    calls.clear();
    return taken.c_str();
}
MGE_API void stub_set_next_result(int code) { next_result = code; }
MGE_API void stub_set_background_result(int code) { background_result = code; }
MGE_API int stub_aborted() { return aborted; }

MGE_API int ncclGetUniqueId(Id* id) {
    std::strcpy(id->bytes, "the id of this test");
    return note("id");
}
MGE_API int ncclCommInitRankConfig(void** made, int size, Id id, int rank, Config* config) {
    auto* connection = new Connection{size, rank};
    *made = connection;
    note("connect rank %d of %d by '%s', magic %x, blocking %d", rank, size, id.bytes, config->magic,
         config->blocking);
    return in_progress;
}
MGE_API int ncclCommGetAsyncError(void* connection, int* code) {
    auto* c = static_cast<Connection*>(connection);
    *code = c->questions++ == 0 ? in_progress : background_result.load();
    return success;
}
MGE_API int ncclCommAbort(void* connection) {
    auto* c = static_cast<Connection*>(connection);
    c->next_aborted = all_aborted.exchange(c);
    ++aborted;
    return success;
}
MGE_API int ncclCommFinalize(void* connection) { return note("end %s", place(connection)); }
MGE_API int ncclCommDestroy(void* connection) {
    note("destroy %s", place(connection));
    delete static_cast<Connection*>(connection);
    return success;
}
MGE_API const char* ncclGetErrorString(int code) {
    return code == remote_error ? "remote error" : "bad call";
}
MGE_API int ncclGroupStart() { return note("group"); }
MGE_API int ncclGroupEnd() { return note("group end"); }
MGE_API int ncclAllReduce(const void* x, void* y, size_t n, int type, int op, void* c, void* stream) {
    return note("all_reduce %ld to %ld, %zu of type %d by %d, %s, stream %ld", address(x), address(y), n,
                type, op, place(c), address(stream));
}
MGE_API int ncclReduce(const void* x, void* y, size_t n, int type, int op, int root, void* c, void* stream) {
    return note("reduce %ld to %ld, %zu of type %d by %d, root %d, %s, stream %ld", address(x), address(y), n,
                type, op, root, place(c), address(stream));
}
MGE_API int ncclBroadcast(const void* x, void* y, size_t n, int type, int root, void* c, void* stream) {
    return note("broadcast %ld to %ld, %zu of type %d, root %d, %s, stream %ld", address(x), address(y), n,
                type, root, place(c), address(stream));
}
MGE_API int ncclAllGather(const void* x, void* y, size_t n, int type, void* c, void* stream) {
    return note("all_gather %ld to %ld, %zu of type %d, %s, stream %ld", address(x), address(y), n, type,
                place(c), address(stream));
}
MGE_API int ncclReduceScatter(const void* x, void* y, size_t n, int type, int op, void* c, void* stream) {
    return note("reduce_scatter %ld to %ld, %zu of type %d by %d, %s, stream %ld", address(x), address(y), n,
                type, op, place(c), address(stream));
}
MGE_API int ncclSend(const void* x, size_t n, int type, int peer, void* c, void* stream) {
    return note("send %ld, %zu of type %d to %d, %s, stream %ld", address(x), n, type, peer, place(c),
                address(stream));
}
MGE_API int ncclRecv(void* y, size_t n, int type, int peer, void* c, void* stream) {
    return note("receive %ld, %zu of type %d from %d, %s, stream %ld", address(y), n, type, peer, place(c),
                address(stream));
}
}
