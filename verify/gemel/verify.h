/* SPDX-License-Identifier: MIT
 *
 * The harness: evidence that what is shipped computes what its reference says, or a small
 * counterexample. Evidence comes in tiers, each with its own question; doc/verify.md explains them.
 *
 * Functions may be called on several threads at once, each with a context of its own; those that
 * are called thread-safe below, with one context too. What OPTIONS have called (sinks, tick) is
 * called on the calling thread.
 */
#ifndef GEMEL_VERIFY_H
#define GEMEL_VERIFY_H

#include <gemel/gemel.h>
#include <gemel/reference.h>
#include <gemel/sample.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The tiers. X(enum, name, question). */
#define GEMEL_TIER_TABLE(X)                                                                        \
  X(REAL, real, "are both sides the same function over the reals?")                                \
  X(INTEGER, integer, "does the shipped code give the exact result where everything is exact?")    \
  X(FLOAT, float, "is each result within the bound propagated for this input?")                    \
  X(GRADIENT, gradient, "is the symbolic derivative the derivative?")                              \
  X(SPECIAL, special, "NaN, infinities, signed zeros, ties, odd layouts: as the conventions say?")

typedef enum gemel_tier {
#define GEMEL_TIER_ENUM(E, name, question) GEMEL_TIER_##E,
  GEMEL_TIER_TABLE(GEMEL_TIER_ENUM)
#undef GEMEL_TIER_ENUM
      GEMEL_TIER_COUNT
} gemel_tier;

/* What came out. X(enum, text, severity): the larger the severity, the worse. Only PASSED and
 * NOT_APPLICABLE are good. The first, which memory set to zero reads as, is not. */
#define GEMEL_VERDICT_TABLE(X)                                                                     \
  X(NOT_RUN, "not run", 2)                                                                         \
  X(PASSED, "passed", 0)                                                                           \
  X(NOT_APPLICABLE, "not applicable", 1)                                                           \
  X(UNINFORMATIVE, "uninformative", 3)                                                             \
  X(OVERSTATED, "overstated", 4)                                                                   \
  X(REFUTED, "refuted", 5)

typedef enum gemel_verdict {
#define GEMEL_VERDICT_ENUM(E, text, severity) GEMEL_VERDICT_##E,
  GEMEL_VERDICT_TABLE(GEMEL_VERDICT_ENUM)
#undef GEMEL_VERDICT_ENUM
      GEMEL_VERDICT_COUNT
} gemel_verdict;

/* What carries a verdict, the weaker first. X(enum, name, meaning). */
#define GEMEL_EVIDENCE_TABLE(X)                                                                    \
  X(NONE, "", "nothing")                                                                           \
  X(SAMPLES, "samples", "exact evaluation at points that say nothing of others")                   \
  X(TAYLOR, "Taylor", "differences of the operation's own results at shrinking steps")             \
  X(CELLS, "cells", "exact evaluation at points of many linear pieces")                            \
  X(BOUND, "bound", "results within the error that a correct implementation may have")             \
  X(BITS, "bits", "results that agree bit for bit")                                                \
  X(FIELD, "field", "residues at random elements of prime fields")                                 \
  X(SOLVER, "solver", "a proof by a solver")                                                       \
  X(IDENTITY, "identity", "one node of both graphs")

typedef enum gemel_evidence {
#define GEMEL_EVIDENCE_ENUM(E, name, meaning) GEMEL_EVIDENCE_##E,
  GEMEL_EVIDENCE_TABLE(GEMEL_EVIDENCE_ENUM)
#undef GEMEL_EVIDENCE_ENUM
      GEMEL_EVIDENCE_COUNT
} gemel_evidence;

/* Names of tiers, verdicts and kinds of evidence; "?" out of range, never NULL. Static storage;
 * thread-safe. */
