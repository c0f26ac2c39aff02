#pragma once

#include "kernels/expert_ffn/expert_ffn.h"

namespace hearth::kernels {

// A batch on a backend without one of its own: one expert after the other.
template <void (*kExpertFfn)(void*, const ExpertFfnArgs&)>
void ExpertBatchOneByOne(void* stream, const ExpertBatchArgs& args) {
  for (Dim i = 0; i < args.job_count; ++i) {
    const ExpertJob& job = args.jobs[i];
    kExpertFfn(stream, {.expert = job.expert,
                        .x = args.x,
                        .x_row = job.x_row,
                        .out = args.out,
                        .out_row = job.out_row,
                        .picks = job.picks,
                        .hidden = args.hidden});
  }
}

}  // namespace hearth::kernels
