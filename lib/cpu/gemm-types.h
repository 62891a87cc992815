/* SPDX-License-Identifier: MIT
 *
 * gemm-tile.h for every element type, under names that end in ISA. Signed integers share the
 * unsigned loops: both wrap. Integers narrower than 32 bits are added up in 32, which leaves the
 * low bits as they would be. No guard: included once for each instruction set.
 */
#define TIMES_PLUS(s, x, y) ((s) + (x) * (y))
#define OR_AND(s, x, y) ((s) | ((x) & (y)))
#define SAME(x) (x)

#define T uint8_t
#define ACC uint8_t
#define GET SAME
#define PUT SAME
#define MAC OR_AND
#define NAME GEMEL__PASTE2(tile_bool, ISA)
#include "cpu/gemm-tile.h"

#define T uint8_t
#define ACC uint32_t
#define GET SAME
#define PUT SAME
#define MAC TIMES_PLUS
#define NAME GEMEL__PASTE2(tile_u8, ISA)
#include "cpu/gemm-tile.h"

#define T uint16_t
#define ACC uint32_t
#define GET SAME
#define PUT SAME
#define MAC TIMES_PLUS
#define NAME GEMEL__PASTE2(tile_u16, ISA)
#include "cpu/gemm-tile.h"

#define T uint32_t
#define ACC uint32_t
#define GET SAME
#define PUT SAME
#define MAC TIMES_PLUS
#define NAME GEMEL__PASTE2(tile_u32, ISA)
#include "cpu/gemm-tile.h"

#define T uint64_t
#define ACC uint64_t
#define GET SAME
#define PUT SAME
#define MAC TIMES_PLUS
#define NAME GEMEL__PASTE2(tile_u64, ISA)
#include "cpu/gemm-tile.h"

#define T uint16_t
#define ACC float
#define GET gemel__f16_to_f32
#define PUT gemel__f32_to_f16
#define MAC TIMES_PLUS
#define NAME GEMEL__PASTE2(tile_f16, ISA)
#include "cpu/gemm-tile.h"

#define T uint16_t
#define ACC float
#define GET gemel__bf16_to_f32
#define PUT gemel__f32_to_bf16
#define MAC TIMES_PLUS
#define NAME GEMEL__PASTE2(tile_bf16, ISA)
#include "cpu/gemm-tile.h"

#define T float
#define ACC float
#define GET SAME
#define PUT SAME
#define MAC TIMES_PLUS
#define NAME GEMEL__PASTE2(tile_f32, ISA)
#include "cpu/gemm-tile.h"

#define T double
#define ACC double
#define GET SAME
#define PUT SAME
#define MAC TIMES_PLUS
#define NAME GEMEL__PASTE2(tile_f64, ISA)
#include "cpu/gemm-tile.h"

static const tile_function GEMEL__PASTE2(tiles, ISA)[GEMEL_DTYPE_COUNT] = {
    [GEMEL_BOOL] = GEMEL__PASTE2(tile_bool, ISA), [GEMEL_I8] = GEMEL__PASTE2(tile_u8, ISA),
    [GEMEL_I16] = GEMEL__PASTE2(tile_u16, ISA),   [GEMEL_I32] = GEMEL__PASTE2(tile_u32, ISA),
    [GEMEL_I64] = GEMEL__PASTE2(tile_u64, ISA),   [GEMEL_U8] = GEMEL__PASTE2(tile_u8, ISA),
    [GEMEL_U16] = GEMEL__PASTE2(tile_u16, ISA),   [GEMEL_U32] = GEMEL__PASTE2(tile_u32, ISA),
    [GEMEL_U64] = GEMEL__PASTE2(tile_u64, ISA),   [GEMEL_F16] = GEMEL__PASTE2(tile_f16, ISA),
    [GEMEL_BF16] = GEMEL__PASTE2(tile_bf16, ISA), [GEMEL_F32] = GEMEL__PASTE2(tile_f32, ISA),
    [GEMEL_F64] = GEMEL__PASTE2(tile_f64, ISA)};

#undef TIMES_PLUS
#undef OR_AND
#undef SAME
