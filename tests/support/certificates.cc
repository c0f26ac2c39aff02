#include "tests/support/certificates.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>

namespace hearth::test {
namespace {

using FilePtr = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
using KeyPtr = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)>;
using CertPtr = std::unique_ptr<X509, void (*)(X509*)>;

FilePtr Open(const std::string& path, const char* mode) {
  FilePtr file(std::fopen(path.c_str(), mode), std::fclose);
  EXPECT_NE(file, nullptr) << path;
  return file;
}

void AddExtension(X509* cert, int kind, const char* value) {
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value);
  X509_add_ext(cert, extension, -1);
  X509_EXTENSION_free(extension);
}

}  // namespace

void MakeCertificate(const CertificateFiles& files, const std::string& names, const CertificateFiles* issuer) {
  const KeyPtr key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const CertPtr cert(X509_new(), X509_free);
  X509_set_version(cert.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(cert.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(cert.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(cert.get()), 3600);
  X509_set_pubkey(cert.get(), key.get());
  const std::string subject = names.empty() ? "authority" : "subject";
  X509_NAME_add_entry_by_txt(X509_get_subject_name(cert.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(subject.c_str()), -1, -1, 0);
  if (names.empty()) {
    AddExtension(cert.get(), NID_basic_constraints, "critical,CA:TRUE");
  } else {
    AddExtension(cert.get(), NID_subject_alt_name, names.c_str());
  }
  if (issuer == nullptr) {
    X509_set_issuer_name(cert.get(), X509_get_subject_name(cert.get()));
    ASSERT_NE(X509_sign(cert.get(), key.get(), EVP_sha256()), 0);
  } else {
    const CertPtr authority(PEM_read_X509(Open(issuer->cert, "r").get(), nullptr, nullptr, nullptr), X509_free);
    const KeyPtr signer(PEM_read_PrivateKey(Open(issuer->key, "r").get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
    ASSERT_TRUE(authority != nullptr && signer != nullptr);
    X509_set_issuer_name(cert.get(), X509_get_subject_name(authority.get()));
    ASSERT_NE(X509_sign(cert.get(), signer.get(), EVP_sha256()), 0);
  }
  ASSERT_EQ(PEM_write_X509(Open(files.cert, "w").get(), cert.get()), 1);
  ASSERT_EQ(PEM_write_PrivateKey(Open(files.key, "w").get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr), 1);
}

}  // namespace hearth::test
