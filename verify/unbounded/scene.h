/* SPDX-License-Identifier: MIT
 *
 * A *scene* is one structure of a rule's instances: ranks, which axes, how many operands `..xs`
 * took, how each axis was broadcast. All else (sizes, starts, strides, margins) is a symbol. Scenes
 * are enumerated by running the same code with one list of choices after another.
 *
 * What makes the left side valid, and the conditions, are hypotheses; what makes the right side
 * valid is to be proved. A condition of a rule holds where gemel *knows* it, which is less than
 * being true: functions that ask what is known go both ways.
 */
#ifndef GEMEL__UNBOUNDED_SCENE_H
#define GEMEL__UNBOUNDED_SCENE_H

#include <gemel/status.h>
#include "core/arena.h"
#include "rules/rule.h"
#include "unbounded/ask.h"
#include "unbounded/axes.h"
#include "unbounded/hint.h"
#include "unbounded/term.h"

enum {
  GEMEL__PAXES = 8,     /* most axes of a tensor */
  GEMEL__PLIST = 32,    /* most entries of a list */
  GEMEL__PPARTS = 12,   /* most operands */
  GEMEL__PCHOICES = 48, /* most choices of a scene */
  GEMEL__PFACTS = 16,   /* most facts of elements that a rule asks for */
  GEMEL__PHELD = 512    /* most sizes and attributes of the left side that are remembered */
};

struct gemel__pscene;
struct gemel__ptensor;
struct gemel__precord;

/* What a truth is shown for: the steps of a proof. X(enum, name, meaning in a record). */
#define GEMEL__PSTEP_TABLE(X)                                                                      \
  X(FOLLOWS, "follows", "this holds in the scene, which says how an operand is read")              \
  X(KNOWN, "known",                                                                                \
    "gemel knows this where the rule is applied, or that it isn't so; the scene doesn't divide")   \
  X(NO_INSTANCE, "no instance",                                                                    \
    "this contradicts itself, so the scene is no instance of the rule")                            \
  X(NO_ELEMENT, "no element", "there is no index, so the result has no element to compare")        \
  X(VALID, "right side valid", "what an operation of the right side needs holds")                  \
  X(CASE, "cases", "this case can't be, so the sides needn't be the same in it")                   \
  X(FOLD, "fold", "both folds take as many terms")                                                 \
  X(OPERANDS, "operands", "an operand of one call is that of the other")                           \
  X(MAP, "map",                                                                                    \
    "a map of one sum's indices to the other's keeps ranges and guards, and its inverse undoes "   \
    "it")                                                                                          \
  X(EMPTY, "no terms", "no index of this sum has its guards, so it is 0")                          \
  X(ONE, "one", "this size is 1, so an index below it is 0")                                       \
  X(DEFINED, "defined", "where one side is a number, the other is")                                \
  X(SAME, "same term", "the element of the left side is that of the right one")                    \
  X(CONSISTENT, "no contradiction",                                                                \
    "what was asserted in this scene has a model, so that not just anything follows from it")

typedef enum gemel__pstep {
#define GEMEL__PSTEP_ENUM(E, name, meaning) GEMEL__PSTEP_##E,
  GEMEL__PSTEP_TABLE(GEMEL__PSTEP_ENUM)
#undef GEMEL__PSTEP_ENUM
} gemel__pstep;

/* What is known of elements. ANY: nothing, so that what is proved holds for every dtype. VALUES:
 * floats are reals, integers rings, and functions are what they mean. BITS: floats are those of
 * their format. */
typedef enum gemel__ppass { GEMEL__PASS_ANY, GEMEL__PASS_VALUES, GEMEL__PASS_BITS } gemel__ppass;