const char *gemel_tier_name(gemel_tier tier);
const char *gemel_verdict_name(gemel_verdict verdict);
const char *gemel_evidence_name(gemel_evidence evidence);

/* How bad a verdict is, by the table; for what is none more than any. Compare verdicts by this, not
 * by their numbers. Thread-safe. */
int gemel_verdict_severity(gemel_verdict verdict);

/* What has been proved of a rule. A proof is for every size, start, stride and margin; ELEMENTS and
 * RANKS say how far it goes beside that. It is about what both sides compute, not about what an
 * engine knows or how sums are ordered: it stands beside what is measured, and replaces none of it.
 * doc/proofs.md says what is trusted. */
typedef struct gemel_proof {
  size_t size;          /* sizeof(gemel_proof) */
  const char *rule;     /* its name */
  const char *elements; /* "any": the proof doesn't look into elements, so it holds for all dtypes
                           and all values; "bits (f16 ...)": bit by bit in these formats; "values
                           (reals, i8 ..., bool)": in the reals, in rings of integers, of truths,
                           which may stand beside bits; NULL: there is no proof */
  int ranks;            /* for tensors of up to so many axes */
  int all_ranks;        /* 1: for any number of axes */
  size_t scenes;        /* structures (ranks, axes, broadcasts) that were gone through */
  size_t questions;     /* to the solver */
  const char *why;      /* why there is no more; "" if there is nothing to say */
  int recorded;         /* 1: it wasn't looked for now, but when this gemel was made */
  uint64_t text_hash;   /* of the rule's text (FNV-1a) and of the prover's sources, to which a */
  uint32_t prover;      /* record is bound */
  size_t checked;       /* small instances of the claim on which both sides were compared; 0: it
                           is recorded, or there is none */
  const char *counterexample; /* to what was claimed: the prover is wrong, and the claim withdrawn;
                                 NULL: none was found */
} gemel_proof;

/* One verdict. Strings are borrowed for the duration of the call that hands the record over. */
typedef struct gemel_record {
  size_t size;
  const char
      *kind; /* "operation", "gradient" (its derivative graph), "kernel", "pair", "rule", "pass" */
  const char *name;
  gemel_tier tier;
  gemel_verdict verdict;
  gemel_evidence how; /* what carries it */
  const char *detail; /* reason, caveat, or what was measured; "" if there is nothing to say */
  size_t instances;   /* how many were tried */
  size_t elements;    /* how many results were compared */
  uint64_t seed;
  double seconds;
  double worst;               /* tier float: largest error ÷ bound; else 0 */
  double error_probability;   /* of passing although false, as far as the model says; else 0 */
  const char *counterexample; /* graph text, inputs and both results; NULL unless refuted */
  const char *replay;         /* folder that reproduces it; NULL if none was written */
  /* Kind "rule": */
  unsigned needs, declared; /* measured and declared, bits GEMEL_NEEDS_BIT(…) */
  size_t shapes;            /* different shapes of the operands, of all INSTANCES */
  double before;            /* tier float: WORST of the left side */
  const char *text;         /* the rule as it was written */
  const gemel_proof *proof; /* what is proved of it, borrowed as strings are; NULL: nobody asked */
  const char *witnesses;    /* tier special, if asked for and passed: for each word of NEEDS a line
                               with it, and where it shows */
  /* Tier special of a scalar operation: */
  double ulp;       /* the largest error of a result, in units of the last place; else 0 */
  const char *ulps; /* the largest errors by dtype, sign and binade of the first operand, as JSON:
                       {"f32": {"-": [[from, to, ulp], …], "+": …}, …}, FROM and TO exponents; NULL
                       if none was measured */
} gemel_record;

typedef void (*gemel_record_sink)(void *user, const gemel_record *record);

