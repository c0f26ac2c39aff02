#include "gpu_worker/experts/stream_copy_engine.h"

#include "gpu_worker/experts/thread_copy_engine.h"

namespace hearth {

std::unique_ptr<CopyEngine> MakeCopyEngine(const kernels::Backend& backend) {
  if (backend.memory->is_host) return std::make_unique<ThreadCopyEngine>();
  return std::make_unique<StreamCopyEngine>(backend);
}

StreamCopyEngine::StreamCopyEngine(const kernels::Backend& backend)
    : backend_(backend), stream_(backend.streams->make_stream()), computed_(backend.streams->make_mark()) {}

StreamCopyEngine::~StreamCopyEngine() {
  backend_.memory->synchronize(stream_);
  for (const Batch& batch : batches_) {
    for (void* mark : batch.marks) backend_.streams->release_mark(mark);
  }
  backend_.streams->release_mark(computed_);
  backend_.streams->release_stream(stream_);
}

void StreamCopyEngine::Start(int batch, std::vector<Copy> copies) {
  const kernels::StreamOps& streams = *backend_.streams;
  streams.record(backend_.stream, computed_);
  streams.wait(stream_, computed_);
  Batch& b = batches_[batch];
  while (b.marks.size() < copies.size()) b.marks.push_back(streams.make_mark());
  b.used = copies.size();
  for (size_t i = 0; i < copies.size(); ++i) {
    backend_.memory->upload(stream_, copies[i].to, copies[i].from, copies[i].bytes);
    streams.record(stream_, b.marks[i]);
  }
}

bool StreamCopyEngine::WaitFor(int batch, size_t index, Deadline) {
  backend_.streams->wait(backend_.stream, batches_[batch].marks[index]);
  return true;
}

void StreamCopyEngine::Stop(int batch) {
  Batch& b = batches_[batch];
  if (b.used > 0) backend_.streams->finish(b.marks[b.used - 1]);
  b.used = 0;
}

}  // namespace hearth
