/* SPDX-License-Identifier: MIT
 *
 * What is told of a lift: counts, the nodes that stay on the host, and a row for each operation
 * that was taken to the device.
 */
#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "lift/lift.h"

struct gemel_lift_report {
  gemel_lift_counts counts;
  gemel_lift_stay *stays;
  size_t n_stays, stay_capacity;
  gemel_lift_row *rows;
  size_t n_rows, row_capacity;
  uint32_t *row_of; /* by operation: its row + 1 */
  size_t op_capacity;
};

static const char *const strategies[] = {
#define NAME(E, name, meaning) #name,
    GEMEL_LIFT_STRATEGY_TABLE(NAME)
#undef NAME
};

static const char *const meanings[] = {
#define MEANING(E, meaning) meaning,
    GEMEL_LIFT_REASON_TABLE(MEANING)
#undef MEANING
};

const char *gemel_lift_strategy_name(gemel_lift_strategy strategy) {
  return (unsigned)strategy < GEMEL_LIFT_STRATEGY_COUNT ? strategies[strategy] : NULL;
}

const char *gemel_lift_reason_meaning(gemel_lift_reason reason) {
  return (unsigned)reason < GEMEL_LIFT_REASON_COUNT ? meanings[reason] : NULL;
}

/* ---- Life ---- */

gemel_lift_report *gemel_lift_report_new(void) {
  return gemel__alloc_zeroed(sizeof(gemel_lift_report));
}

void gemel_lift_report_free(gemel_lift_report *report) {
  if (report != NULL) {
    gemel__free(report->stays, report->stay_capacity * sizeof *report->stays);
    gemel__free(report->rows, report->row_capacity * sizeof *report->rows);
    gemel__free(report->row_of, report->op_capacity * sizeof *report->row_of);
    gemel__free(report, sizeof *report);
  }
}

void gemel__lift_report_reset(gemel_lift_report *report) {
  if (report != NULL) {
    memset(&report->counts, 0, sizeof report->counts);
    report->n_stays = report->n_rows = 0;
    if (report->op_capacity > 0) {
      memset(report->row_of, 0, report->op_capacity * sizeof *report->row_of);
    }
  }
}

/* ---- Filling ---- */

gemel_status gemel__lift_report_add(gemel_lift_report *report, const gemel__op *op, double seconds,
                                    uint64_t created, gemel_error *error) {
  size_t known = report->op_capacity;
  if (gemel__grow(&report->row_of, &report->op_capacity, op->id + 1u, sizeof *report->row_of) !=
          0 ||
      gemel__grow(&report->rows, &report->row_capacity, report->n_rows + 1, sizeof *report->rows)) {
    return gemel__no_memory(error, "a report");
  }
  if (report->op_capacity > known) {
    memset(report->row_of + known, 0, (report->op_capacity - known) * sizeof *report->row_of);
  }
  if (report->row_of[op->id] == 0) {
    report->rows[report->n_rows] = (gemel_lift_row){.operation = op->record.name};
    report->row_of[op->id] = (uint32_t)++report->n_rows;
  }
  gemel_lift_row *row = &report->rows[report->row_of[op->id] - 1];
  row->seconds += seconds;
  row->applied++;
  row->created += created;
  return GEMEL_OK;
}

/* By time, then by name. */
static int slower(const void *a, const void *b) {
  const gemel_lift_row *x = a, *y = b;
  return x->seconds != y->seconds ? (x->seconds < y->seconds) - (x->seconds > y->seconds)
                                  : strcmp(x->operation, y->operation);
}

gemel_status gemel__lift_report_fill(gemel_lift_report *report, const gemel__lifting *l) {
  for (uint32_t node = 0; node < l->from->n_nodes; node++) {
    if (l->places[node] != GEMEL__LIFT_HOST || !gemel__lift_is_told(l, node)) {
      continue;
    }
    if (gemel__grow(&report->stays, &report->stay_capacity, report->n_stays + 1,
                    sizeof *report->stays) != 0) {
      return gemel__no_memory(l->error, "a report");
    }
    report->stays[report->n_stays++] =
        (gemel_lift_stay){node, gemel__node_op(l->from, node)->record.name,
                          (gemel_lift_reason)l->reasons[node], gemel__node_where(l->from, node)};
  }
  report->counts = l->counts;
  if (report->n_rows > 1) {
    qsort(report->rows, report->n_rows, sizeof *report->rows, slower);
  }
  return GEMEL_OK;
}

/* ---- Looking ---- */

const gemel_lift_counts *gemel_lift_report_counts(const gemel_lift_report *report) {
  return report != NULL ? &report->counts : NULL;
}

size_t gemel_lift_report_stay_count(const gemel_lift_report *report) {
  return report != NULL ? report->n_stays : 0;
}

const gemel_lift_stay *gemel_lift_report_stay_at(const gemel_lift_report *report, size_t k) {
  return report != NULL && k < report->n_stays ? &report->stays[k] : NULL;
}

size_t gemel_lift_report_row_count(const gemel_lift_report *report) {
  return report != NULL ? report->n_rows : 0;
}

const gemel_lift_row *gemel_lift_report_row_at(const gemel_lift_report *report, size_t k) {
  return report != NULL && k < report->n_rows ? &report->rows[k] : NULL;
}
