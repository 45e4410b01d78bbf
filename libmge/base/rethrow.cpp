// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/rethrow.h"

#include <new>
#include <stdexcept>

#include "libmge/base/error.h"

namespace mge {

void rethrow_in(const std::string& where) {
    auto with_context = [&](const std::exception& e) { return text(where, ": ", e.what()); };
    auto foreign = [](ErrorClass error_class, const std::string& message) {
        return Error(ErrorCode::internal, error_class, message);
    };
    try {
        throw;
    } catch (const ThrownAsIs&) {
        throw;
    } catch (const MemoryError& e) {
        throw MemoryError(with_context(e));
    } catch (const DeviceError& e) {
        throw DeviceError(with_context(e));
    } catch (const ModelError& e) {
        throw ModelError(with_context(e));
    } catch (const UserError& e) {
        if (e.code() != ErrorCode::usage) throw;  // a higher layer has more information about these
        throw UserError(with_context(e), e.error_class());
    } catch (const InternalError& e) {
        throw InternalError(with_context(e));
    } catch (const Error& e) {
        throw Error(e.code(), e.error_class(), with_context(e));
    } catch (const std::bad_alloc&) {
        throw MemoryError(text(where, ": the system has no memory left"));
    } catch (const std::out_of_range& e) {
        throw foreign(ErrorClass::index, with_context(e));
    } catch (const std::invalid_argument& e) {
        throw foreign(ErrorClass::value, with_context(e));
    } catch (const std::exception& e) {
        throw foreign(ErrorClass::runtime, with_context(e));
    } catch (...) {
        throw foreign(ErrorClass::runtime, text(where, ": an exception that is not a std::exception"));
    }
}

}  // namespace mge
