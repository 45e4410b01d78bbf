// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common part of all readers of .mge files: errors that name the file, checked text, dtypes and shapes, lists
// that may be missing, and a budget for copies.

#include <flatbuffers/flatbuffers.h>

#include <string>
#include <string_view>

#include "libmge/base/error.h"
#include "libmge/base/files/file_limit.h"
#include "libmge/base/utf8.h"
#include "libmge/tensor/spec.h"

namespace mge {

template <class T>
using FileVector = flatbuffers::Vector<T>;

class CheckedFile {
public:
    CheckedFile(const std::string& label, size_t bytes) : label_(label), budget_(label, bytes) {}

    const std::string& label() const { return label_; }

    template <class... Args>
    [[noreturn]] void fail(const Args&... what) const {
        throw ModelError(text("'", label_, "' is not a valid model: ", what...));
    }

    // Runs `read`; its errors contain the position in the file.
    template <class Read>
    decltype(auto) at(const std::string& where, Read&& read) const {
        try {
            return read();
        } catch (const ModelError&) {
            throw;
        } catch (const MemoryError&) {
            throw;
        } catch (const DeviceError& e) {
            throw DeviceError(text("'", label_, "': ", where, ": ", e.what()));
        } catch (const Error& e) {  // errors of the operator itself
            fail(where, ": ", e.what());
        }
    }

    // Tables of a flatbuffer may share their parts: a small file could request many copies of a long text.
    std::string string(const flatbuffers::String* s) const {
        if (!s) return {};
        budget_.take(s->size());
        std::string_view text(s->c_str(), s->size());
        if (!is_utf8(text)) fail("a text is not UTF-8: '", printable(text.substr(0, longest_shown_)), "'");
        return std::string(text);
    }

    // Iterates over a vector that may be missing.
    template <class T>
    struct List {
        const FileVector<T>* vector;
        using Iterator = typename FileVector<T>::const_iterator;
        Iterator begin() const { return vector ? vector->begin() : Iterator(nullptr, 0); }
        Iterator end() const { return vector ? vector->end() : Iterator(nullptr, 0); }
        size_t size() const { return vector ? vector->size() : 0; }
    };
    template <class T>
    List<T> list(const FileVector<T>* vector) const {
        // The verifier checks the position of a vector's length, not its elements; an empty one (the shape of
        // a scalar) has none.
        if (vector && vector->size() &&
            reinterpret_cast<uintptr_t>(vector->Data()) % flatbuffers::AlignOf<T>())
            fail("a list of the graph is not aligned");
        if (vector) budget_.take(vector->size(), sizeof(uint64_t));
        return {vector};
    }

    DType dtype(const flatbuffers::String* name, const std::string& where) const {
        auto found = dtype_from_name(string(name));
        if (!found) fail(where, ": unknown dtype '", string(name), "'");
        return *found;
    }

    Shape shape(const FileVector<int64_t>* dims, const std::string& where) const {
        auto extents = list(dims);
        if (extents.size() > size_t(max_rank)) fail(where, ": rank ", extents.size(), " is above ", max_rank);
        Shape result;
        for (int64_t d : extents) {
            if (d < 0) fail(where, ": dimension ", d, " is negative");
            result.push_back(d);
        }
        at(where, [&] { checked_numel("model", result); });
        return result;
    }

private:
    static constexpr size_t longest_shown_ = 60;  // longest text shown in an error

    const std::string& label_;
    mutable FileBudget budget_;
};

}  // namespace mge
