#pragma once

#include <cstddef>
#include <string>

namespace hearth::kernels {

// Bytes that change place. The size and both addresses are multiples of 4.
struct CopyPiece {
  void* to = nullptr;
  const void* from = nullptr;
  size_t bytes = 0;
};

// The memory that a backend's ops read and write. On the host it is ordinary memory and every call is done when it
// returns; with CUDA, calls are ordered on `stream`.
struct MemoryOps {
  bool is_host = true;  // ops may be given any host pointer

  // 256-byte aligned, contents undefined; null when there is no room. Null may be released.
  void* (*allocate)(size_t bytes) = nullptr;
  void* (*allocate_zeroed)(size_t bytes) = nullptr;  // on the host pages are taken when first touched
  void (*release)(void* memory) = nullptr;
  // Host memory that transfers reach at full speed (pinned with CUDA).
  void* (*allocate_host)(size_t bytes) = nullptr;
  void (*release_host)(void* memory) = nullptr;
  // Makes existing host memory reachable for ops and for transfers at full speed, under its own address. The words of
  // the refusal, or "". Memory stays registered until it is given up.
  std::string (*register_host)(void* memory, size_t bytes) = nullptr;
  void (*unregister_host)(void* memory) = nullptr;

  void (*zero)(void* stream, void* to, size_t bytes) = nullptr;
  void (*copy)(void* stream, void* to, const void* from, size_t bytes) = nullptr;  // within the device
  // `from` may be changed as soon as the call returns, unless it is pinned: then not before `synchronize`.
  void (*upload)(void* stream, void* to, const void* from, size_t bytes) = nullptr;
  // The bytes are there after `synchronize`.
  void (*download)(void* stream, void* to, const void* from, size_t bytes) = nullptr;
  // Small pieces between the device and pinned or registered host memory, either way and all at once: a kernel moves
  // them, so that they neither wait for a copy engine nor cost one transfer each. Host memory must stay as it is until
  // the stream has passed the call.
  void (*copy_pieces)(void* stream, const CopyPiece* pieces, int count) = nullptr;
  void (*synchronize)(void* stream) = nullptr;
};

const MemoryOps& HostMemoryOps();

// Order and time of work on streams. On the host everything is done when it returns, and a mark is a reading of the
// clock.
struct StreamOps {
  void* (*make_stream)() = nullptr;
  void (*release_stream)(void* stream) = nullptr;
  void* (*make_mark)() = nullptr;
  void (*release_mark)(void* mark) = nullptr;
  void (*record)(void* stream, void* mark) = nullptr;
  void (*wait)(void* stream, void* mark) = nullptr;   // what follows on the stream waits for the mark
  void (*finish)(void* mark) = nullptr;               // this thread waits for the mark
  double (*seconds)(void* from, void* to) = nullptr;  // both have been passed
};

const StreamOps& HostStreamOps();

}  // namespace hearth::kernels
