/* SPDX-License-Identifier: MIT
 *
 * Everything that libgemel offers. (The harness is apart: <gemel/verify.h>, libgemel-verify.)
 */
#ifndef GEMEL_GEMEL_H
#define GEMEL_GEMEL_H

#include <gemel/alloc.h>
#include <gemel/context.h>
#include <gemel/dtype.h>
#include <gemel/function.h>
#include <gemel/grad.h>
#include <gemel/graph.h>
#include <gemel/operation.h>
#include <gemel/ops.h>
#include <gemel/rewrite.h>
#include <gemel/status.h>
#include <gemel/tensor.h>
#include <gemel/text.h>
#include <gemel/version.h>

#endif
