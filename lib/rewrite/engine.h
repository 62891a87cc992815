/* SPDX-License-Identifier: MIT
 *
 * The rewrite engine: one forward pass of a phase over a graph. Its contract is at the top of
 * engine.c.
 */
#ifndef GEMEL__REWRITE_ENGINE_H
#define GEMEL__REWRITE_ENGINE_H

#include "rewrite/bodies.h"
#include "passes/edit.h"
#include "rewrite/dispatch.h"

/* One application of a rule, with everything it touched still in the graph. MADE are the operations
 * of the right side, by its nodes, as the template made them, before they were rewritten in turn;
 * VALUES what those became (each by applications that were witnessed before), which is what the
 * operations after them are applied to. Where the right side's own result is a smaller shape than
 * BEFORE, or a literal, BARE is that result and BROADCAST the implicit broadcast of it. Without a
 * rule: a constant AFTER was computed for BEFORE. */
typedef struct gemel__application {
  const struct gemel_rule *rule; /* NULL: constant folding */
  uint32_t order;                /* in which it matched */
  const gemel_graph *graph;
  gemel__ref before, after;
  const gemel__term *terms; /* by variable */
  const gemel__ref *made, *values;
  gemel__ref bare, broadcast; /* BROADCAST.node is GEMEL__NO_BROADCAST if there was no need */
} gemel__application;
#define GEMEL__NO_BROADCAST UINT32_MAX

/* What watches each application: for certified compilation. Not GEMEL_OK: stop. */
typedef gemel_status (*gemel__certify_application)(void *user,
                                                   const gemel__application *application,
                                                   gemel_error *error);

/* What libgemel-verify gives a context that wants to have its rewrites certified. */
typedef struct gemel__certifier gemel__certifier;
struct gemel__certifier {
  /* The witness's user for one rewrite of a graph; NULL with *ERROR. */
  void *(*begin)(gemel__certifier *certifier, gemel_error *error);
  gemel__certify_application witness;
  gemel__change_witness witness_change; /* of passes */
  void (*end)(gemel__certifier *certifier, void *user);
};

typedef struct gemel__pass_options {
  gemel__selection *selection;
  gemel__rewrite_bodies *bodies;      /* NULL: bodies are left as they are */
  int fold;                           /* constants are folded */
  int timed;                          /* tallies get times */
  int tight;                          /* no rule may make the graph grow */
  gemel__certify_application witness; /* or NULL */
  void *user;                         /* the witness's */
  uint64_t folded, created;           /* results: nodes folded, nodes made by rules */
} gemel__pass_options;

/* A new graph: what an output of FROM needs, rewritten. It may hold nodes that nothing uses, which
 * rules have replaced; where none was applied there are none. NULL with *ERROR. */
gemel_graph *gemel__rewrite_phase(const gemel_graph *from, gemel__pass_options *options,
                                  gemel_error *error);

/* BODY, through the phase of a gemel__pass_options (USER), without what no output needs: for
 * gemel__bodies_new. */
gemel_graph *gemel__rewrite_body(void *user, const gemel_graph *body, gemel_error *error);

/* A copy of GRAPH in the engine's normal form, without what no output needs. NULL with *ERROR. */
gemel_graph *gemel__rewrite_copy(const gemel_graph *graph, gemel_error *error);

/* If all inputs of NODE, which has one output, are constants and the result is small, a constant
 * for it is made: 1 and *VALUE; 0: not folded; -1: memory is out. */
int gemel__fold(gemel_graph *graph, uint32_t node, gemel__ref *value);

#endif
