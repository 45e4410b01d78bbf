// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/rethrow.h"

#include <new>
#include <stdexcept>

#include "libmge/base/error.h"

namespace mge {

void rethrow_in(const std::string& where) {
    auto said = [&](const std::exception& e) { return text(where, ": ", e.what()); };
    auto foreign = [](ErrorClass error_class, const std::string& message) {
        return Error(ErrorCode::internal, error_class, message);
    };
    try {
        throw;
    } catch (const ThrownAsIs&) {
        throw;
    } catch (const MemoryError& e) {
        throw MemoryError(said(e));
    } catch (const DeviceError& e) {
        throw DeviceError(said(e));
    } catch (const ModelError& e) {
        throw ModelError(said(e));
    } catch (const UserError& e) {
        if (e.code() != ErrorCode::usage) throw;  // a higher layer has more information about these
        throw UserError(said(e), e.error_class());
    } catch (const InternalError& e) {
        throw InternalError(said(e));
    } catch (const Error& e) {
        throw Error(e.code(), e.error_class(), said(e));
    } catch (const std::bad_alloc&) {
        throw MemoryError(text(where, ": the system has no memory left"));
    } catch (const std::out_of_range& e) {
        throw foreign(ErrorClass::index, said(e));
    } catch (const std::invalid_argument& e) {
        throw foreign(ErrorClass::value, said(e));
    } catch (const std::exception& e) {
        throw foreign(ErrorClass::runtime, said(e));
    } catch (...) {
        throw foreign(ErrorClass::runtime, text(where, ": an exception that is not a std::exception"));
    }
}

}  // namespace mge
