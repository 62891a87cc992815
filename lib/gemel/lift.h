/* SPDX-License-Identifier: MIT
 *
 * The lift: a graph of the host's becomes one that works on a device. Each node gets a place, and
 * transfers are put in where a value is read on the other side than the one that makes it, at most
 * one of a value in each direction. It comes behind gemel_rewrite, which leaves graphs with
 * transfers alone:
 *
 *   gemel_lift_options options = {.size = sizeof options, .space = 1, .states = 1};
 *   gemel_graph *there = gemel_lift(rewritten, &options, &error);
 *
 * Shared variables that such a graph's function is bound to move to the device with its first call.
 *
 * Graphs may be lifted on several threads at once, one graph too; a report is one thread's at a
 * time.
 */
#ifndef GEMEL_LIFT_H
#define GEMEL_LIFT_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How places are chosen. X(enum, word, meaning) */
#define GEMEL_LIFT_STRATEGY_TABLE(X)                                                               \
  X(AGGRESSIVE, aggressive, "everything that the device can do is done there")                     \
  X(CHEAPEST, cheapest,                                                                            \
    "the places that take the least time, by flops, bytes and what transfers take")

typedef enum gemel_lift_strategy {
#define GEMEL_LIFT_STRATEGY_ENUM(E, name, meaning) GEMEL_LIFT_##E,
  GEMEL_LIFT_STRATEGY_TABLE(GEMEL_LIFT_STRATEGY_ENUM)
#undef GEMEL_LIFT_STRATEGY_ENUM
      GEMEL_LIFT_STRATEGY_COUNT
} gemel_lift_strategy;

/* Name of a strategy; NULL out of range. Static storage; thread-safe. */
const char *gemel_lift_strategy_name(gemel_lift_strategy strategy);

/* Why a node stays on the host. X(enum, meaning) */
#define GEMEL_LIFT_REASON_TABLE(X)                                                                 \
  X(NO_KERNEL, "the device has no kernel for it")                                                  \
  X(OWN, "the program registered it, and the device has no kernel for it")                         \
  X(BODY, "not all of its body can be there, or the host reads when it ends")                      \
  X(READS_SIZE, "what it reads is a size too, and run-time sizes are read on the host")            \
  X(MAKES_SIZE, "it makes a run-time size, which is read on the host")                             \
  X(CHEAPER, "transfers would take longer than the device saves")

typedef enum gemel_lift_reason {
#define GEMEL_LIFT_REASON_ENUM(E, meaning) GEMEL_LIFT_##E,
  GEMEL_LIFT_REASON_TABLE(GEMEL_LIFT_REASON_ENUM)
#undef GEMEL_LIFT_REASON_ENUM
      GEMEL_LIFT_REASON_COUNT
} gemel_lift_reason;

/* What a reason means, a sentence without its full stop; NULL out of range. Static storage;
 * thread-safe. */
const char *gemel_lift_reason_meaning(gemel_lift_reason reason);

typedef struct gemel_lift_report gemel_lift_report;

/* Zeroed but for SIZE and SPACE: aggressive, and all inputs and outputs stay where they are. INPUTS
 * and OUTPUTS are lists, separated by commas or colons, of names, with * and ? as in a shell, of
 * inputs and outputs on the host that are to lie on the device; NULL and "": none. */
typedef struct gemel_lift_options {
  size_t size;
  int space; /* the device's: 1..255 */
  gemel_lift_strategy strategy;
  const char *inputs;
  const char *outputs;
  int states;                /* 1: states (gemel_state) and their updates lie on the device; an
                                update lies where its state does in any case */
  gemel_lift_report *report; /* filled in anew, if not NULL */
} gemel_lift_options;

/* A new graph with GRAPH's inputs and outputs, of which nodes work on the device of OPTIONS->space;
 * one reference owned by the caller. It gives what GRAPH gives, as far as the device's kernels give
 * what the host's do. Inputs and outputs have the types that they had, but in the device's space
 * where OPTIONS say so. What GRAPH has on a device already stays there, transfers between the host
 * and this device are put in anew; other devices' nodes stay as they are.
 *
 * Constants, what is made of attributes alone, and views that show a whole are made where they are
 * read, on both sides if need be: so what crosses is the value that a view shows, once for all of
 * its views. Constants and the like cross when a call is planned, and not by each call. Run-time
 * sizes are read on the host. Bodies stay as they are: a node that has some goes to the device if
 * nothing in them is left to the host, and runs them there. The same graph and options give the
 * same graph, node for node; what was lifted from a graph without transfers stays the same when it
 * is lifted again. Time linear in the size of GRAPH, but for CHEAPEST, which looks for a minimum
 * cut: linear on graphs as programs have them, and bounded, by taking what is nearly the least
 * where need be.
 *
 * NULL on failure: GEMEL_BAD_ARGUMENT (no options, SIZE is 0, a space that is none of a device's,
 * no such strategy), GEMEL_NOT_FOUND (a word of a list names nothing), GEMEL_NO_MEMORY, the graph's
 * own error if it has one. Thread-safe: GRAPH isn't changed. */
gemel_graph *gemel_lift(const gemel_graph *graph, const gemel_lift_options *options,
                        gemel_error *error);

/* ---- Report ---- */

/* An empty report, freed with gemel_lift_report_free (NULL is ignored); NULL: no memory. */
gemel_lift_report *gemel_lift_report_new(void);
void gemel_lift_report_free(gemel_lift_report *report);

/* What came of a lift. Of nodes those count that an output needs, but for inputs, and for what is
 * made where it is read. */
typedef struct gemel_lift_counts {
  uint64_t lifted;    /* nodes on the device */
  uint64_t stayed;    /* nodes on the host */
  uint64_t uploads;   /* values transferred to the device by each call */
  uint64_t downloads; /* values transferred from it */
  uint64_t once;      /* values transferred to it when a call is planned */
  double seconds;     /* that a call takes by the model of CHEAPEST; 0: AGGRESSIVE */
  double excess;      /* how much of that may be more than the least, where looking for the least
                         takes too long; 0: it is the least */
} gemel_lift_counts;

/* Of REPORT's last lift; NULL for NULL. */
const gemel_lift_counts *gemel_lift_report_counts(const gemel_lift_report *report);

/* A node that stays on the host. */
typedef struct gemel_lift_stay {
  uint32_t node; /* of the graph that was lifted: the values {graph, node, …} */
  const char *operation;
  gemel_lift_reason reason;
  gemel_location where; /* the line of the program that made it */
} gemel_lift_stay;

/* How many nodes stay, and the K-th, in the order of ids; NULL out of range. They are valid until
 * the report is used again, as long as the graph's context. */
size_t gemel_lift_report_stay_count(const gemel_lift_report *report);
const gemel_lift_stay *gemel_lift_report_stay_at(const gemel_lift_report *report, size_t k);

/* What lifting an operation took: seconds of CPU of this thread, how many of its nodes went to the
 * device, and the nodes that were made for them, transfers of their results among them. */
typedef struct gemel_lift_row {
  const char *operation;
  double seconds;
  uint64_t applied;
  uint64_t created;
} gemel_lift_row;

/* How many rows, and the K-th by time, the slowest first; NULL out of range. They are valid as long
 * as the nodes above. */
size_t gemel_lift_report_row_count(const gemel_lift_report *report);
const gemel_lift_row *gemel_lift_report_row_at(const gemel_lift_report *report, size_t k);

#ifdef __cplusplus
}
#endif
#endif
