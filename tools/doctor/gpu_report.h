#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "tools/doctor/host_facts.h"

namespace hearth::doctor {

// The query that ParseGpuReport() understands, without the program's name.
inline constexpr const char* kGpuQuery =
    "--query-gpu=name,memory.total,driver_version,compute_cap --format=csv,noheader,nounits";

// One line a GPU: "NVIDIA GeForce RTX 3090, 24576, 580.65.06, 8.6"; memory in MiB. FAILED_PRECONDITION with the line
// when one does not read like that, and when there is none.
Result<std::vector<GpuFacts>> ParseGpuReport(std::string_view text);

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun .." -> "580.65.06"; "" when there is none.
std::string ParseDriverModule(std::string_view text);

// Numbers with a dot between each two: "580", "580.65.06".
bool IsVersion(std::string_view text);

// Compares versions number by number: "580.65.06" is not less than "580.65".
bool VersionLess(std::string_view a, std::string_view b);

}  // namespace hearth::doctor
