// SPDX-License-Identifier: Apache-2.0
// The functions of OpenSSL's algorithms in builds without the library (MGE_OPENSSL=OFF).

#include "libmge/base/error.h"
#include "libmge/model/crypt/aes_gcm.h"
#include "libmge/model/crypt/megengine_ciphers.h"

namespace mge {
namespace {

[[noreturn]] void refuse() {
    throw UserError("this build has no AES: encrypted models need one with OpenSSL (-DMGE_OPENSSL=ON)");
}

}  // namespace

void AesGcm::Free::operator()(evp_cipher_ctx_st*) const {}
AesGcm::AesGcm(std::span<const std::byte>) { refuse(); }
void AesGcm::seal(const GcmNonce&, std::span<const std::byte>, std::span<const std::byte>,
                  std::span<std::byte>) {
    refuse();
}
bool AesGcm::open(const GcmNonce&, std::span<const std::byte>, std::span<const std::byte>,
                  std::span<std::byte>) {
    refuse();
}

SecretBytes hkdf_sha256(std::span<const std::byte>, std::span<const std::byte>, std::span<const std::byte>,
                        size_t) {
    refuse();
}
void fill_random(std::span<std::byte>) { refuse(); }

SecretBytes encrypt_megengine_aes(std::span<const std::byte>, std::span<const std::byte>) { refuse(); }
SecretBytes decrypt_megengine_aes(std::span<const std::byte>, std::span<const std::byte>) { refuse(); }

}  // namespace mge
