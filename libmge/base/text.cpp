// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/text.h"

#include <array>
#include <charconv>
#include <limits>
#include <memory>
#include <optional>
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

// A stream that its thread keeps for the next text: constructing one takes longer than writing most texts.
class PooledStream {
public:
    PooledStream()
        : stream_(is_ended || kept.count == 0 ? new TextStream : kept.streams[--kept.count].release()) {}
    ~PooledStream() {
        std::unique_ptr<TextStream> stream(stream_);
        if (is_ended || kept.count == most_kept || stream->view().size() > longest_kept) return;
        kept.streams[kept.count++] = std::move(stream);
    }
    PooledStream(const PooledStream&) = delete;
    PooledStream& operator=(const PooledStream&) = delete;

    // Without text and formats.
    TextStream& restarted() {
        static const std::string nothing;
        static const std::ios pristine(nullptr);
        stream_->clear();
        stream_->str(nothing);  // a copy: the stream keeps its memory
        stream_->flags(pristine.flags());
        stream_->precision(pristine.precision());
        stream_->width(0);
        stream_->fill(' ');
        return *stream_;
    }

private:
    TextStream* stream_;
};

template <class Integer>
void append_number(std::string& text, Integer value) {
    std::array<char, std::numeric_limits<Integer>::digits10 + 2> digits;
    auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    text.append(digits.data(), end);
}

}  // namespace

// Most parts are characters and integers, and compiling a graph writes thousands of texts (keys of the
// fast-run cache, labels): these need no stream.
std::string join_text(std::initializer_list<TextPart> parts) {
    std::string text;
    std::optional<PooledStream> pool;
    for (const TextPart& part : parts) {
        if (auto* characters = std::get_if<std::string_view>(&part.value_)) {
            text += *characters;
        } else if (auto* streamed = std::get_if<TextPart::Streamed>(&part.value_)) {
            TextStream& stream = (pool ? *pool : pool.emplace()).restarted();
            streamed->write(stream, streamed->value);
            text += stream.view();
            if (!stream) break;  // as a stream ignores what follows an error
        } else if (auto* number = std::get_if<long long>(&part.value_)) {
            append_number(text, *number);
        } else {
            append_number(text, std::get<unsigned long long>(part.value_));
        }
    }
    return text;
}

}  // namespace mge
