#pragma once

#include <span>

#include "kernels/exl3/int16_sums.h"

namespace hearth::kernels {

struct Int16SumsVariant {
  const char* name;
  Int16Sums* sums;
};

// The kernels of an instruction set, which differ in speed alone.
extern const std::span<const Int16SumsVariant> kAvx2Int16Sums, kAvx512Int16Sums;

// The quickest of them here, by running each for one or two milliseconds: processors of one instruction set differ in
// what they do at half speed, and no list of them is ever complete. There is one at least, and the host has the
// instruction set.
const Int16SumsVariant& QuickestInt16Sums(std::span<const Int16SumsVariant> variants);

}  // namespace hearth::kernels
