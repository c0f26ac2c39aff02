#include <vector>

#include "kernels/kda/kda.h"
#include "kernels/real_math.h"

namespace hearth::kernels::ref {

void ShortConv(void*, const ShortConvArgs& args) {
  const Dim channels = args.channels, kept = args.taps - 1;
  std::vector<Real> line;  // the kept rows, then the new ones, of one channel
  for (Dim s = 0; s < args.segment_count; ++s) {
    const KdaSegment& segment = args.segments[s];
    line.resize(kept + segment.row_count);
    for (Dim ch = 0; ch < channels; ++ch) {
      for (Dim j = 0; j < kept; ++j) line[j] = segment.history[j * channels + ch];
      for (Dim t = 0; t < segment.row_count; ++t) {
        line[kept + t] = args.raw[(segment.row_begin + t) * channels + ch];
      }
      for (Dim t = 0; t < segment.row_count; ++t) {
        Real sum = 0;
        for (Dim j = 0; j < args.taps; ++j) sum += args.weight[ch * args.taps + j] * line[t + j];
        args.out[(segment.row_begin + t) * channels + ch] = sum * Sigmoid(sum);
      }
      for (Dim j = 0; j < kept; ++j) segment.history[j * channels + ch] = line[segment.row_count + j];
    }
  }
}

}  // namespace hearth::kernels::ref