struct gemel_pair_result;
/* Options; start from {0} and set SIZE, which as 0 is GEMEL_BAD_ARGUMENT. */
typedef struct gemel_verify_options {
  size_t size;
  uint64_t seed;
  size_t instances; /* for each operation and tier; 0: 96 */
  unsigned tiers;   /* bit 1 << tier; 0: all */
  const char *ops;  /* operations' names, * and ? as in a shell, commas between them; NULL: all */
  const char *replay_folder; /* where counterexamples are written; NULL: nowhere */
  gemel_record_sink sink;    /* called for each record, on the calling thread */
  void *user;
  size_t jobs; /* operations, rules, or instantiations and tiers of a pair, verified at a time, each
                  on a thread of its own; 0: one, on the calling thread. What is reported, and its
                  order, doesn't depend on it */
  int proofs;  /* 1: records of rules say what is proved of them */
  int witnesses;         /* 1: records say where each word of needs shows */
  int in_process;        /* gemel_verify_kernel: 1: no process of its own, for a debugger */
  double kernel_seconds; /* gemel_verify_kernel: CPU time that one call may take; 0: 10 */
  const char *counterexample_folder; /* gemel_verify_pair: where the graphs of a pair that is
                                        refuted are written, with inputs at which they differ and
                                        both results: first/ and second/ as by gemel_dump, and
                                        question, for gemel_verify_replay; NULL: nowhere. GEMEL_IO
                                        at once if one is there */
  const char *match; /* gemel_verify_pair: which input and output is which. NULL: those of one name;
                        "place": the first is the first; "x=a,y=b": x of the first graph is a of the
                        second, others by name */
  int (*tick)(void *user, const char *doing); /* gemel_verify_pair: called many times a second, on
                        the calling thread alone, with USER and with what is being done, as "tier
                        real, 2 of 5" (borrowed for the call). Other than 0: stop. NULL: nobody is
                        asked. Of operations and rules: those that are being verified come to their
                        end, the others are not run */
  int quick; /* 1: a look at many operations and rules in little time. INSTANCES 0 means 8; what is
                proved of gemel's own rules is taken from the record (gemel_rule_proved) where it
                has them; a word of needs that the instances don't show isn't looked for further, so
                a rule that declares too much passes */
  void (*output)(void *user, const char *name, const struct gemel_pair_result *result);
  /* gemel_verify_pair: where graphs of several outputs differ, called for each output,
     in the first graph's order, with USER and what was found of it alone (borrowed for
     the call). NULL: nobody is told */
  unsigned allow; /* gemel_verify_kernel: what the kernel may give up, bits GEMEL_NEEDS_BIT(…). With
                     NNAN, NINF, NSZ it isn't given any NaN, infinity, −0, and is judged on all
                     else; ARCP, AFN and REASSOC widen bounds; CONTRACT changes nothing, as it is
                     within them; IMPROVES, WORSENS and INTEGERS change nothing either, since what a
                     kernel is held to is right. 0: it gives up nothing */
} gemel_verify_options;

/* Counts of a run. */
typedef struct gemel_verify_summary {
  size_t size; /* sizeof(gemel_verify_summary), set by the caller */
  size_t records;
  size_t verdicts[GEMEL_VERDICT_COUNT];
} gemel_verify_summary;

/* Verifies every operation of CONTEXT whose name matches OPTIONS->ops, and its first and second
 * derivatives, in every tier; where CONTEXT has a device in memory space 1, on the host and there.
 * Verdicts go to the sink; the return value is about the run itself: GEMEL_NOT_FOUND (nothing
 * matches), GEMEL_BAD_ARGUMENT (no context, OPTIONS or SUMMARY of size 0), GEMEL_NO_MEMORY. SUMMARY
 * may be NULL. With OPTIONS->jobs, what a program registered is called on several threads.
 * Thread-safe for different contexts. */
gemel_status gemel_verify_operations(gemel_context *context, const gemel_verify_options *options,
                                     gemel_verify_summary *summary, gemel_error *error);