/* What an attribute or a part of a condition is. */
typedef enum gemel__pvalue_kind {
  GEMEL__PV_NO_VALUE, /* the rule doesn't apply */
  GEMEL__PV_ABSENT,   /* `none` */
  GEMEL__PV_INTEGER,  /* LIST[0] */
  GEMEL__PV_LIST,
  GEMEL__PV_TRUTH, /* LIST[0] */
  GEMEL__PV_REAL,  /* a number of which nothing is known */
  GEMEL__PV_DTYPE, /* NAME; two are the same dtype if they have one name, else that isn't known */
  GEMEL__PV_TENSOR,
  GEMEL__PV_TENSORS,
  GEMEL__PV_OTHER
} gemel__pvalue_kind;

typedef struct gemel__pvalue {
  unsigned char kind;
  uint32_t count;
  gemel__pterm list[GEMEL__PLIST];
  const char *name;
  gemel__pterm_sort sort; /* of a DTYPE: elements of that dtype have it */
  const struct gemel__ptensor *tensors[GEMEL__PPARTS]; /* COUNT of them; of a TENSOR, the first */
} gemel__pvalue;

/* How an axis of an operand is read at an index of what it is broadcast to. */
typedef struct gemel__pmap {
  unsigned char along; /* the axis of the result */
  unsigned char kind;  /* GEMEL__PMAP_… */
} gemel__pmap;

enum { GEMEL__PMAP_SAME, GEMEL__PMAP_ZERO, GEMEL__PMAP_EITHER /* at 0 if the size is 1 */ };

/* See gemel__pscene_fact. */
typedef struct gemel__pfact {
  const char *name, *what;
  gemel__pterm_sort sort;
  gemel__pterm truth;
} gemel__pfact;

/* A tensor is its sizes, and the element at an index as a term (its pull). */
typedef struct gemel__ptensor {
  const struct gemel__ppull *pull; /* NULL: a variable of the rule, or a literal */
  const gemel__op *op;
  const char *name;       /* of a variable or literal */
  int is_number;          /* a literal, and elements have a dtype: NAME is the number */
  int uniform;            /* all elements are one */
  const char *dtype;      /* its dtype is one with those of the same name; NULL: of its own */
  gemel__pterm_sort sort; /* of its elements */
  int rank;
  gemel__pterm shape[GEMEL__PAXES];
  uint32_t count;
  const struct gemel__ptensor *operands[GEMEL__PPARTS];
  const gemel__pvalue *attrs; /* in the order of the operation's schema */
  gemel__pmap maps[GEMEL__PPARTS][GEMEL__PAXES];
  int output; /* which output of the operation this is */
} gemel__ptensor;

/* INDICES into SIZE places, all of which are looked up. */
typedef struct gemel__plookup {
  const gemel__ptensor *indices;
  gemel__pterm size;
} gemel__plookup;

/* Symbols that are another term, by equations among the first SOLVED_FOR truths of a scene. */
typedef struct gemel__psolutions {
  gemel__pterm *symbols, *terms;
  size_t count, symbol_capacity, term_capacity, solved_for;
  uint64_t hash; /* of these truths */
} gemel__psolutions;

typedef enum gemel__pflow {
  GEMEL__P_GO,
  GEMEL__P_SKIP,   /* these choices are no instance of the rule */
  GEMEL__P_OPEN,   /* no proof: WHY says so */
  GEMEL__P_FAILED, /* memory is out */
} gemel__pflow;

