#pragma once

#include <cstdint>
#include <vector>

namespace hearth {

// Standard deviation of a synthetic router's logits over tokens; RouterBias counts on it.
inline constexpr double kRouterGain = 1.0;

// e_score_correction_bias that makes an expert's share of the picks fall as rank ^ -zipf, 0 being no preference. Which
// expert has which rank is drawn from `seed`.
//
// With s = sigmoid(kRouterGain z), z normal, and a threshold t that hardly moves (there are many experts), the expert
// of bias b is picked with probability P(s + b > t); b is what gives it the wanted probability. Probabilities sum to
// `top_k` and stop at 0.9.
std::vector<float> RouterBias(int experts, int top_k, double zipf, uint64_t seed);

// The wanted probabilities by rank, descending.
std::vector<double> PickProbabilities(int experts, int top_k, double zipf);

}  // namespace hearth