/* Verifies KERNEL as one more implementation of operation NAME, alone (nothing else of the
 * operation is under test): tiers integer, float and special. A kernel that declines an instance
 * isn't judged on it: others are drawn. DETAIL says what it took, in how many calls, what it was
 * offered and never took (dtypes, ranks, layouts), the reason that it most often left in
 * call->error when it declined, some of what it declined if that is more than half, and what
 * OPTIONS->allow allows. One that declines all that it is offered is GEMEL_VERDICT_NOT_RUN,
 * soon. Verdicts as above, with kind "kernel".
 *
 * The kernel is held to all that gemel_kernel_call promises and asks for. Inputs come in any
 * layout (packed, if it asks for that), aligned to their elements and no more; ranks go up to
 * GEMEL_MAX_RANK, sizes beyond 2^16 elements; THREADS is 1, 2, 3 or 8, and with `deterministic`
 * results must be the same in every bit whatever it is. Every block of memory has pages around it
 * that can't be touched, inputs can't be written to, and what results and scratch memory hold
 * before a call must not matter. States live side by side, are called thousands of times, on two
 * threads at once, and released once; nothing may be left over.
 *
 * The kernel's functions are called in child processes, copies of the calling one (fork), on a
 * thread of their own: a crash, exit(), a call without end, more than 2 GiB of memory are verdicts,
 * and what the kernel changes in the program's memory, or prints without flushing, is lost. What
 * can't be copied (threads of the program, a device that it has opened) isn't there in a child.
 * With OPTIONS->in_process all calls are made here, and a crash is one of the program.
 * GEMEL_NOT_FOUND, GEMEL_BAD_ARGUMENT (no context, no run function, OPTIONS or SUMMARY of size 0,
 * OPTIONS->allow with bits that are no words), GEMEL_NO_MEMORY, GEMEL_UNSUPPORTED (no process can
 * be started). Thread-safe for different contexts. */
gemel_status gemel_verify_kernel(gemel_context *context, const char *name,
                                 const gemel_kernel *kernel, const gemel_verify_options *options,
                                 gemel_verify_summary *summary, gemel_error *error);

/* Words that tell two graphs apart beside those of `needs` (GEMEL_NEEDS_TABLE), whose bits they
 * follow. X(enum, word, meaning). */
#define GEMEL_PAIR_TABLE(X)                                                                        \
  X(FOLDED, folded, "a constant was computed and rounded where the other graph computes with it")  \
  X(NARROWS, narrows,                                                                              \
    "the second graph ends in an error, or ONNX leaves its result undefined, where the first has " \
    "a result")                                                                                    \
  X(WIDENS, widens,                                                                                \
    "the second graph has a result where the first ends in an error, or ONNX leaves it undefined")

enum {
  GEMEL_PAIR_INDEX_BEFORE = GEMEL_NEEDS_COUNT - 1,
#define GEMEL_PAIR_ENUM(E, name, meaning) GEMEL_PAIR_INDEX_##E,
  GEMEL_PAIR_TABLE(GEMEL_PAIR_ENUM)
#undef GEMEL_PAIR_ENUM
      GEMEL_PAIR_COUNT
};
#define GEMEL_PAIR_BIT(E) (1u << GEMEL_PAIR_INDEX_##E)
/* What `gemel equal` allows by default: any kind of rounding and of special value. */
#define GEMEL_PAIR_DEFAULT                                                                         \
  (GEMEL_NEEDS_ALL & ~(GEMEL_NEEDS_BIT(WORSENS) | GEMEL_NEEDS_BIT(INTEGERS)))

/* A difference as a person reads it: what the shipped code makes of the whole graphs at one point.
 */
