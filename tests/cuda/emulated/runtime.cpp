// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda/emulated/library_work.h"
#include "tests/cuda/emulated/memory.h"
#include "tests/cuda/emulated/several.h"
#include "tests/cuda/emulated/streams.h"

namespace mge::cuda::emulated {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t region_bytes = size_t(8) << 30, page = size_t(2) << 20;
constexpr int device_count = 2;

// Reserved addresses that must not be accessed. In huge pages, if the system has them: opening and closing
// costs by the page.
char* reserve_region() {
    void* raw =
        ::mmap(nullptr, region_bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    auto* base = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(raw) + page - 1) / page * page);
    ::madvise(base, region_bytes, MADV_HUGEPAGE);
    return base;
}

// An allocation.
struct Taken {
    size_t bytes = 0;
    int device = 0;
    int file = -1;  // file of the memory since another process may share it
    bool is_of_others = false;
};

// The addresses of all devices: closed, but for whoever holds an OpenMemory.
struct Memory {
    std::mutex mutex;
    char* const base = reserve_region();
    std::map<size_t, Taken> taken;  // by where
    size_t limit = region_bytes, used = 0, highest = 0;
    int open = 0;
    std::map<const void*, size_t> page_locked;
};

Memory& memory() {
    static Memory& one = *std::make_unique<Memory>().release();
    return one;
}

std::atomic<cudaError_t> lost{cudaSuccess}, planned{cudaSuccess}, last{cudaSuccess};
std::atomic<size_t> graphs{0};
std::atomic<bool> breaks_capture{false}, has_peers{true}, hides_libraries{false};
std::atomic<size_t> peer_copies{0};
std::set<std::pair<int, int>> open_peers;  // readers, and owners of the memory
std::mutex of_peers;
// Captures of the calling thread, which must not allocate or wait meanwhile.
thread_local int captures = 0;
thread_local int current_device = 0;

cudaError_t note(cudaError_t error) {
    if (error != cudaSuccess) last = error;
    return error;
}

bool is_lasting(cudaError_t error) { return error >= cudaErrorContained; }

// The first gap that is large enough.
void* find_gap(Memory& m, size_t bytes) {
    size_t at = 0;
    for (auto& [begin, taken] : m.taken) {
        if (begin - at >= bytes) break;
        at = begin + taken.bytes;
    }
    if (at + bytes > region_bytes || m.used + bytes > m.limit) return nullptr;
    m.taken[at] = {bytes, current_device};
    m.used += bytes;
    m.highest = std::max(m.highest, at + bytes);
    return m.base + at;
}

void protect(Memory& m, int protection) {
    if (m.highest) ::mprotect(m.base, m.highest, protection);
}

int protection(const Memory& m) { return m.open ? PROT_READ | PROT_WRITE : PROT_NONE; }

// Puts a file in the place of what was taken there.
bool map_file(Memory& m, size_t at, Taken& taken, int file) {
    void* mapped =
        ::mmap(m.base + at, taken.bytes, protection(m), MAP_SHARED | MAP_FIXED, taken.file = file, 0);
    return mapped != MAP_FAILED;
}

void give_back(Memory& m, std::map<size_t, Taken>::iterator found) {
    auto& [at, taken] = *found;
    if (taken.file < 0) {
        ::madvise(m.base + at, taken.bytes, MADV_DONTNEED);
    } else {
        ::close(taken.file);
        ::mmap(m.base + at, taken.bytes, protection(m),
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    }
    m.used -= taken.bytes;
    m.taken.erase(found);
}

std::map<size_t, Taken>::iterator taken_around(Memory& m, const void* address) {
    auto* at = static_cast<const char*>(address);
    if (at < m.base || at >= m.base + region_bytes) return m.taken.end();
    auto after = m.taken.upper_bound(size_t(at - m.base));
    return after == m.taken.begin() ? m.taken.end() : std::prev(after);
}

int device_at(const void* address) {
    auto& m = memory();
    std::lock_guard lock(m.mutex);
    auto found = taken_around(m, address);
    return found == m.taken.end() ? -1 : found->second.device;
}

cudaMemoryType memory_type(const void* address) {
    auto& m = memory();
    std::lock_guard lock(m.mutex);
    auto* at = static_cast<const char*>(address);
    if (at >= m.base && at < m.base + region_bytes) return cudaMemoryTypeDevice;
    auto after = m.page_locked.upper_bound(address);
    bool is_locked = after != m.page_locked.begin() &&
                     at < static_cast<const char*>(std::prev(after)->first) + std::prev(after)->second;
    return is_locked ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
}

}  // namespace

