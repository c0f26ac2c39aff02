// TLS between our gRPC servers and clients, with certificates made here.
#include "common/rpc/rpc_credentials.h"

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "common/base/startup_error.h"
#include "common/rpc/channel.h"
#include "common/rpc/rpc_server.h"
#include "tests/support/certificates.h"

namespace hearth {
namespace {

using test::CertificateFiles;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

class RpcTls : public ::testing::Test {
 protected:
  RpcTls() {
    std::string name = (std::filesystem::temp_directory_path() / "hearth-tls-XXXXXX").string();
    dir_ = ::mkdtemp(name.data());
    ca_ = Files("ca"), other_ca_ = Files("other-ca");
    server_ = Files("server"), client_ = Files("client"), stranger_ = Files("stranger");
    test::MakeCertificate(ca_, "");
    test::MakeCertificate(other_ca_, "");
    test::MakeCertificate(server_, "DNS:worker.example,IP:127.0.0.1", &ca_);
    test::MakeCertificate(client_, "DNS:gateway.example", &ca_);
    test::MakeCertificate(stranger_, "DNS:gateway.example", &other_ca_);
  }
  ~RpcTls() override { std::filesystem::remove_all(dir_); }

  CertificateFiles Files(const std::string& name) const {
    return {dir_ + "/" + name + ".pem", dir_ + "/" + name + "-key.pem"};
  }
  void Serve(const ServerTls& tls) {
    rpc_ = std::make_unique<RpcServer>(RpcServer::Options{.listen = "127.0.0.1:0", .tls = tls},
                                       std::vector<grpc::Service*>{});
  }
  // Whether the first attempt at a connection is a success.
  bool Connects(const ClientTls& tls) const {
    const auto channel = MakeChannel("127.0.0.1:" + std::to_string(rpc_->port()), tls);
    grpc_connectivity_state state = channel->GetState(true);
    while (state != GRPC_CHANNEL_READY && state != GRPC_CHANNEL_TRANSIENT_FAILURE) {
      if (!channel->WaitForStateChange(state, std::chrono::system_clock::now() + 30s)) {
        ADD_FAILURE() << "neither connected nor refused";
        return false;
      }
      state = channel->GetState(true);
    }
    return state == GRPC_CHANNEL_READY;
  }

  template <typename Function>
  static std::string Refusal(const Function& start) {
    try {
      start();
    } catch (const StartupError& error) {
      return error.what();
    }
    return "";
  }

  std::string dir_;
  CertificateFiles ca_, other_ca_, server_, client_, stranger_;
  std::unique_ptr<RpcServer> rpc_;
};

TEST_F(RpcTls, TheClientChecksWhoSignedTheServersCertificate) {
  Serve({.cert = server_.cert, .key = server_.key});
  EXPECT_TRUE(Connects({.ca = ca_.cert}));
  EXPECT_FALSE(Connects({.ca = other_ca_.cert}));
  EXPECT_FALSE(Connects({}));  // plain
}

TEST_F(RpcTls, TheClientChecksWhomTheServersCertificateNames) {
  Serve({.cert = server_.cert, .key = server_.key});
  EXPECT_TRUE(Connects({.ca = ca_.cert, .name = "worker.example"}));
  EXPECT_FALSE(Connects({.ca = ca_.cert, .name = "other.example"}));
  test::MakeCertificate(server_, "DNS:worker.example", &ca_);
  Serve({.cert = server_.cert, .key = server_.key});
  EXPECT_FALSE(Connects({.ca = ca_.cert}));  // the address is not in it
  EXPECT_TRUE(Connects({.ca = ca_.cert, .name = "worker.example"}));
}

TEST_F(RpcTls, ACertificateMaySignItself) {
  test::MakeCertificate(server_, "IP:127.0.0.1");
  Serve({.cert = server_.cert, .key = server_.key});
  EXPECT_TRUE(Connects({.ca = server_.cert}));
}

TEST_F(RpcTls, AServerWithAClientAuthorityTakesOnlyItsClients) {
  Serve({.cert = server_.cert, .key = server_.key, .client_ca = ca_.cert});
  EXPECT_TRUE(Connects({.ca = ca_.cert, .cert = client_.cert, .key = client_.key}));
  EXPECT_FALSE(Connects({.ca = ca_.cert}));
  EXPECT_FALSE(Connects({.ca = ca_.cert, .cert = stranger_.cert, .key = stranger_.key}));
}

TEST_F(RpcTls, AClientThatWantsTlsTakesNoPlainServer) {
  Serve({});
  EXPECT_TRUE(Connects({}));
  EXPECT_FALSE(Connects({.ca = ca_.cert}));
}

TEST_F(RpcTls, FilesOfNoUseAreRefusedAtStart) {
  const std::string absent = dir_ + "/absent.pem", junk = dir_ + "/junk.pem";
  std::ofstream(junk) << "nothing of use\n";
  struct Server {
    ServerTls tls;
    std::string option, file;
  };
  for (const Server& c : {Server{{absent, server_.key, ""}, "--grpc-tls-cert", absent},
                          Server{{server_.cert, absent, ""}, "--grpc-tls-key", absent},
                          Server{{server_.cert, client_.key, ""}, "--grpc-tls-key", client_.key},
                          Server{{server_.cert, server_.key, junk}, "--grpc-tls-client-ca", junk}}) {
    EXPECT_THAT(Refusal([&] { Serve(c.tls); }), AllOf(HasSubstr(c.option), HasSubstr(c.file), Not(HasSubstr("\n"))));
  }
  struct Client {
    ClientTls tls;
    std::string option, file;
  };
  for (const Client& c : {Client{{absent, "", "", ""}, "--worker-tls-ca", absent},
                          Client{{ca_.cert, junk, client_.key, ""}, "--worker-tls-cert", junk},
                          Client{{ca_.cert, client_.cert, server_.key, ""}, "--worker-tls-key", server_.key}}) {
    EXPECT_THAT(Refusal([&] { MakeChannel("127.0.0.1:1", c.tls); }),
                AllOf(HasSubstr(c.option), HasSubstr(c.file), Not(HasSubstr("\n"))));
  }
}

}  // namespace
}  // namespace hearth