typedef struct gemel_pair_example {
  int found;        /* 0: no inputs are known at which the results differ, and all texts are "" */
  char inputs[400]; /* "x = [1, 2, 3], u = 2 each"; what doesn't fit ends in dots */
  char output[100]; /* an element that differs: "y[0, 1]" */
  char before[100], after[100]; /* what A and B give there, or why a call ends in an error */
  char nodes[2][120]; /* of A and of B, the first node whose value the other graph doesn't have
                         although it has the operands': "Pow 'p'" of a model, operation and place
                         else; "" if there is none, or the graphs have more than 1000 nodes */
} gemel_pair_example;

/* EXAMPLE as a sentence: "x = 1 each: y[0] = 3 becomes 4; first different: Pow 'p', Mul 'm'",
 * truncated to BYTES bytes with its NUL; "" if it wasn't found, or is NULL. Returns the length of
 * the whole; GEMEL_EXAMPLE_TEXT bytes suffice. No errors. Thread-safe. */
enum { GEMEL_EXAMPLE_TEXT = 1024 };
size_t gemel_pair_example_text(const gemel_pair_example *example, char *text, size_t bytes);

/* What gemel_verify_pair found. */
typedef struct gemel_pair_result {
  size_t size;           /* sizeof(gemel_pair_result), set by the caller */
  gemel_verdict verdict; /* the worst of the tiers that were applicable; GEMEL_VERDICT_NOT_RUN if
                            none was, or if the call failed */
  int bitwise;           /* 1: no difference in any bit was seen */
  unsigned needs; /* words that tell the two apart, bits GEMEL_NEEDS_BIT(…), GEMEL_PAIR_BIT(…) */
  unsigned refused; /* those of NEEDS that ALLOW doesn't allow */
  int improves;     /* 1: where A was wrong on finite inputs (NaN, infinite, far off), B is not */
  int64_t symbols_up_to; /* the largest size that symbols were given; 0: the answer rests on no
                            choice of sizes. Of a pair that is divided, the least of its parts */
  int written;      /* 1: OPTIONS->counterexample_folder has a counterexample now. Where they differ
                       by a formula alone, there are no inputs to write */
  char scaled[200]; /* large sizes in whose place the models had small ones: "2 for 100000, 3 for
                       512"; "" if none were. The shipped code ran at the graphs' own sizes */
  gemel_pair_example example; /* of a refuted pair */
  int unfollowed; /* 1: values at which a loop takes more than 65,536 steps were left out */
} gemel_pair_result;

/* Are A and B (graphs of one context) the same function? Inputs and outputs are matched by name, or
 * as OPTIONS->match says; differing names or types are GEMEL_BAD_TYPE. Symbolic dims are
 * instantiated. ALLOW says which words may tell them apart, bits as in gemel_pair_result
 * (GEMEL_PAIR_DEFAULT allows `folded` and `widens` too; `worsens`, `integers` and `narrows` are to
 * be named); one that isn't allowed is a refutation, and so are finite results that are further
 * apart than rounding permits. They are compared where all holds that A or B assumes of its inputs
 * (gemel_assume). One record a tier goes to the sink, with kind "pair" and NAME. Graphs that can't
 * be run, as an operation has no kernel, are GEMEL_VERDICT_NOT_RUN unless they are shown to be
 * equal without that.
 *
 * With OPTIONS->jobs, instantiations and tiers are done several at a time. Once OPTIONS->tick says
 * stop, the call ends soon, with GEMEL_OK: the tiers that had ended keep their records, those that
 * hadn't are GEMEL_VERDICT_NOT_RUN, unless they had found a refutation, and so is RESULT's verdict
 * at best.
 *
 * A and B stay as they are; OPTIONS, NAME (then "pair") and RESULT may be NULL. Errors, after which
 * RESULT is GEMEL_VERDICT_NOT_RUN and records that were handed over count: GEMEL_BAD_TYPE,
 * GEMEL_BAD_ARGUMENT (no graph, graphs of two contexts, OPTIONS->match fits neither graph, OPTIONS
 * or RESULT of size 0), GEMEL_IO (OPTIONS->counterexample_folder), GEMEL_NO_MEMORY. Thread-safe for
 * graphs of different contexts. */