typedef struct gemel__pscene {
  const struct gemel_rule *rule;
  gemel__pterms terms;
  gemel__ask ask;
  gemel__arena arena;
  gemel__pflow flow;
  char why[200];
  struct gemel__precord *record; /* NULL: nobody keeps one */
  gemel__hints hints;            /* of scenes that are open, and of this one */
  int right;                     /* the right side is looked at: what it needs is to be proved */
  gemel__ppass pass;
  unsigned dtypes;  /* that variables may have: a bit for each; of the pass ANY none */
  unsigned used;    /* of these, those of the scene */
  unsigned proved;  /* those of scenes that were proved */
  unsigned dropped; /* those of which no more scenes are looked at */
  /* How many tensors and attributes of the scene have a dtype of their own; the most of a scene. */
  uint32_t n_dtypes, most_dtypes;
  int most_rank;
  int without; /* up to this rank there is no instance of these dtypes */
  gemel__axes_report axes;
  int pointwise; /* all operations are elementwise: tensors stand for one element of theirs */
  /* Choices: GIVEN by who enumerates, then 0; LIMITS: how many each has. */
  unsigned char given[GEMEL__PCHOICES], limits[GEMEL__PCHOICES];
  uint32_t n_given, n_chosen;
  /* What holds; what a check at run time says isn't known when the rule is applied. */
  gemel__pterm *known;
  unsigned char *at_run_time;
  size_t n_known, known_capacity, run_time_capacity;
  gemel__psolutions solved, solved_known; /* by all of it; by what is known then */
  gemel__pterm unknown[GEMEL__PCHOICES];  /* truths that were asked for, and aren't known */
  uint32_t n_unknown;
  gemel__plookup looked_up[GEMEL__PPARTS]; /* by the left side */
  uint32_t n_looked_up;
  /* What the left side has for sizes and attributes, and the numbers of elements of its tensors;
   * how large each of the first N_MAGNITUDES terms may be (bounds.c). */
  gemel__pterm held[GEMEL__PHELD], areas[2 * GEMEL__RULE_NODES];
  uint32_t n_held, n_areas;
  double *magnitudes;
  size_t n_magnitudes, magnitude_capacity;
  gemel__pvalue *variables; /* of the rule; kind NO_VALUE: not bound yet */
  unsigned char bound[GEMEL__RULE_VARIABLES], uniform[GEMEL__RULE_VARIABLES];
  gemel__pterm steps[GEMEL__PLIST]; /* that those of the left side's windows aren't 0 */
  uint32_t n_steps;
  gemel__pterm integers[4 * GEMEL__PLIST]; /* symbols that are plain integers of the graph */
  uint32_t n_integers;
  gemel__pfact facts[GEMEL__PFACTS];
  uint32_t n_facts;
  gemel__pterm indices[GEMEL__PCHOICES][2]; /* symbols that are indices, and the size above each */
  uint32_t n_indices;
  /* What is always so of products with an index, and of quotients by a step that is a symbol
   * (equal.c), and the terms up to which that has been said. */
  gemel__pterm *lemmas;
  size_t n_lemmas, lemma_capacity, lemmas_for, indices_seen;
} gemel__pscene;

/* Releases all that S has, but for the rule's variables. */
void gemel__pscene_clear(gemel__pscene *s);