OpenMemory::OpenMemory() {
    auto& m = memory();
    std::lock_guard lock(m.mutex);
    if (m.open++ == 0) protect(m, PROT_READ | PROT_WRITE);
}
OpenMemory::~OpenMemory() {
    auto& m = memory();
    std::lock_guard lock(m.mutex);
    if (--m.open == 0) protect(m, PROT_NONE);
}

cudaError_t begin_call() {
    if (lost != cudaSuccess) return lost;
    cudaError_t error = planned.exchange(cudaSuccess);
    return is_lasting(error) ? lose_device(error) : note(error);
}

cudaError_t lasting_error() { return lost; }

cudaError_t lose_device(cudaError_t error) {
    lost = error;
    return note(error);
}

void set_memory(size_t bytes) { memory().limit = bytes; }
void fail_next(cudaError_t error) { planned = error; }
void revive() {
    lost = planned = last = cudaSuccess;
    forget_failures();
}
void set_peer_access(bool has) {
    std::lock_guard lock(of_peers);
    has_peers = has;
    open_peers.clear();
}
size_t copies_between_peers() { return peer_copies; }
void hide_libraries(bool hides) { hides_libraries = hides; }
bool are_libraries_hidden() { return hides_libraries; }
void break_next_capture() { breaks_capture = true; }
size_t launched_graphs() { return graphs; }

int device_of_thread() { return current_device; }

bool enqueue_on_stream(void* stream, std::function<void()> work) {
    auto piece = [work = std::move(work)] {
        if (cudaError_t error = begin_call(); error != cudaSuccess) return error;
        OpenMemory open;
        work();
        return cudaSuccess;
    };
    return enqueue(static_cast<cudaStream_t>(stream), std::move(piece)) == cudaSuccess;
}

}  // namespace mge::cuda::emulated

using namespace mge::cuda::emulated;

namespace {

struct TimedPoint : Point {
    Clock::time_point at;
};

}  // namespace

struct CUevent_st {
    int device = 0;
    std::shared_ptr<TimedPoint> last;  // that it was recorded at; null: none yet
};

const char* cudaGetErrorName(cudaError_t error) {
    switch (error) {
        case cudaErrorMemoryAllocation:
            return "cudaErrorMemoryAllocation";
        case cudaErrorIllegalAddress:
            return "cudaErrorIllegalAddress";
        case cudaErrorLaunchTimeout:
            return "cudaErrorLaunchTimeout";
        case cudaErrorInvalidValue:
            return "cudaErrorInvalidValue";
        default:
            return "cudaError";
    }
}
const char* cudaGetErrorString(cudaError_t error) {
    return error == cudaErrorIllegalAddress ? "an illegal memory access was encountered" : "emulated";
}
cudaError_t cudaGetLastError() { return lost != cudaSuccess ? lost.load() : last.exchange(cudaSuccess); }
cudaError_t cudaDriverGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
    *count = device_count;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    if (device >= device_count) return note(cudaErrorInvalidDevice);
    current_device = device;
    return begin_call();
}
cudaError_t cudaGetDevice(int* device) {
    *device = current_device;
    return lost;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    if (device >= device_count) return note(cudaErrorInvalidDevice);
    *properties = {"an emulated GPU", 9, 0, 4, 1 << 20, memory().limit};
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return finish_device(current_device); }

