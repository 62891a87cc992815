/* SPDX-License-Identifier: MIT
 *
 * Rewriting graphs. Rules are text: a left side, a right side, conditions, and what they give up
 * (doc/rules.md is the language's reference). gemel's own come with the library; a program may
 * parse rules of its own, and register passes written in C. A rewrite makes a new graph and leaves
 * the old one as it is; when anything fails there is an error and no new graph.
 *
 * Rules don't change, so threads may share them, and graphs may be rewritten on several threads at
 * once, one graph too. A profile, and a graph that a pass is at work on, are one thread's at a
 * time.
 */
#ifndef GEMEL_REWRITE_H
#define GEMEL_REWRITE_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/graph.h>
#include <gemel/operation.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a rewrite may give up, in the words of LLVM's fast-math flags. X(enum, word, meaning). A
 * rule without any gives the same bits on every input, all NaNs being equal. `improves` says that
 * where the left side was wrong on finite inputs the right side is within the bound, `worsens` the
 * converse, at moderate inputs. */
#define GEMEL_NEEDS_TABLE(X)                                                                       \
  X(NNAN, nnan, "a NaN among the inputs may be lost")                                              \
  X(NINF, ninf, "may differ at infinite inputs, or let a NaN input reach more than before")        \
  X(NSZ, nsz, "the sign of a zero may differ")                                                     \
  X(CONTRACT, contract, "rounds otherwise: a product isn't rounded before it is added")            \
  X(ARCP, arcp, "rounds otherwise: multiplies by a reciprocal for a division")                     \
  X(AFN, afn, "rounds otherwise: another formula for a function")                                  \
  X(REASSOC, reassoc, "rounds otherwise: sums and products in another order")                      \
  X(IMPROVES, improves, "right where the other side was wrong")                                    \
  X(WORSENS, worsens,                                                                              \
    "NaN, infinite or wrong in half of its digits where the other side was right")                 \
  X(INTEGERS, integers, "integers or truths differ, as where digits are lost on the way")

enum {
#define GEMEL_NEEDS_ENUM(E, name, meaning) GEMEL_NEEDS_INDEX_##E,
  GEMEL_NEEDS_TABLE(GEMEL_NEEDS_ENUM)
#undef GEMEL_NEEDS_ENUM
      GEMEL_NEEDS_COUNT
};
#define GEMEL_NEEDS_BIT(E) (1u << GEMEL_NEEDS_INDEX_##E)
#define GEMEL_NEEDS_ALL ((1u << GEMEL_NEEDS_COUNT) - 1)

/* What `fastmath` = none, default, all allows: the first changes no bit of what was right; with
 * the second a NaN that comes in still comes out, what was right at moderate inputs is still
 * right in more than half of its digits, and integers and truths stay as they are. */
#define GEMEL_FASTMATH_NONE GEMEL_NEEDS_BIT(IMPROVES)
#define GEMEL_FASTMATH_DEFAULT                                                                     \
  (GEMEL_NEEDS_ALL &                                                                               \
   ~(GEMEL_NEEDS_BIT(NNAN) | GEMEL_NEEDS_BIT(WORSENS) | GEMEL_NEEDS_BIT(INTEGERS)))
#define GEMEL_FASTMATH_ALL GEMEL_NEEDS_ALL

/* Word K (0 .. GEMEL_NEEDS_COUNT - 1), and what it means; NULL out of range. Static storage;
 * thread-safe. */
const char *gemel_needs_word(int k);
const char *gemel_needs_meaning(int k);

/* Phases, in their order. A graph goes through each once. */
#define GEMEL_PHASE_TABLE(X)                                                                       \
  X(CANONICALIZE, canonicalize, "one way of writing each thing")                                   \
  X(STABILIZE, stabilize, "forms that are accurate and don't overflow")                            \
  X(SPECIALIZE, specialize, "cheaper operations for special cases")

typedef enum gemel_phase {
#define GEMEL_PHASE_ENUM(E, name, summary) GEMEL_PHASE_##E,
  GEMEL_PHASE_TABLE(GEMEL_PHASE_ENUM)
#undef GEMEL_PHASE_ENUM
      GEMEL_PHASE_COUNT
} gemel_phase;

/* Name of a phase; NULL out of range. Static storage; thread-safe. */
const char *gemel_phase_name(gemel_phase phase);

/* ---- Rules ---- */

/* A rule, and a counted set of rules in the order of their text. Both immutable. */
typedef struct gemel_rule gemel_rule;
typedef struct gemel_rules gemel_rules;

/* What is known of a rule; everything lives as long as its set. */
typedef struct gemel_rule_info {
  const char *name;
  const char *family; /* the file's name without ".rules" and folders */
  gemel_phase phase;
  const char *const *tags; /* N_TAGS of them; the rule's name and family are not among them */
  size_t n_tags;
  unsigned needs;            /* bits GEMEL_NEEDS_BIT(…) */
  const char *documentation; /* the comment before the rule; "" if there is none */
  const char *text;          /* the rule as it was written */
  const char *file;
  int line;
} gemel_rule_info;

