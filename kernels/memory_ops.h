#pragma once

#include <cstddef>

namespace hearth::kernels {

// The memory that a backend's ops read and write. On the host it is ordinary memory and every call is done when it
// returns; with CUDA, calls are ordered on `stream`.
struct MemoryOps {
  bool is_host = true;  // ops may be given any host pointer

  // 256-byte aligned, contents undefined; null when there is no room. Null may be released.
  void* (*allocate)(size_t bytes) = nullptr;
  void (*release)(void* memory) = nullptr;
  // Host memory that transfers reach at full speed (pinned with CUDA).
  void* (*allocate_host)(size_t bytes) = nullptr;
  void (*release_host)(void* memory) = nullptr;

  void (*zero)(void* stream, void* to, size_t bytes) = nullptr;
  void (*copy)(void* stream, void* to, const void* from, size_t bytes) = nullptr;  // within the device
  // `from` may be changed as soon as the call returns, unless it is pinned: then not before `synchronize`.
  void (*upload)(void* stream, void* to, const void* from, size_t bytes) = nullptr;
  // The bytes are there after `synchronize`.
  void (*download)(void* stream, void* to, const void* from, size_t bytes) = nullptr;
  void (*synchronize)(void* stream) = nullptr;
};

const MemoryOps& HostMemoryOps();

}  // namespace hearth::kernels