cudaError_t cudaMalloc(void** address, size_t bytes) {
    if (captures) return note(cudaErrorStreamCaptureUnsupported);
    if (cudaError_t error = begin_call(); error != cudaSuccess) return error;
    auto& m = memory();
    std::lock_guard lock(m.mutex);
    *address = find_gap(m, (bytes + page - 1) / page * page);
    if (*address && m.open) protect(m, PROT_READ | PROT_WRITE);
    return *address ? cudaSuccess : note(cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void* address) {
    finish_device(-1);  // for any user
    auto& m = memory();
    std::lock_guard lock(m.mutex);
    auto found = m.taken.find(size_t(static_cast<char*>(address) - m.base));
    if (found == m.taken.end() || found->second.is_of_others) return note(cudaErrorInvalidValue);
    give_back(m, found);
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    auto& m = memory();
    std::lock_guard lock(m.mutex);
    *total = m.limit;
    *free = m.limit - m.used;
    return begin_call();
}
cudaError_t cudaHostAlloc(void** address, size_t bytes, unsigned) {
    if (cudaError_t error = begin_call(); error != cudaSuccess) return error;
    *address = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    auto& m = memory();
    std::lock_guard lock(m.mutex);
    m.page_locked[*address] = bytes;
    return cudaSuccess;
}
cudaError_t cudaFreeHost(void* address) {
    auto& m = memory();
    std::lock_guard lock(m.mutex);
    m.page_locked.erase(address);
    std::free(address);
    return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
    *attributes = {memory_type(address), std::max(device_at(address), 0)};
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* target, const void* source, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    // Memory that is not page-locked is copied aside before the call returns.
    std::shared_ptr<const std::string> aside;
    if (kind == cudaMemcpyHostToDevice && memory_type(source) == cudaMemoryTypeUnregistered)
        aside = std::make_shared<const std::string>(static_cast<const char*>(source), bytes);
    return enqueue(stream, [=] {
        if (cudaError_t error = begin_call(); error != cudaSuccess) return error;
        OpenMemory open;
        std::memmove(target, aside ? aside->data() : source, bytes);
        return cudaSuccess;
    });
}
// Directly where the reader may; NVIDIA's goes through the host otherwise.
cudaError_t cudaMemcpyPeerAsync(void* target, int target_device, const void* source, int source_device,
                                size_t bytes, cudaStream_t stream) {
    if (device_at(target) != target_device || device_at(source) != source_device)
        return note(cudaErrorInvalidValue);
    {
        std::lock_guard lock(of_peers);
        peer_copies += open_peers.contains({target_device, source_device});
    }
    return cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, stream);
}
cudaError_t cudaDeviceCanAccessPeer(int* is_able, int device, int peer) {
    *is_able = has_peers && device != peer;
    return begin_call();
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
    if (!has_peers || peer == current_device) return note(cudaErrorPeerAccessUnsupported);
    std::lock_guard lock(of_peers);
    return open_peers.emplace(current_device, peer).second ? begin_call()
                                                           : note(cudaErrorPeerAccessAlreadyEnabled);
}
// From now on the memory is in a file, which other processes find by its number.
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* address) {
    if (cudaError_t error = begin_call(); error != cudaSuccess) return error;
    OpenMemory open;
    auto& m = memory();
    std::lock_guard lock(m.mutex);
    auto found = m.taken.find(size_t(static_cast<char*>(address) - m.base));
    if (found == m.taken.end() || found->second.is_of_others) return note(cudaErrorInvalidValue);
    auto& [at, taken] = *found;
    if (taken.file < 0) {
        int file = ::memfd_create("emulated-gpu", MFD_CLOEXEC);
        bool is_written = file >= 0 && ::ftruncate(file, off_t(taken.bytes)) == 0;
        for (size_t done = 0; is_written && done < taken.bytes;) {
            auto count = ::pwrite(file, m.base + at + done, taken.bytes - done, off_t(done));
            if (count <= 0) break;
            done += size_t(count);
        }
        if (!is_written || !map_file(m, at, taken, file)) return note(cudaErrorMemoryAllocation);
    }
    *handle = {};
    auto words = std::to_string(::getpid()) + ' ' + std::to_string(taken.file) + ' ' +
                 std::to_string(taken.bytes) + ' ' + std::to_string(taken.device);
    std::memcpy(handle->reserved, words.data(), words.size());
    return cudaSuccess;
}
cudaError_t cudaIpcOpenMemHandle(void** address, cudaIpcMemHandle_t handle, unsigned) {
    if (cudaError_t error = begin_call(); error != cudaSuccess) return error;
    int process = 0, number = 0, device = 0;
    size_t bytes = 0;
    if (std::sscanf(handle.reserved, "%d %d %zu %d", &process, &number, &bytes, &device) != 4)
        return note(cudaErrorInvalidValue);
    if (process == ::getpid()) return note(cudaErrorDeviceUninitialized);
    auto path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(number);
    int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return note(cudaErrorInvalidResourceHandle);
    auto& m = memory();
    std::lock_guard lock(m.mutex);
    *address = find_gap(m, bytes);
    if (!*address) return note(cudaErrorMemoryAllocation);
    auto at = size_t(static_cast<char*>(*address) - m.base);
    m.taken[at] = {bytes, device, file, true};
    return map_file(m, at, m.taken[at], file) ? cudaSuccess : note(cudaErrorInvalidResourceHandle);
}
cudaError_t cudaIpcCloseMemHandle(void* address) {
    auto& m = memory();
    std::lock_guard lock(m.mutex);
    auto found = m.taken.find(size_t(static_cast<char*>(address) - m.base));
    if (found == m.taken.end() || !found->second.is_of_others) return note(cudaErrorInvalidValue);
    give_back(m, found);
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* target, int byte, size_t bytes, cudaStream_t stream) {
    return enqueue(stream, [=] {
        if (cudaError_t error = begin_call(); error != cudaSuccess) return error;
        OpenMemory open;
        std::memset(target, byte, bytes);
        return cudaSuccess;
    });
}
// The default streams of the devices are there without being made, and are named by small numbers.
static cudaStream_t named_stream(cudaStream_t stream) {
    constexpr uintptr_t last_name = 2;
    if (reinterpret_cast<uintptr_t>(stream) > last_name) return stream;
    static cudaStream_t defaults[device_count] = {};
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    auto& made = defaults[current_device];
    if (!made) cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    return made;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    *stream = std::make_unique<CUstream_st>().release();
    (*stream)->device = current_device;
    add_stream(*stream);
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    remove_stream(stream);
    std::unique_ptr<CUstream_st>{stream};
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (!stream->captured) return finish(stream);
    stream->is_broken = true;
    return note(cudaErrorStreamCaptureUnsupported);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t given, cudaEvent_t event, unsigned) {
    cudaStream_t stream = named_stream(given);
    if (cudaError_t error = begin_call(); error != cudaSuccess || !event->last) return error;
    return enqueue_wait(stream, event->last);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    *event = std::make_unique<CUevent_st>().release();
    (*event)->device = current_device;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t given) {
    cudaStream_t stream = named_stream(given);
    if (cudaError_t error = begin_call(); error != cudaSuccess) return error;
    if (event->device != stream->device) return note(cudaErrorInvalidResourceHandle);
    event->last = std::make_shared<TimedPoint>();
    return enqueue(stream, [point = event->last] {
        point->at = Clock::now();
        point->is_reached = true;
        return cudaSuccess;
    });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    if (event->last) finish(*event->last);
    return begin_call();
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
    if (!from->last || !to->last) return note(cudaErrorInvalidValue);
    if (!from->last->is_reached || !to->last->is_reached) return cudaErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(to->last->at - from->last->at).count();
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    std::unique_ptr<CUevent_st>{event};
    return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    if (cudaError_t error = begin_call(); error != cudaSuccess) return error;
    stream->captured = std::make_unique<CUgraph_st>();
    stream->is_broken = breaks_capture.exchange(false);
    ++captures;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    --captures;
    auto captured = std::move(stream->captured);
    if (std::exchange(stream->is_broken, false)) return note(cudaErrorStreamCaptureInvalidated);
    *graph = captured.release();
    return begin_call();
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
    *made = std::make_unique<CUgraphExec_st>(CUgraphExec_st{*graph}).release();
    return begin_call();
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
    ++graphs;
    for (auto& work : graph->work)
        if (cudaError_t error = enqueue(stream, work); error != cudaSuccess) return error;
    return begin_call();
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    std::unique_ptr<CUgraph_st>{graph};
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
    std::unique_ptr<CUgraphExec_st>{graph};
    return cudaSuccess;
}
