/* SPDX-License-Identifier: MIT
 *
 * The twins of all operations, by id.
 */
#include "reference/twin.h"

#include "core/context.h"

static const gemel__twin unknown;

static const gemel__twin *const twins[GEMEL__OP_COUNT] = {
    &unknown,
#define OP(name, ...) &gemel__twin_##name,
#include "ops/ops.def"
#undef OP
#define SCALAR(name, ...) &gemel__twin_##name,
#include "ops/scalar.def"
#undef SCALAR
};

const gemel__twin *gemel__twin_of(uint32_t op) {
  return op < GEMEL__OP_COUNT ? twins[op] : &unknown;
}

gemel__sampler gemel__sampler_of(gemel_context *context, const gemel_operation *record) {
  return record->sample != NULL ? record->sample
                                : gemel__twin_of(gemel__op_find(context, record->name))->sample;
}
