#pragma once

#include "kernels/backend.h"

namespace hearth {

// A second stream of a backend, for work that runs beside the main one and needs nothing that is still under way there.
// On the host both are one and everything is done in the order of the calls.
class SideStream {
 public:
  explicit SideStream(const kernels::Backend& main) : main_(main), backend_(main), marked_(main.streams->make_mark()) {
    backend_.stream = main.streams->make_stream();
  }
  ~SideStream() {
    backend_.memory->synchronize(backend_.stream);
    main_.streams->release_mark(marked_);
    main_.streams->release_stream(backend_.stream);
  }
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  const kernels::Backend& backend() const { return backend_; }
  // Join concerns what was told here before Mark.
  void Mark() { main_.streams->record(backend_.stream, marked_); }
  // What follows on the main stream comes after what was marked.
  void Join() { main_.streams->wait(main_.stream, marked_); }

 private:
  const kernels::Backend& main_;
  kernels::Backend backend_;
  void* const marked_;
};

}  // namespace hearth
