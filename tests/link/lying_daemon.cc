#include "tests/link/lying_daemon.h"

#include <grpcpp/server_builder.h>
#include <unistd.h>

#include <chrono>

#include "common/base/check.h"
#include "common/ipc/futex.h"

namespace hearth::testing {

using namespace std::chrono_literals;

LyingDaemon::LyingDaemon(const std::string& address, Lie lie) : lie_(lie) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  HEARTH_CHECK(server_ != nullptr, "cannot listen on " + address);
}

LyingDaemon::~LyingDaemon() {
  server_->Shutdown(std::chrono::system_clock::now() + 300ms);
  server_.reset();
  stop_ = true;
  for (std::thread& thread : threads_) thread.join();
}

grpc::Status LyingDaemon::Attach(grpc::ServerContext*, const v1::AttachRequest* request, v1::AttachResponse* response) {
  auto file =
      std::make_shared<SharedFile>(*SharedFile::OpenExisting(request->link_path(), SharedFile::Access::kReadWrite));
  const auto* header = reinterpret_cast<const LinkHeader*>(file->bytes().data());
  const LinkView link =
      *LinkView::Open(file->bytes(), request->fingerprint(), header->geometry.hidden, header->layers, header->experts);
  ++attachments_;
  response->set_pid(::getpid());
  response->set_isa("lies");
  response->set_selftest("passed");
  threads_.emplace_back([this, file, link] { Live(*file, link); });
  return grpc::Status::OK;
}

void LyingDaemon::Live(const SharedFile&, const LinkView& link) const {
  LinkHeader& header = link.header();
  for (int tick = 0; !stop_ && header.closed.load() == 0; ++tick) {
    if (lie_ != Lie::kSilentHeart && tick % 100 == 0) header.daemon_beat.fetch_add(1);
    for (uint32_t slot = 0; slot < link.geometry().slots; ++slot) {
      const uint32_t published = link.worker_line(slot).published.load();
      SlotDaemonLine& line = link.daemon_line(slot);
      if (published == 0 || line.done.load() == published) continue;
      if (lie_ == Lie::kForeignNumbers) line.done.store(published + 12345);
      if (lie_ == Lie::kRefusesEverything) {
        line.outcome = 77;
        line.elapsed_ns = ~uint64_t{0};
        line.done.store(published);
      }
      FutexWake(line.done);
    }
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace hearth::testing
