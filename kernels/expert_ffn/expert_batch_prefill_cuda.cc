#include <algorithm>
#include <vector>

#include "kernels/cuda/host_upload.h"
#include "kernels/cuda/multiprocessors.h"
#include "kernels/expert_ffn/expert_batch_cuda.h"
#include "kernels/expert_ffn/expert_groups.h"
#include "kernels/linear/matrix_operands_cuda.h"
#include "kernels/linear/operand_memory_cuda.h"

// Groups of experts: rotate the picked rows for gate and up, decode both, multiply; then swiglu and rotate, decode
// down, multiply. What is decoded and the rows in between stay within OperandMemory's bounds for any number of picks.
namespace hearth::kernels::cuda {
namespace {

constexpr Dim kGroupPicks = 4096;

// Everything in strips of the larger of the two GEMMs of an expert.
struct Shapes {
  size_t gate_up_bytes = 0, down_bytes = 0;  // tiles, largest of all jobs
  Dim gate_up_row = 0, down_row = 0;         // fp16 numbers of a row; gate and up together
  Dim mid = 0;                               // floats of a gate row
  Dim strips = 0;

  Shapes(const ExpertBatchArgs& args, int exl3_terms) {
    for (Dim i = 0; i < args.job_count; ++i) {
      const MlpView& e = args.jobs[i].expert;
      const MatrixOperands gate(e.gate, exl3_terms), up(e.up, exl3_terms), down(e.down, exl3_terms);
      gate_up_bytes = std::max(gate_up_bytes, e.gate.strips() * gate.strip_bytes() + e.up.strips() * up.strip_bytes());
      down_bytes = std::max(down_bytes, e.down.strips() * down.strip_bytes());
      gate_up_row = std::max<Dim>(gate_up_row, gate.k + up.k);
      down_row = std::max<Dim>(down_row, down.k);
      mid = std::max(mid, e.gate.out_padded);
      strips = std::max({strips, e.gate.strips() + e.up.strips(), e.down.strips()});
    }
  }
};

// The row lists of all jobs on the device: x rows, then out rows, job after job.
struct RowLists {
  std::vector<Dim> first;  // of job i, in picks
  const int32_t* x_row = nullptr;
  const int32_t* out_row = nullptr;

  RowLists(cudaStream_t stream, const ExpertBatchArgs& args, Dim all, int32_t* device) {
    Dim before = 0;
    for (Dim i = 0; i < args.job_count; ++i) {
      first.push_back(before);
      before += args.jobs[i].picks;
    }
    static HostUpload upload;
    const size_t bytes = 2 * all * sizeof(int32_t);
    auto* host = static_cast<int32_t*>(upload.Begin(bytes));
    for (Dim i = 0; i < args.job_count; ++i) {
      const ExpertJob& job = args.jobs[i];
      std::copy_n(job.x_row, job.picks, host + first[i]);
      std::copy_n(job.out_row, job.picks, host + all + first[i]);
    }
    upload.End(stream, device, bytes);
    x_row = device;
    out_row = device + all;
  }
};

// Hands out the memory of a group matrix by matrix.
struct GroupMemory {
  __half* rows;
  float* row_scale;
  uint4* tiles;
  float* column_scale;
  int exl3_terms;

  GroupMemory(const OperandMemory& memory, int exl3_terms_)
      : rows(memory.rows),
        row_scale(memory.row_scales),
        tiles(memory.tiles),
        column_scale(memory.column_scales),
        exl3_terms(exl3_terms_) {}

  // One matrix on `picks` rows; the caller sets what the rows are made of and where the result goes.
  void Take(const MatrixView& w, Dim picks, RowsJob* rows_job, TilesJob* tiles_job, GemmJob* gemm_job) {
    const MatrixOperands o(w, exl3_terms);
    *rows_job = RowsJobOf(w, o, picks);
    *tiles_job = TilesJobOf(w, o, 0, w.strips());
    *gemm_job = GemmJobOf(w, o, 0, w.strips(), picks);
    rows_job->out = rows;
    rows_job->inverse_scale = row_scale;
    tiles_job->tiles = tiles;
    gemm_job->x = rows;
    gemm_job->tiles = tiles;
    gemm_job->row_scale = row_scale;
    if (o.terms == 3) tiles_job->inverse_scale = column_scale, gemm_job->column_scale = column_scale;
    rows += picks * o.k;
    row_scale += picks;
    tiles += w.strips() * o.strip_bytes() / sizeof(uint4);
    column_scale += w.out_padded;
  }
};

struct Jobs {
  std::vector<RowsJob> rows;
  std::vector<TilesJob> tiles;
  std::vector<GemmJob> gemm;