/* Ends the scene, unless it has ended. */
void gemel__pscene_stop(gemel__pscene *s, gemel__pflow flow, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A choice among the scene's dtypes, as the sort of such elements. */
gemel__pterm_sort gemel__pscene_choose_dtype(gemel__pscene *s);

/* A choice among COUNT. */
uint32_t gemel__pscene_choose(gemel__pscene *s, uint32_t count);

/* TRUTH holds from here on. AT_RUN_TIME: a check finds that out when the graph runs. */
void gemel__pscene_assume(gemel__pscene *s, gemel__pterm truth, int at_run_time);

/* SYMBOL is a plain integer of the graph: what is asked of it is known. */
void gemel__pscene_plain_integer(gemel__pscene *s, gemel__pterm symbol);

/* SYMBOL is an index of an axis of SIZE from here on. */
void gemel__pscene_index(gemel__pscene *s, gemel__pterm symbol, gemel__pterm size);

/* 1 if TRUTH follows from all that holds; for step KNOWN, from what is known when the rule is
 * applied. */
int gemel__pscene_provable(gemel__pscene *s, gemel__pterm truth, gemel__pstep step);

/* 1 if TRUTH is plain, without a question: by equations, and by sizes that aren't negative. */
int gemel__pscene_plain(gemel__pscene *s, gemel__pterm truth);

/* 1 if A is the number 1 as gemel's sizes are written when the rule is applied: such an axis, and
 * no other, is repeated where operands broadcast. */
int gemel__pscene_is_literal_one(gemel__pscene *s, gemel__pterm a);

/* The side that is looked at has INDICES, or classes, into SIZE places. That they are inside is so
 * on the left, and to be shown on the right (indices.c). */
void gemel__pscene_look_up(gemel__pscene *s, const gemel__ptensor *indices, gemel__pterm size);

/* How many operands or parts there are, from LEAST to USUAL, or as many as the rule's text asks for
 * (many.c): a choice. */
uint32_t gemel__pscene_how_many(gemel__pscene *s, uint32_t least, uint32_t usual);

/* What makes an operation valid: assumed of the left side, to be proved of the right one. */
void gemel__pscene_need(gemel__pscene *s, gemel__pterm truth, int at_run_time, const char *what);

/* 1 if gemel knows TRUTH. Where that isn't settled it is a choice: known, and then true, or not. */
int gemel__pscene_knows(gemel__pscene *s, gemel__pterm truth);

/* A truth of which nothing is known. */
gemel__pterm gemel__pscene_free_truth(gemel__pscene *s);

/* TRUTH is so wherever it is used. */
void gemel__pscene_lemma(gemel__pscene *s, gemel__pterm truth);

/* TRUTH, which is free, is that WHAT is so of each element of variable NAME. */
void gemel__pscene_fact(gemel__pscene *s, const char *name, gemel__pterm_sort sort,
                        const char *what, gemel__pterm truth);

/* The value of an attribute expression or a condition (attribute.c). */
void gemel__pscene_evaluate(gemel__pscene *s, const gemel__termexpr *expr, gemel__pvalue *value);

/* VALUE as a truth; 0 if it is none. */
gemel__pterm gemel__pvalue_truth(gemel__pscene *s, const gemel__pvalue *value);

/* The size of an axis to which sizes A and B broadcast. */
gemel__pterm gemel__pscene_broadcast(gemel__pscene *s, gemel__pterm a, gemel__pterm b);

/* ---- Operations (pull.c and its like) ---- */

typedef struct gemel__ppull {
  const char *operation;
  /* Sets rank and sizes of T from its operands and attributes, and says what it needs. */
  void (*shape)(gemel__pscene *s, gemel__ptensor *t);
  gemel__pterm (*pull)(gemel__pscene *s, const gemel__ptensor *t, const gemel__pterm *index);
  /* What dtype the elements of T have, by those of its operands; GEMEL_DTYPE_COUNT: it refuses
   * them. NULL: that of operand 0. */
  gemel_dtype (*dtype)(const gemel__ptensor *t);
} gemel__ppull;

/* The row of OP, or NULL: nobody has said what it pulls. */
const gemel__ppull *gemel__ppull_of(const gemel__op *op);

/* The element of T at INDEX. */
gemel__pterm gemel__ptensor_pull(gemel__pscene *s, const gemel__ptensor *t,
                                 const gemel__pterm *index);

/* Sets how operand K of T is read where it is broadcast to T's sizes. */
void gemel__ptensor_map(gemel__pscene *s, gemel__ptensor *t, uint32_t k);

/* The element of operand K, which is broadcast to T's sizes, at INDEX of T. */
gemel__pterm gemel__ptensor_pull_operand(gemel__pscene *s, const gemel__ptensor *t, uint32_t k,
                                         const gemel__pterm *index);

/* Attribute NAME of T; NULL if its operation has none of that name. */
const gemel__pvalue *gemel__ptensor_attr(const gemel__ptensor *t, const char *name);

/* Both sides of the rule, made from its text (sides.c). */
gemel__ptensor *gemel__pscene_left(gemel__pscene *s);
gemel__ptensor *gemel__pscene_right(gemel__pscene *s, const gemel__ptensor *left);

/* 1 if elements A and B are the same wherever what is known holds (equal.c). */
int gemel__pscene_same(gemel__pscene *s, gemel__pterm a, gemel__pterm b);

/* Adds what is always so of the products and quotients among the terms. */
void gemel__pscene_lemmas(gemel__pscene *s);

#endif