/* Parses the rules in TEXT (LENGTH bytes); FILE is for messages and for the family. Returns a set
 * with one reference, or NULL: GEMEL_BAD_TEXT (with line, column, a caret and where possible a
 * suggestion; also for two rules of one name), GEMEL_NO_MEMORY, GEMEL_BAD_ARGUMENT. Thread-safe. */
gemel_rules *gemel_rules_parse(gemel_context *context, const char *text, size_t length,
                               const char *file, gemel_error *error);

/* The same for a file: GEMEL_IO if it can't be read, GEMEL_BAD_FILE if it is longer than 64 MiB.
 * Thread-safe. */
gemel_rules *gemel_rules_load(gemel_context *context, const char *path, gemel_error *error);

/* gemel's own rules for this context, with a reference for the caller; made at the first call.
 * NULL: GEMEL_NO_MEMORY. Thread-safe. */
gemel_rules *gemel_rules_builtin(gemel_context *context, gemel_error *error);

/* Takes one more reference and returns RULES (NULL for NULL) / gives one back (NULL is ignored).
 * Thread-safe. */
gemel_rules *gemel_rules_ref(gemel_rules *rules);
void gemel_rules_unref(gemel_rules *rules);

/* How many rules, the K-th (NULL out of range), and the one called NAME (NULL: none is); they live
 * as long as the set. */
size_t gemel_rules_count(const gemel_rules *rules);
const gemel_rule *gemel_rules_at(const gemel_rules *rules, size_t k);
const gemel_rule *gemel_rules_find(const gemel_rules *rules, const char *name);

/* What is known of RULE; NULL for NULL. */
const gemel_rule_info *gemel_rule_describe(const gemel_rule *rule);

/* ---- Passes ---- */

/* A graph that a pass is at work on: the graph as it was, and the new one in the making. */
typedef struct gemel_edit gemel_edit;

/* The graph as it was; it doesn't change. Its nodes are the values {graph, id, 0} for the ids below
 * gemel_graph_node_count, inputs before what uses them; where a node has several outputs, they are
 * {graph, id, 0}, {graph, id, 1}, …. NULL for NULL. */
const gemel_graph *gemel_edit_graph(const gemel_edit *edit);

/* How often OLD is used by nodes that an output needs, and as an output; other outputs of its node
 * don't count. 0 for other graphs' values, and if there is no memory to count, which ends the pass
 * with an error. */
size_t gemel_edit_uses(gemel_edit *edit, gemel_value old);

/* What OLD, a value of the graph as it was, is in the new graph: what it was replaced by, or a
 * copy. The null value on failure, which then ends the pass with an error: GEMEL_NO_MEMORY,
 * GEMEL_BAD_ARGUMENT (another graph's value). */
gemel_value gemel_edit_value(gemel_edit *edit, gemel_value old);

/* Puts BY, a value of the new graph, in the place of OLD, before anything that uses OLD is copied:
 * so best in the order of ids. Of a node with several outputs, one may be replaced, or some, or
 * all: a node of which no output is used any more is left out, and one output may be replaced by
 * what is made of another. What BY is built from is asked for with gemel_edit_value since the last
 * replacement, and anew if it was asked for before that: the replacement must be right whatever
 * these values are, as certified compilation checks; but where they are outputs of a node of which
 * OLD or BY needs another output, whatever that node's operands are. Errors, which end the pass
 * also if it goes on: GEMEL_BAD_ARGUMENT (OLD was asked for, copied or replaced already; another
 * graph's value), GEMEL_WRONG_RULE (another type; certified: it isn't right), and the new graph's
 * error if BY is null. */
gemel_status gemel_edit_replace(gemel_edit *edit, gemel_value old, gemel_value by);

/* A rewrite that rules can't say, in C. REWRITE looks at a graph and replaces values by equal ones
 * but for NEEDS; GEMEL_OK, or a status with *ERROR. It must do the same for the same graph, and
 * nothing where that would make the graph cost more. It is called for the graphs among attributes
 * too, and again for what it made, until it replaces nothing. GENERATE appends inputs and outputs
 * to GRAPH, which is empty, on which the pass fires: a random instance, by RANDOM(USER), which
 * gives 64 fresh bits; it returns the graph's status; of gemel's own passes it is NULL, for the
 * harness has it. DATA is handed to both. */
typedef struct gemel_pass {
  size_t size; /* sizeof(gemel_pass) */
  const char *name;
  gemel_phase phase;
  int before;              /* 1: before the rules of its phase; 0: behind them */
  const char *const *tags; /* N_TAGS of them */
  size_t n_tags;
  unsigned needs;
  const char *summary;
  gemel_status (*rewrite)(gemel_edit *edit, const void *data, gemel_error *error);
  gemel_status (*generate)(gemel_graph *graph, uint64_t (*random)(void *user), void *user,
                           const void *data);
  const void *data;
} gemel_pass;

