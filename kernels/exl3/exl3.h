#pragma once

#include <cstdint>

#include "common/matrix/matrix_view.h"
#include "kernels/real.h"

namespace hearth::kernels {

// The EXL3 weight format: states, codebooks, tile order. Bit-exact and slow; the truth for every faster reader.
// Source of the formulas: docs/formats/exl3.md.

// fp16 bits of a codebook entry.
uint16_t Exl3CodebookF16(Codebook codebook, uint16_t state);
// All 65,536 entries as floats, built once; safe from any thread.
const float* Exl3CodebookTable(Codebook codebook);

// State of weight t (0..255) of a tile of 8*bits words in file order.
uint16_t Exl3State(const uint32_t* tile, uint32_t bits, int t);
inline int Exl3Row(int t) { return 2 * ((t >> 3) & 3) + (t & 1) + 8 * ((t >> 1) & 1); }
inline int Exl3Column(int t) { return (t >> 5) + 8 * ((t >> 2) & 1); }

// File order -> strip layout of MatrixView. `trellis` may be unaligned: [in/16][out/16][16*bits] u16.
// `out` has in*out*bits/8 bytes. Strips [strip_begin, strip_end) only; out points at the first strip of the matrix.
void Exl3RepackStrips(const void* trellis, Dim in, Dim out, uint32_t bits, Dim strip_begin, Dim strip_end,
                      void* strips);

// Decoded Q of a matrix in strip layout: fp16 bits, row-major [in_padded, out_padded], before transforms.
void Exl3DecodeInner(const MatrixView& matrix, uint16_t* q);

// Plain [out, in] row-major weights of `kind` (unaligned) -> strips of MatrixView, same element type, zero padded.
void PlainRepackStrips(const void* weight, WeightKind kind, Dim in, Dim out, void* strips);

}  // namespace hearth::kernels
