#pragma once

#include <cstdint>
#include <string>

namespace hearth {

// Refuses (StartupError) a home directory that does not exist, or whose file system has less than `needed` bytes free.
// The text has the sum and the option that helps.
void CheckHomeSpace(const std::string& home_dir, uint64_t needed);

// The words of that refusal; pure.
std::string HomeSpaceProblem(const std::string& home_dir, uint64_t needed, uint64_t available);

}  // namespace hearth
