#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace hearth {

// What of the machine's CPUs this process may use. Files are read below `root`, which is "/" outside tests.

// Logical CPUs the scheduler may put this thread on, ascending. Never empty.
std::vector<int> AllowedCpus();

// CPUs' worth of time the cgroup (v2, else v1) grants, over all its levels; 0 when there is no limit.
double CgroupCpuQuota(const std::string& root = "/");

// The smaller of allowed CPUs and quota (rounded up), at least 1.
int UsableCpuCount(const std::string& root = "/");

// One logical CPU of each physical core among `cpus`: the lowest allowed one. A CPU whose topology cannot be read
// counts as a core of its own.
std::vector<int> PhysicalCores(const std::vector<int>& cpus, const std::string& root = "/");

// Physical cores among the allowed CPUs, no more than the quota; at least 1.
int UsableCoreCount(const std::string& root = "/");

// The logical CPUs of the machine's first `count` physical cores, those outside the cpuset as well. Topology that
// cannot be read counts as above.
std::vector<int> FirstCores(size_t count, const std::string& root = "/");

// Reads a kernel CPU list such as "0-3,8,10-11". Empty when the text is not one.
std::vector<int> ParseCpuList(const std::string& text);

}  // namespace hearth