gemel_status gemel_verify_pair(const gemel_graph *a, const gemel_graph *b, const char *name,
                               unsigned allow, const gemel_verify_options *options,
                               gemel_pair_result *result, gemel_error *error);

/* Verifies the rules of RULES (NULL: gemel's own, and all passes of CONTEXT) whose name, family,
 * phase or tag matches a word of GLOB, which has commas between them (NULL: all). Instances are
 * made from each rule itself and rewritten by the engine, or by a pass's generator and rewritten by
 * the pass; one record a tier goes to the sink, with kind "rule" or "pass". A rule is refuted if
 * its sides aren't the same function, if their types differ, and if they give up more than `needs`
 * says. It is overstated if it declares a word, `improves` among them, that nothing shows, and
 * uninformative if no instance was found. GEMEL_NOT_FOUND (nothing matches), GEMEL_BAD_ARGUMENT (no
 * context, OPTIONS or SUMMARY of size 0), GEMEL_NO_MEMORY.
 * SUMMARY may be NULL. Thread-safe for different contexts. */
gemel_status gemel_verify_rules(gemel_context *context, const gemel_rules *rules, const char *glob,
                                const gemel_verify_options *options, gemel_verify_summary *summary,
                                gemel_error *error);

/* Gives each of A and B the inputs that the other one lists and reads nowhere: an optimiser drops
 * such inputs, or folds a constant that is listed among them, and gemel_verify_pair wants the same
 * inputs on both sides. GEMEL_BAD_ARGUMENT (no graph, graphs of two contexts, a graph that can't
 * change), GEMEL_NO_MEMORY; some may have been added by then. */
gemel_status gemel_pair_add_unread(gemel_graph *a, gemel_graph *b, gemel_error *error);

/* ---- Proofs ---- */

/* What each proof is handed to; PROOF lives during the call. */
typedef void (*gemel_proof_sink)(void *user, const gemel_proof *proof);

/* Options; start from {0} and set SIZE, which as 0 is GEMEL_BAD_ARGUMENT. */
typedef struct gemel_prove_options {
  size_t size;
  int ranks;   /* for up to so many axes, at most 4; 0: as many as the prover likes */
  size_t jobs; /* rules at a time, each on a thread of its own; 0: one, on the calling one */
  gemel_proof_sink sink; /* called for each rule in their order, on the calling thread; needed */
  void *user;
  const char *record_folder; /* a folder that is there and empty (else GEMEL_IO), and gets the
                                questions that each proof rests on, as SMT-LIB, and index.jsonl, a
                                line a rule; NULL: nowhere */
  int (*tick)(void *user, const char *doing); /* as in gemel_verify_options: called between rules,
                                with USER. Other than 0: stop. Rules that haven't begun are left
                                out. NULL: nobody is asked */
} gemel_prove_options;

/* Proves what it can of the rules of RULES (NULL: gemel's own) whose name, family, phase or tag
 * matches a word of GLOB (NULL: all). What comes out depends neither on OPTIONS->jobs nor on time.
 * GEMEL_BAD_ARGUMENT (no context, no OPTIONS or sink, too many ranks), GEMEL_NOT_FOUND (nothing
 * matches), GEMEL_NO_MEMORY, GEMEL_IO (a record can't be written, or one is there). Thread-safe for
 * different contexts. */
gemel_status gemel_prove_rules(gemel_context *context, const gemel_rules *rules, const char *glob,
                               const gemel_prove_options *options, gemel_error *error);

/* What was proved of RULE when this gemel was made, without proving it again. RECORDED is 1 for
 * gemel's own rules, unless the text of the rule, or the prover, has changed since; ELEMENTS is
 * NULL for others, and where nothing is proved. SCENES and QUESTIONS are 0. Thread-safe. */
gemel_proof gemel_rule_proved(const gemel_rule *rule);

