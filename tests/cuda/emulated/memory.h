// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

#include "cuda_runtime_api.h"

namespace mge::cuda::emulated {

// Memory of the emulated GPU can be read and written while one of these lives.
class OpenMemory {
public:
    OpenMemory();
    ~OpenMemory();
    OpenMemory(const OpenMemory&) = delete;
};

// The error that a call on the device returns first: a sticky one, or one planted by a test.
cudaError_t begin_call();
// Returns only a sticky error.
cudaError_t lasting_error();
// From now on each call gives this error.
cudaError_t lose_device(cudaError_t error);

// --- for tests ---

// Total memory of the device.
void set_memory(size_t bytes);
// The next call that needs the device fails with this error, which lasts where CUDA's does.
void fail_next(cudaError_t error);
// Makes a lost device available again.
void revive();
// Makes the next capture fail as if a library had made a call that graphs cannot hold.
void break_next_capture();
// So many graphs were launched until now.
size_t launched_graphs();
// So many texts were compiled until now.
size_t compiled_texts();
// Hides NVRTC, or cuDNN and cuBLASLt, as if they were not installed.
void hide_text_compiler(bool hides);
void hide_libraries(bool hides);
// From now on streams mix by this seed.
void mix_streams(unsigned seed);

}  // namespace mge::cuda::emulated
