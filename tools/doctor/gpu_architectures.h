#pragma once

#include <string>
#include <string_view>

namespace hearth::doctor {

// `list` is what CMake calls CUDA architectures, with commas: "86-real,89-real,90-real,120". Machine code ("-real")
// runs on its own generation from that number on; PTX ("-virtual", and with machine code where neither is said) on
// everything later as well.

// Whether such a build has code for a GPU of this compute capability (8.6). True for words that are no numbers, such as
// "native": what they stood for is not known here.
bool RunsOn(std::string_view list, double compute);

// "8.6, 8.9, 9.0, 12.0 and later".
std::string DescribeArchitectures(std::string_view list);

}  // namespace hearth::doctor
