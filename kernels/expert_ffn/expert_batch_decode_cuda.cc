#include <algorithm>

#include "kernels/cuda/scratch.h"
#include "kernels/expert_ffn/expert_batch_cuda.h"
#include "kernels/linear/gemv_cuda.h"

namespace hearth::kernels::cuda {
namespace {

// Per matrix of an expert: several experts share a launch, and one alone still fills the bus to the host.
constexpr int64_t kLeastUnits = 128;

// What experts of one launch have in common.
struct Shapes {
  GemvShape gate, up, down;
  float limit = 0;
  bool operator==(const Shapes&) const = default;
};

Shapes ShapesOf(const MlpView& e) {
  return {GemvShapeOf(e.gate, kLeastUnits), GemvShapeOf(e.up, kLeastUnits), GemvShapeOf(e.down, kLeastUnits),
          e.limit};
}

// Collects picks and launches them in two stages: gate, up and activation; down.
class Batch {
 public:
  Batch(void* stream, const ExpertBatchArgs& args) : stream_(stream), args_(args) {}

  void Add(const ExpertJob& job) {
    const Shapes shapes = ShapesOf(job.expert);
    for (Dim done = 0; done < job.picks; done += GemvBatch::kRows) {
      if (count_ == GemvBatch::kJobs || (count_ > 0 && !(shapes == shapes_))) Launch();
      shapes_ = shapes;
      GemvJob<GemvBatch::kRows>& first = first_.job[count_];
      GemvJob<GemvBatch::kRows>& second = second_.job[count_];
      first.matrix[0] = GemvMatrixOf(job.expert.gate);
      first.matrix[1] = GemvMatrixOf(job.expert.up);
      second.matrix[0] = GemvMatrixOf(job.expert.down);
      first.rows = second.rows = static_cast<int32_t>(std::min<Dim>(GemvBatch::kRows, job.picks - done));
      for (int r = 0; r < first.rows; ++r) {
        first.x_row[r] = job.x_row[done + r];
        second.y_row[r] = job.out_row[done + r];
      }
      rows_most_ = std::max(rows_most_, first.rows);
      ++count_;
    }
  }

  void Launch() {
    if (count_ == 0) return;
    for (GemvBatch* t : {&first_, &second_}) {
      t->job_count = count_;
      t->rows_most = rows_most_;
    }
    first_.shape[0] = shapes_.gate;
    first_.shape[1] = shapes_.up;
    first_.matrices = 2;
    first_.limit = shapes_.limit;
    second_.shape[0] = shapes_.down;
    for (int j = 0; j < count_; ++j) {
      for (int r = 0; r < rows_most_; ++r) {
        first_.job[j].y_row[r] = second_.job[j].x_row[r] = j * rows_most_ + r;
      }
    }
    const int64_t width = shapes_.gate.strips * kStripColumns;
    const int64_t middle = int64_t{count_} * rows_most_ * width;
    const int64_t partial = std::max(first_.partial_size(), second_.partial_size());
    float* scratch = static_cast<float*>(Scratch(stream_, static_cast<size_t>(middle + partial) * sizeof(float)));
    first_.partial = second_.partial = scratch + middle;

    first_.x = args_.x;
    first_.x_stride = args_.hidden;
    first_.y = scratch;
    first_.y_stride = width;
    LaunchGemv(stream_, first_);
    second_.x = scratch;
    second_.x_stride = width;
    second_.y = args_.out;
    second_.y_stride = args_.hidden;
    LaunchGemv(stream_, second_);
    count_ = rows_most_ = 0;
  }

 private:
  void* stream_;
  const ExpertBatchArgs& args_;
  Shapes shapes_;
  GemvBatch first_, second_;
  int32_t count_ = 0, rows_most_ = 0;
};

}  // namespace

void ExpertBatchDecode(void* stream, const ExpertBatchArgs& args) {
  Batch batch(stream, args);
  for (Dim i = 0; i < args.job_count; ++i) batch.Add(args.jobs[i]);
  batch.Launch();
}

}  // namespace hearth::kernels::cuda
