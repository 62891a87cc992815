/* SPDX-License-Identifier: MIT
 *
 * Instances of a rewrite rule, made from the rule itself: a graph that its left side matches, and
 * what the engine makes of it. The rule isn't looked at here but through its public face, so that
 * who judges instances needn't know how rules are compiled.
 */
#ifndef GEMEL__RULES_DRAW_H
#define GEMEL__RULES_DRAW_H

#include <gemel/rewrite.h>
#include "base/random.h"

/* Which numbers constants are drawn from. */
typedef enum gemel__constants_kind {
  /* Few digits: a sum or a product of two of them is exact in every float dtype, so that constants
   * that a rule folds are what they are over the reals. */
  GEMEL__CONSTANTS_SHORT,
  GEMEL__CONSTANTS_ZERO,     /* mostly zeros of both signs */
  GEMEL__CONSTANTS_WIDE,     /* all finite ones: extremes, subnormals, beside the rule's literals */
  GEMEL__CONSTANTS_INFINITE, /* and infinities */
  GEMEL__CONSTANTS_NAN       /* and NaN */
} gemel__constants_kind;

typedef struct gemel__rule_instance {
  gemel_graph *left;  /* constant sizes; one output, "y" */
  gemel_graph *right; /* by the engine; NULL: see PROBLEM */
  /* The same with a symbol for each size above 1; NULL if that isn't a graph, or the rule doesn't
   * apply to it. */
  gemel_graph *symbolic_left, *symbolic_right;
  gemel_dtype dtype;   /* of the result */
  uint64_t shapes;     /* a hash of the types of the inputs */
  uint64_t content;    /* and of the whole left side: the same instance has the same */
  int rank;            /* the highest of an input */
  int floats;          /* some constant that a variable stands for is of a float dtype */
  int wide;            /* constants are of all magnitudes */
  int special;         /* and an infinity or a NaN: a gemel__constants_kind, else 0 */
  gemel_error problem; /* the engine refuses what the rule makes: its right side has another type */
} gemel__rule_instance;

/* Why draws came to nothing, for a rule of which there is no instance. */
typedef struct gemel__rule_draws {
  size_t tried;
  size_t unbuilt;   /* the left side can't be built so */
  size_t unmatched; /* built, but the matcher or a condition refuses it */
  size_t unfired;   /* matched, but the engine declined to apply the rule */
  char reason[160]; /* of the last that wasn't built */
} gemel__rule_draws;

/* How an instance is drawn. */
typedef struct gemel__rule_wish {
  gemel_dtype dtype;    /* where there is a choice */
  int64_t max_elements; /* of an operand */
  int empty;            /* sizes of 0 come often */
  int fold;             /* constants are folded while rewriting */
  int tries;
  /* For instances on which a rule and its mutants differ: */
  int reused; /* values that the left side names are results of the graph too, often */
  int many;   /* `..xs` often matches about as many operands */
  int plain;  /* no symbolic graphs */
  gemel__constants_kind constants;
  int deep;       /* shapes are of rank 5 to 8 where there is a choice */
  int64_t length; /* not 0: sizes are this or 1 where there is a choice */
  int eager;      /* sizes that the rule names come often: smaller ones led to nothing */
} gemel__rule_wish;

/* The engine with one rule (borrowed), made once for all instances; for one thread at a time. NULL:
 * memory is out. Free NULL does nothing. */
typedef struct gemel__rule_engine gemel__rule_engine;
gemel__rule_engine *gemel__rule_engine_new(gemel_context *context, const gemel_rule *rule,
                                           gemel_error *error);
void gemel__rule_engine_free(gemel__rule_engine *engine);

/* Draws an instance of the engine's rule. GEMEL_DECLINED: none was found. GEMEL_NO_MEMORY. Release
 * with gemel__rule_instance_clear. */
gemel_status gemel__rule_draw(gemel__rule_engine *engine, const gemel__rule_wish *wish,
                              gemel__random *random, gemel__rule_instance *instance,
                              gemel__rule_draws *draws, gemel_error *error);
void gemel__rule_instance_clear(gemel__rule_instance *instance);

/* *SYMBOLIC: LEFT with symbols for sizes above 1, or NULL if it isn't a graph then. GEMEL_OK or
 * GEMEL_NO_MEMORY. */
gemel_status gemel__rule_symbolic(const gemel_graph *left, gemel_graph **symbolic);

/* 1 if RULE asks how often something is used. */
int gemel__rule_asks_uses(const gemel_rule *rule);

/* 1 if RULE asks for a constant, for the value of one, or for a fact, which constants have. */
int gemel__rule_asks_constants(const gemel_rule *rule);

/* The number up to 64 that stands in a condition of RULE with a count of operands; 0: there is
 * none.
 */
int gemel__rule_count_limit(const gemel_rule *rule);

/* 1 if TYPE has a size of 0. */
int gemel__type_is_empty(gemel_context *context, gemel_type type);

/* 1 if some result of GRAPH has elements. */
int gemel__rule_has_elements(const gemel_graph *graph);

/* Fills in what follows from the left side. GEMEL_OK or GEMEL_NO_MEMORY. */
gemel_status gemel__rule_describe_instance(gemel__rule_instance *instance);

/* 1 if a word of LIST (NULL: anything) matches the rule's name, family, phase or a tag. */
int gemel__rule_named(const gemel_rule_info *info, const char *list);

/* GRAPH rewritten by the engine's rule alone, without what nothing uses then. NULL with an ERROR
 * that isn't GEMEL_OK, or with nothing in it if the rule doesn't apply. */
gemel_graph *gemel__rule_apply(gemel__rule_engine *engine, const gemel_graph *graph, int fold,
                               gemel_error *error);

#endif
