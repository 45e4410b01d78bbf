// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/c/call.h"

#include "libmge/base/number_text.h"
#include "libmge/base/text.h"

namespace lite::c {

Tensor& Call::tensor(LiteTensor handle, const char* argument) const {
    if (auto* object = tensors_.keep(tensors(), handle)) [[likely]]
        return *object->tensor;
    if (!handle) throw_null(argument);
    throw_no_handle(argument, "tensor");
}

NetworkObject& Call::network(LiteNetwork handle, const char* argument) const {
    if (auto* object = networks_.keep(networks(), handle)) [[likely]]
        return *object;
    if (!handle) throw_null(argument);
    throw_no_handle(argument, "network");
}

void Call::throw_null(const char* argument) const {
    throw Error(mge::text(function_, ": the argument '", argument, "' is null"));
}

void Call::throw_too_many(size_t size, const char* argument) const {
    throw Error(mge::text(function_, ": the argument '", argument, "' has ", mge::counted(size, "number"),
                          "; tensors have ", Layout::MAXDIM, " dimensions at most"));
}

void Call::throw_no_handle(const char* argument, const char* of) const {
    throw Error(mge::text(function_, ": the argument '", argument, "' is not a handle of a ", of,
                          ", or of one that was destroyed"));
}

}  // namespace lite::c
