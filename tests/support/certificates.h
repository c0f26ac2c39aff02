#pragma once

#include <string>

namespace hearth::test {

// PEM files of a certificate and its key.
struct CertificateFiles {
  std::string cert, key;
};

// Writes both: a P-256 key and a certificate, valid for an hour. `names` as in "DNS:localhost,IP:127.0.0.1"; empty
// makes an authority, which can be an `issuer`. Without an issuer the certificate is signed by its own key.
void MakeCertificate(const CertificateFiles& files, const std::string& names, const CertificateFiles* issuer = nullptr);

}  // namespace hearth::test
