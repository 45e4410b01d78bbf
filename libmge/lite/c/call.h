// SPDX-License-Identifier: Apache-2.0
#pragma once
// The frame of every C function: its work is a lambda, exceptions of which become the last error, and
// arguments are checked by the functions of Call, which name them.

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "libmge/lite/c/last_error.h"
#include "libmge/lite/c/objects.h"
#include "lite-c/network_c.h"

namespace lite::c {

// A call of a function of C.
class Call {
public:
    explicit Call(const char* function) : function_(function) {}

    // The object that an argument points to; Error if the pointer is null.
    template <class T>
    T& given(T* pointer, const char* argument) const {
        if (!pointer) throw_null(argument);
        return *pointer;
    }
    // The same for arguments that are not dereferenced here: functions, memory, handles.
    template <class P>
    P pointer(P pointer, const char* argument) const {
        if (!pointer) throw_null(argument);
        return pointer;
    }
    // An array of so many numbers; null if the count is 0.
    template <class T>
    std::span<const T> list(const T* numbers, size_t size, const char* argument) const {
        if (size > 0) given(numbers, argument);
        return {numbers, size};
    }
    // A list with a number for each dimension.
    template <class T>
    std::span<const T> per_dimension(const T* numbers, size_t size, const char* argument) const {
        if (size > Layout::MAXDIM) throw_too_many(size, argument);
        return list(numbers, size, argument);
    }

    // The object of a handle. It lives until the call ends, even if another thread destroys the handle
    // meanwhile.
    Tensor& tensor(LiteTensor handle, const char* argument = "tensor") const;
    NetworkObject& network(LiteNetwork handle, const char* argument = "network") const;

private:
    [[noreturn]] void throw_null(const char* argument) const;
    [[noreturn]] void throw_too_many(size_t size, const char* argument) const;
    [[noreturn]] void throw_no_handle(const char* argument, const char* of) const;

    // Objects in use: nearly always two at most.
    template <class T>
    class InUse {
    public:
        // Null for an invalid handle.
        T* keep(Handles<T>& all, const void* handle) {
            auto held = all.hold(handle);
            T* object = held.get();
            if (count_ < few_.size())
                few_[count_++] = std::move(held);
            else
                more_.push_back(std::move(held));
            return object;
        }

    private:
        std::array<typename Handles<T>::Held, 2> few_;
        size_t count_ = 0;
        std::vector<typename Handles<T>::Held> more_;
    };

    const char* function_;
    mutable InUse<TensorObject> tensors_;
    mutable InUse<NetworkObject> networks_;
};

template <class Work>
int run(const char* function, Work&& work) noexcept {
    try {
        std::forward<Work>(work)(Call(function));
        return 0;
    } catch (...) {
        return record_failure();
    }
}

// Stores what `read` returns for the tensor or network of a handle where the argument `name` points.
template <class T, class Read>
int tensor_fact(const char* function, LiteTensor handle, T* argument, const char* name,
                const Read& read) noexcept {
    return run(function, [&](const Call& call) {
        auto& source = call.tensor(handle);
        auto& result = call.given(argument, name);
        result = read(source);
    });
}
template <class T, class Read>
int network_fact(const char* function, LiteNetwork handle, T* argument, const char* name,
                 const Read& read) noexcept {
    return run(function, [&](const Call& call) {
        auto& source = call.network(handle);
        auto& result = call.given(argument, name);
        result = read(source);
    });
}

}  // namespace lite::c
