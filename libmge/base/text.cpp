// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/text.h"

#include <array>
#include <memory>
#include <utility>

namespace mge {
namespace {

// As many as texts are nested inside texts; a stream that wrote a long text frees its memory.
constexpr size_t most_kept = 4, longest_kept = 4096;

// Outlives KeptStreams: a text may be written while a thread, or the process, ends.
thread_local bool is_ended = false;

struct KeptStreams {
    std::array<std::unique_ptr<TextStream>, most_kept> streams;
    size_t count = 0;
    ~KeptStreams() { is_ended = true; }
};
thread_local KeptStreams kept;

void restart_stream(TextStream& stream) {
    static const std::string nothing;
    static const std::ios pristine(nullptr);
    stream.clear();
    stream.str(nothing);  // a copy: the stream keeps its memory
    stream.flags(pristine.flags());
    stream.precision(pristine.precision());
    stream.width(0);
    stream.fill(' ');
}

// A stream that its thread keeps for the next text: constructing one takes longer than writing most texts,
// and compiling a graph writes thousands (keys of the fast-run cache, labels).
class PooledStream {
public:
    PooledStream()
        : stream_(is_ended || kept.count == 0 ? new TextStream : kept.streams[--kept.count].release()) {}
    ~PooledStream() {
        std::unique_ptr<TextStream> stream(stream_);
        if (is_ended || kept.count == most_kept || stream->view().size() > longest_kept) return;
        restart_stream(*stream);
        kept.streams[kept.count++] = std::move(stream);
    }
    PooledStream(const PooledStream&) = delete;
    PooledStream& operator=(const PooledStream&) = delete;
    TextStream& operator*() { return *stream_; }

private:
    TextStream* stream_;
};

}  // namespace

void TextPart::write_characters(std::ostream& stream, const void* value) {
    stream << static_cast<const char*>(value);
}

std::string join_text(std::initializer_list<TextPart> parts) {
    PooledStream stream;
    for (const TextPart& part : parts) part.write(*stream);
    return std::string((*stream).view());
}

}  // namespace mge
