// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/rethrow.h"

#include <new>
#include <typeinfo>

#include "libmge/base/error.h"

namespace mge {

void rethrow_in(const std::string& where) {
    auto said = [&](const Error& e) { return text(where, ": ", e.what()); };
    try {
        throw;
    } catch (const MemoryError& e) {
        throw MemoryError(said(e));
    } catch (const DeviceError& e) {
        throw DeviceError(said(e));
    } catch (const ModelError& e) {
        throw ModelError(said(e));
    } catch (const UserError& e) {
        if (e.code() != ErrorCode::usage) throw;  // one that a higher layer knows more about
        throw UserError(said(e), e.error_class());
    } catch (const InternalError& e) {
        throw InternalError(said(e));
    } catch (const Error& e) {
        if (typeid(e) != typeid(Error)) throw;  // of a class that is not known here
        throw Error(e.code(), e.error_class(), said(e));
    } catch (const std::bad_alloc&) {
        throw MemoryError(text(where, ": the system has no memory left"));
    }
}

}  // namespace mge