/* GEMEL_BAD_TEXT, with the place in its text, if attributes or conditions of RULE use axes of one
 * tensor as those of another, as q[p] does for p[q], where p and q are the orders of two
 * permutations one after the other: such a rule may be right for two axes and wrong for three. No
 * instance is looked at; GEMEL_OK says only that nothing of the kind was seen. GEMEL_BAD_ARGUMENT
 * (no rule), GEMEL_NO_MEMORY. Thread-safe. */
gemel_status gemel_rule_check_axes(const gemel_rule *rule, gemel_error *error);

/* Repeats what a folder of OPTIONS->replay_folder, or OPTIONS->counterexample_folder, holds, and
 * hands the verdict to the sink. GEMEL_BAD_FILE (what is wrong, in which file), GEMEL_UNSUPPORTED
 * (a program's own kernel), what gemel_dump_load reports, GEMEL_BAD_ARGUMENT (no context, OPTIONS
 * or SUMMARY of size 0), GEMEL_NO_MEMORY. SUMMARY may be NULL. Thread-safe for different contexts.
 */
gemel_status gemel_verify_replay(gemel_context *context, const char *path,
                                 const gemel_verify_options *options, gemel_verify_summary *summary,
                                 gemel_error *error);

/* ---- Certified compilation ---- */

/* Lets rewrites in CONTEXT ask for `certify` (gemel_rewrite_options): each application of a rule is
 * then checked on its matched region, by the models of tier real, and each folded constant is
 * computed again by the references; the first that doesn't hold is GEMEL_WRONG_RULE, with the rule,
 * the place of the node in the program, and the region before and after. Regions that ask the same
 * question are checked once. SEED is of the random residues. A second call changes nothing.
 * GEMEL_BAD_ARGUMENT, GEMEL_NO_MEMORY. Thread-safe. */
gemel_status gemel_certify_enable(gemel_context *context, uint64_t seed, gemel_error *error);

/* The report on the last rewrite in CONTEXT that was refuted, whole where the error's text has an
 * end: its message, the region before and after, and inputs at which these differ, with what both
 * give there. A new string, to be freed with gemel_text_free; NULL on failure: GEMEL_NOT_FOUND (no
 * rewrite was refuted), GEMEL_NO_MEMORY. Thread-safe. */
char *gemel_certify_report(const gemel_context *context, gemel_error *error);

/* What has been checked in CONTEXT so far. SIZE is the caller's. */
typedef struct gemel_certify_counts {
  size_t size;
  uint64_t applications; /* of rules, replacements by passes, and constants folded */
  uint64_t regions;      /* different questions that these asked */
  uint64_t open;         /* of which nothing decides: no refutation, and no more than samples */
  uint64_t sampled;      /* open ones whose samples, all of them, agreed */
  uint64_t proved;       /* applications of which nothing was asked: their rule is proved for any
                            elements, all sizes and all ranks */
} gemel_certify_counts;

/* Fills in COUNTS; zeros if gemel_certify_enable hasn't been called. Thread-safe. */
void gemel_certify_counted(const gemel_context *context, gemel_certify_counts *counts);

/* Writes a record as one line of JSON into TEXT (truncated to BYTES with its NUL); returns the full
 * length. Fields: kind, name, tier, verdict, how, detail, instances, elements, seed, seconds,
 * worst, error_probability, of a rule that was to be proved proof, why and recorded (as
 * gemel_proof_json), and for a refutation counterexample and replay. 0 for NULL. Thread-safe. */
size_t gemel_record_json(const gemel_record *record, char *text, size_t bytes);

/* The same of a proof. Fields: kind, name, proof (null, or elements, sizes, ranks), why, recorded,
 * text_hash and prover (of its sources; to both a record of proofs is bound), scenes, questions. 0
 * for NULL. Thread-safe. */
size_t gemel_proof_json(const gemel_proof *proof, char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