  GemmJob& Add(GroupMemory* memory, const MatrixView& w, Dim picks) {
    memory->Take(w, picks, &rows.emplace_back(), &tiles.emplace_back(), &gemm.emplace_back());
    return gemm.back();
  }
  void Run(cudaStream_t stream) const {
    MakeRows(stream, rows);
    MakeTiles(stream, tiles);
    MultiplyTiles(stream, gemm);
  }
};

}  // namespace

void ExpertBatchPrefill(void* stream_, const ExpertBatchArgs& args, int exl3_terms) {
  const auto stream = static_cast<cudaStream_t>(stream_);
  const Shapes shapes(args, exl3_terms);
  const size_t expert_bytes = std::max(shapes.gate_up_bytes, shapes.down_bytes);
  if (expert_bytes == 0) return;
  std::vector<Dim> picks;
  for (Dim i = 0; i < args.job_count; ++i) picks.push_back(args.jobs[i].picks);
  const ExpertGroupLimits limits{
      .experts = static_cast<int>(std::clamp<size_t>(kOperandTilesBytes / expert_bytes, 1, kMaxJobs / 2)),
      .picks = kGroupPicks,
      .expert_tiles = (shapes.strips + 1) / 2,
      .slots = Multiprocessors()};
  const std::vector<ExpertGroup> groups = PlanExpertGroups(picks, limits);
  if (groups.empty()) return;
  Dim all_picks = 0, most_picks = 0;
  size_t most_experts = 0;
  for (const ExpertGroup& group : groups) {
    Dim sum = 0;
    for (const ExpertPiece& piece : group) sum += piece.picks;
    all_picks += sum;
    most_picks = std::max(most_picks, sum);
    most_experts = std::max(most_experts, group.size());
  }
  const OperandMemory memory(stream, {.rows = most_picks * std::max(shapes.gate_up_row, shapes.down_row),
                              .row_scales = 2 * most_picks,
                              .tiles = static_cast<Dim>(most_experts * expert_bytes / sizeof(uint4)),
                              .column_scales = static_cast<Dim>(most_experts) * shapes.strips * kStripColumns,
                              .gate = most_picks * shapes.mid,
                              .up = most_picks * shapes.mid,
                              .row_lists = 2 * all_picks});
  const RowLists lists(stream, args, all_picks, memory.row_lists);

  for (const ExpertGroup& group : groups) {
    Jobs gate_up, down;
    GroupMemory first(memory, exl3_terms), second(memory, exl3_terms);  // the second step starts when the first is done
    Dim at = 0;
    for (const ExpertPiece& piece : group) {
      const MlpView& e = args.jobs[piece.job].expert;
      const Dim list = lists.first[piece.job] + piece.first;
      float* mid[2] = {memory.gate + at * shapes.mid, memory.up + at * shapes.mid};
      for (int i = 0; i < 2; ++i) {
        GemmJob& gemm = gate_up.Add(&first, i == 0 ? e.gate : e.up, piece.picks);
        gemm.y = mid[i];
        gemm.y_stride = shapes.mid;
        gate_up.rows.back().x = args.x;
        gate_up.rows.back().x_stride = args.hidden;
        gate_up.rows.back().x_row = lists.x_row + list;
      }
      GemmJob& gemm = down.Add(&second, e.down, piece.picks);
      gemm.columns = static_cast<int>(std::min<Dim>(gemm.columns, args.hidden));
      gemm.y = args.out;
      gemm.y_stride = args.hidden;
      gemm.y_row = lists.out_row + list;
      down.rows.back().gate = mid[0];
      down.rows.back().up = mid[1];
      down.rows.back().x_stride = shapes.mid;
      down.rows.back().limit = e.limit;
      at += piece.picks;
    }
    gate_up.Run(stream);
    down.Run(stream);
  }
}

}  // namespace hearth::kernels::cuda
