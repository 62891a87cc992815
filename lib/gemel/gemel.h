/* SPDX-License-Identifier: MIT
 *
 * Everything that libgemel offers. (The harness is apart: <gemel/verify.h>, libgemel-verify.)
 *
 * NULL is harmless for every pointer of every function. Where it stands for something that the
 * function can't do without, the result says "nothing" in its own way: GEMEL_BAD_ARGUMENT, NULL,
 * the null value, GEMEL_DIM_NONE, GEMEL_TYPE_NONE, 0. Where a function allows it, its header says
 * what it means; a `gemel_error *` may always be NULL. Not looked at are the insides of what is
 * given: arrays shorter than their count, objects already freed.
 *
 * What may be called on several threads at once says each header at its beginning. As a rule all
 * that makes a new object, and all that looks at one; a graph is built on one thread at a time.
 */
#ifndef GEMEL_GEMEL_H
#define GEMEL_GEMEL_H

#include <gemel/alloc.h>
#include <gemel/collective.h>
#include <gemel/composite.h>
#include <gemel/context.h>
#include <gemel/device.h>
#include <gemel/dlpack.h>
#include <gemel/dtype.h>
#include <gemel/dump.h>
#include <gemel/function.h>
#include <gemel/grad.h>
#include <gemel/graph.h>
#include <gemel/hlo.h>
#include <gemel/lift.h>
#include <gemel/nn.h>
#include <gemel/onnx.h>
#include <gemel/operation.h>
#include <gemel/ops.h>
#include <gemel/profile.h>
#include <gemel/rewrite.h>
#include <gemel/shared.h>
#include <gemel/status.h>
#include <gemel/tensor.h>
#include <gemel/text.h>
#include <gemel/train.h>
#include <gemel/version.h>

#endif
