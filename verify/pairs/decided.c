/* SPDX-License-Identifier: MIT
 *
 * Which results a decision about rounded numbers reaches, see decided.h. Both graphs are joined by
 * identity (joint.h). What only one of them computes may be rounded differently; so may all that
 * depends on it. Where such a number is an operand of something that jumps (shows.c), the result is
 * decided by rounding, and so is what follows.
 */
#include "pairs/decided.h"

#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "instances/source.h"
#include "pairs/needs.h"
#include "reference/twin.h"
#include "ops/ops.h"

enum { ROUNDED = 4, OF_SECOND = 8 }; /* beside the flags of decided.h */

/* Marks the nodes on which the second graph's results depend. */
static void mark_second(const gemel__joint *joint, unsigned char *flags) {
  for (size_t k = 0; k < joint->n_outputs; k++) {
    flags[gemel__joint_value(joint, joint->right[k]).node] |= OF_SECOND;
  }
  for (size_t k = joint->n_nodes; k-- > 0;) {
    uint32_t count, j;
    const gemel__ref *inputs = gemel__node_inputs(joint->graph, (uint32_t)k, &count);
    for (j = 0; flags[k] & OF_SECOND && j < count; j++) {
      flags[gemel__joint_value(joint, inputs[j]).node] |= OF_SECOND;
    }
  }
}

/* 1 if both graphs have NODE. */
static int is_common(const gemel__joint *joint, uint32_t node, const unsigned char *flags) {
  return !joint->second[node] && (flags[node] & OF_SECOND) != 0;
}

/* 1 if a float result of NODE, which only one graph has, may be rounded. */
static int rounds(const gemel_graph *graph, uint32_t node) {
  return gemel__node_at(graph, node)->op == GEMEL__OP_constant ||
         gemel__arithmetic(graph, node) != 0;
}

static unsigned char flags_of(const gemel__joint *joint, uint32_t node,
                              const unsigned char *flags) {
  uint32_t count;
  unsigned result = 0;
  const gemel__ref *inputs = gemel__node_inputs(joint->graph, node, &count);
  for (uint32_t j = 0; j < count; j++) {
    gemel__ref operand = gemel__joint_value(joint, inputs[j]);
    gemel__jump jump = gemel__jumps(joint->graph, node, operand);
    unsigned from = flags[operand.node] & ~(unsigned)OF_SECOND;
    result |= from;
    if (from & ROUNDED && jump != GEMEL__NO_JUMP) {
      result |= jump == GEMEL__JUMP_CHOICE ? GEMEL__DECIDED_CHOICE : GEMEL__DECIDED_WHOLE;
    }
  }
  return (unsigned char)result;
}

/* Returns the kinds of arithmetic of what only one graph has. */
static unsigned mark_decided(const gemel__joint *joint, unsigned char *flags) {
  unsigned kinds = 0;
  for (uint32_t k = 0; k < joint->n_nodes; k++) {
    if (joint->stands_for[k] == k && !is_common(joint, k, flags)) {
      flags[k] |= flags_of(joint, k, flags);
      flags[k] |= rounds(joint->graph, k) ? ROUNDED : 0;
      kinds |= gemel__arithmetic(joint->graph, k);
    }
  }
  return kinds;
}

static gemel_status mark_outputs(gemel__joint *joint, unsigned char *decided, unsigned *kinds,
                                 gemel_error *error) {
  enum { BOTH = GEMEL__DECIDED_CHOICE | GEMEL__DECIDED_WHOLE };
  for (uint32_t k = 0; k < joint->n_nodes; k++) {
    if (gemel__joint_meet(joint, k) < 0) {
      return gemel__no_memory(error, "two graphs");
    }
  }
  unsigned char *flags = gemel__alloc_zeroed(joint->n_nodes);
  if (flags == NULL) {
    return gemel__no_memory(error, "two graphs");
  }
  mark_second(joint, flags);
  *kinds = mark_decided(joint, flags);
  for (size_t k = 0; k < joint->n_outputs; k++) {
    decided[k] = (flags[gemel__joint_value(joint, joint->left[k]).node] |
                  flags[gemel__joint_value(joint, joint->right[k]).node]) &
                 BOTH;
  }
  gemel__free(flags, joint->n_nodes);
  return GEMEL_OK;
}

gemel_status gemel__decided_outputs(const gemel_graph *a, const gemel_graph *b,
                                    unsigned char *decided, unsigned *kinds, gemel_error *error) {
  gemel__joint joint;
  GEMEL__TRY(gemel__joint_make(&joint, a, b, error));
  gemel_status status = mark_outputs(&joint, decided, kinds, error);
  gemel__joint_clear(&joint);
  return status;
}

unsigned gemel__words_of_kinds(unsigned kinds) {
  return (kinds & (GEMEL__SUMS | GEMEL__PRODUCTS) ? GEMEL__NEED(REASSOC) : 0) |
         (kinds & GEMEL__QUOTIENTS ? GEMEL__NEED(ARCP) : 0) |
         (kinds & (GEMEL__FUNCTIONS | GEMEL__NARROWS) ? GEMEL__NEED(AFN) : 0);
}
