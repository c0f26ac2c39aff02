#pragma once

#include <string>

#include "gpu_worker/experts/popularity.h"

namespace hearth {

// The record of the experts' popularity that is kept from run to run, next to the model unless an option says where.
//
//   {"format": "hearth-expert-popularity", "version": 1, "layers": 42, "experts": 288, "tokens": 5120,
//    "picks_per_token": [[0.031, ...], ...]}
//
// It is a hint: without it, or with one that cannot be used, the cache starts empty and nothing else changes. A file
// that is not such a record is never written over.
class PopularityFile {
 public:
  // `option`: a path, "none", or "" for MODEL/hearth-popularity.json (none for a synthetic model). Reads what is there
  // and logs why nothing can be used.
  PopularityFile(const std::string& option, const std::string& model, bool synthetic, uint32_t layers,
                 uint32_t experts);

  const std::string& path() const { return path_; }       // "" when nothing is recorded
  const Popularity& earlier() const { return earlier_; }  // no tokens when there is none

  // Records what this run saw together with what earlier runs did. A failure is logged, and then nothing more is tried.
  void Save(const Popularity& seen);

 private:
  std::string path_;
  Popularity earlier_;
  double saved_tokens_ = 0;  // of this run
};

}  // namespace hearth
