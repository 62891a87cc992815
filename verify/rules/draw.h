/* SPDX-License-Identifier: MIT
 *
 * Draws instances of a rewrite rule, made from the rule itself: a graph that its left side matches,
 * and what the engine makes of it. This header shows only a rule's public interface, so code that
 * judges instances needn't know how rules are compiled.
 */
#ifndef GEMEL__RULES_DRAW_H
#define GEMEL__RULES_DRAW_H

#include <gemel/rewrite.h>
#include "base/random.h"

/* Which numbers constants are drawn from. */
typedef enum gemel__constants_kind {
  /* Few digits: a sum or a product of two of them is exact in every float dtype, so what a
   * rule computes of them is the exact result. */
  GEMEL__CONSTANTS_SHORT,
  GEMEL__CONSTANTS_ZERO, /* mostly zeros of both signs */
  GEMEL__CONSTANTS_WIDE, /* all finite numbers: extremes, subnormals, beside the rule's literals */
  GEMEL__CONSTANTS_INFINITE, /* these, and infinities */
  GEMEL__CONSTANTS_NAN       /* these, and NaN */
} gemel__constants_kind;

typedef struct gemel__rule_instance {
  gemel_graph *left;  /* constant sizes; one output, "y" */
  gemel_graph *right; /* made by the engine; NULL: see PROBLEM */
  /* The same with a symbol for each size above 1. NULL if there is no such graph, or the rule
   * doesn't apply to it. */
  gemel_graph *symbolic_left, *symbolic_right;
  gemel_dtype dtype;     /* of the result */
  uint64_t shapes;       /* a hash of the types of the inputs */
  uint64_t content;      /* a hash of the left side: equal instances have equal ones */
  int rank;              /* the highest rank of an input */
  uint64_t taken, alone; /* the rule's arms, as gemel__arms_taken says */
  int floats;            /* 1: some variable is bound to a float constant */
  int wide;              /* 1: constants are of all magnitudes */
  int special;           /* some constant is infinite or NaN: a gemel__constants_kind; else 0 */
  gemel_error problem;   /* the engine's error if it refuses the right side */
} gemel__rule_instance;

/* Counts of draws that failed, and why: shown if a rule has no instance. */
typedef struct gemel__rule_draws {
  size_t tried;
  size_t unbuilt;   /* the left side couldn't be built */
  size_t unmatched; /* built, but the matcher or a condition declined */
  size_t unfired;   /* matched, but the engine didn't apply the rule */
  char reason[160]; /* of the last that couldn't be built */
  uint32_t asked;   /* 1 + the last condition that was asked in any; UINT32_MAX: all held in one */
  size_t came;      /* tries that came to this condition */
} gemel__rule_draws;

/* How an instance is drawn. */
typedef struct gemel__rule_wish {
  gemel_dtype dtype;    /* if the rule leaves a choice */
  int64_t max_elements; /* of an operand */
  int empty;            /* 1: sizes of 0 are frequent */
  int tries;
  /* To tell a rule from its mutants: */
  int reused; /* 1: values that the left side names are often outputs too */
  int plain;  /* 1: no symbolic graphs */
  gemel__constants_kind constants;
  int deep;       /* 1: ranks are 5 to 8 if there is a choice */
  int64_t length; /* not 0: sizes are this or 1 if there is a choice */
  int eager;      /* 1: sizes that the rule names are frequent, after smaller ones failed */
  int far;        /* 1: larger ones are too, after no instance was found without them */
  size_t arm;     /* 1 + the arm or boundary that is to be taken; 0: any */
  const struct gemel__hint *hint; /* sizes and attributes of variables; NULL: are drawn */
} gemel__rule_wish;

/* The engine with one rule, which it borrows. It is made once for all instances, and is for one
 * thread at a time. NULL: memory is out. gemel__rule_engine_free(NULL) does nothing. */
typedef struct gemel__rule_engine gemel__rule_engine;
gemel__rule_engine *gemel__rule_engine_new(gemel_context *context, const gemel_rule *rule,
                                           gemel_error *error);
void gemel__rule_engine_free(gemel__rule_engine *engine);

/* The arms of the engine's rule. */
const struct gemel__arms *gemel__rule_arms(const gemel__rule_engine *engine);

/* Draws an instance of the engine's rule. GEMEL_DECLINED: none was found. GEMEL_NO_MEMORY. Release
 * with gemel__rule_instance_clear. */
gemel_status gemel__rule_draw(gemel__rule_engine *engine, const gemel__rule_wish *wish,
                              gemel__random *random, gemel__rule_instance *instance,
                              gemel__rule_draws *draws, gemel_error *error);
void gemel__rule_instance_clear(gemel__rule_instance *instance);

/* *SYMBOLIC: LEFT with symbols for sizes above 1, or NULL if it isn't a graph then. GEMEL_OK or
 * GEMEL_NO_MEMORY. */
gemel_status gemel__rule_symbolic(const gemel_graph *left, gemel_graph **symbolic);

/* 1 if RULE asks how often a value is used. */
int gemel__rule_asks_uses(const gemel_rule *rule);

/* 1 if a condition of RULE asks whether something is constant, for a constant's value, or for a
 * fact, which constants may have. */
int gemel__rule_asks_constants(const gemel_rule *rule);

/* 1 if TYPE has a size of 0. */
int gemel__type_is_empty(gemel_context *context, gemel_type type);

/* 1 if some result of GRAPH has elements. */
int gemel__rule_has_elements(const gemel_graph *graph);

/* Fills in the members that follow from the left side. GEMEL_OK or GEMEL_NO_MEMORY. */
gemel_status gemel__rule_describe_instance(gemel__rule_instance *instance);

/* 1 if a word of LIST (NULL: anything) matches the rule's name, family, phase or a tag. */
int gemel__rule_named(const gemel_rule_info *info, const char *list);

/* GRAPH rewritten by the engine's rule alone, with unused nodes dropped. Constants aren't folded:
 * a folded one is rounded to its dtype, and a rule's sides are compared without rounding. NULL:
 * ERROR says why, or is GEMEL_OK if the rule doesn't apply. */
gemel_graph *gemel__rule_apply(gemel__rule_engine *engine, const gemel_graph *graph,
                               gemel_error *error);

#endif