/* Registers a pass with CONTEXT: it takes part in every rewriting from then on, behind those of the
 * same place that were there before. The record is copied; what it points at, but for its name,
 * must stay valid. GEMEL_BAD_ARGUMENT (name taken or missing, no function, no generator, unknown
 * needs), GEMEL_NO_MEMORY. Thread-safe: of threads that register the same name, one succeeds. */
gemel_status gemel_register_pass(gemel_context *context, const gemel_pass *pass,
                                 gemel_error *error);

/* How many passes there are, gemel's own first, and the K-th; NULL out of range. Thread-safe. */
size_t gemel_pass_count(gemel_context *context);
const gemel_pass *gemel_pass_at(gemel_context *context, size_t k);

/* ---- Rewriting ---- */

/* How much is done. NONE: nothing. FAST_COMPILE: canonicalize and stabilize, without what is tagged
 * slow. FAST_RUN: everything. */
#define GEMEL_MODE_TABLE(X)                                                                        \
  X(NONE, none, "no rewriting")                                                                    \
  X(FAST_COMPILE, fast_compile, "canonicalize and stabilize, without what is tagged slow")         \
  X(FAST_RUN, fast_run, "everything")

typedef enum gemel_mode {
#define GEMEL_MODE_ENUM(E, name, summary) GEMEL_MODE_##E,
  GEMEL_MODE_TABLE(GEMEL_MODE_ENUM)
#undef GEMEL_MODE_ENUM
      GEMEL_MODE_COUNT
} gemel_mode;

/* Name of a mode; NULL out of range. Static storage; thread-safe. */
const char *gemel_mode_name(gemel_mode mode);

typedef struct gemel_rewrite_profile gemel_rewrite_profile;

/* Zeroed but for SIZE it means fast_run with default needs and gemel's own rules. INCLUDE and
 * EXCLUDE are lists, separated by commas or colons, of names of rules and passes, tags, families
 * and phases, with * and ? as in a shell; NULL or "" includes everything and excludes nothing. What
 * is excluded is out even if it is included. A word that names nothing is GEMEL_NOT_FOUND. */
typedef struct gemel_rewrite_options {
  size_t size;
  gemel_mode mode;
  int has_mode;   /* 0: FAST_RUN */
  unsigned allow; /* bits GEMEL_NEEDS_BIT(…) */
  int has_allow;  /* 0: GEMEL_FASTMATH_DEFAULT */
  const char *include;
  const char *exclude;
  const gemel_rules *const *rules; /* N_RULES sets, beside gemel's own, before which they come */
  size_t n_rules;
  int without_builtin;            /* gemel's own rules and passes are not used */
  int certify;                    /* 1: check every application: needs gemel_certify_enable */
  gemel_rewrite_profile *profile; /* filled in, if not NULL */
} gemel_rewrite_options;

/* A new graph with GRAPH's inputs and outputs, rewritten; one reference owned by the caller. The
 * same graph and options give the same graph, node for node. NULL on failure: GEMEL_NOT_FOUND (see
 * INCLUDE), GEMEL_BAD_ARGUMENT (SIZE is 0, a null set of rules, one of another context, two rules
 * of one name in any sets, chosen or not), GEMEL_WRONG_RULE (a rule whose right side has another
 * type than its left, rules that go in circles, which the message names, and by certify the rewrite
 * that doesn't hold, with the region before and after), GEMEL_UNSUPPORTED (certify without the
 * harness), GEMEL_NO_MEMORY. OPTIONS may be NULL. Time linear in the size of GRAPH.
 * A graph of which values lie on devices is not changed: rewrite first, then put transfers in.
 */
gemel_graph *gemel_rewrite(const gemel_graph *graph, const gemel_rewrite_options *options,
                           gemel_error *error);

/* ---- Profile ---- */

/* What a phase, and a rule or pass in it, has done. Times are in seconds of CPU of this thread. */
typedef struct gemel_rewrite_row {
  gemel_phase phase;
  const char *name; /* of a rule or pass; NULL: the phase's own row, whose time is its whole */
  double seconds;   /* of a rule: matching its candidates' patterns once they apply, and building */
  uint64_t applied; /* how often it fired */
  uint64_t declined; /* how often it would have grown the graph too much */
  uint64_t created;  /* nodes that it made */
  uint64_t before;   /* live nodes before and after; of a phase only */
  uint64_t after;
} gemel_rewrite_row;

/* An empty profile, freed with gemel_rewrite_profile_free (NULL is ignored); NULL: no memory. */
gemel_rewrite_profile *gemel_rewrite_profile_new(void);
void gemel_rewrite_profile_free(gemel_rewrite_profile *profile);

/* How many rows, and the K-th: each phase's own, then its rules and passes by time; behind them
 * those of the next rewriting that the profile is given to. NULL out of range. A row is valid until
 * the profile is used again. */
size_t gemel_rewrite_profile_count(const gemel_rewrite_profile *profile);
const gemel_rewrite_row *gemel_rewrite_profile_at(const gemel_rewrite_profile *profile, size_t k);

#ifdef __cplusplus
}
#endif
#endif
