#pragma once

#include <string>

struct ssl_ctx_st;

namespace hearth {

// A certificate with its chain and the certificate's key, both PEM files, and the options that named them.
struct KeyPairFiles {
  std::string cert, key;
  std::string cert_option, key_option;
};

// Both take effect for the sessions of `context`. They throw StartupError, which names file and option, when a file
// cannot be read, when key and certificate do not belong together, and when a key asks for a passphrase.
void UseKeyPair(ssl_ctx_st* context, const KeyPairFiles& files);
void UseAuthorities(ssl_ctx_st* context, const std::string& file, const std::string& option);

}  // namespace hearth
