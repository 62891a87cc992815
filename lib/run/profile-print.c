/* SPDX-License-Identifier: MIT
 *
 * Profiles as tables, as JSON and as a trace. The tables are those that users of Theano know: time
 * by class, by operation and by instruction, each with its share and the sum of shares so far.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "core/alloc.h"
#include "core/error.h"
#include "run/profile.h"
#include "text/write.h"

enum { TEXT = 2048, APPLY_ROWS = 30 };

static void say(gemel__writer *out, const char *format, ...) GEMEL__PRINTF(2, 3);

static void say(gemel__writer *out, const char *format, ...) {
  char text[TEXT];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  gemel__put_text(out, text);
}

/* Runs BODY on a buffered WRITE. */
static gemel_status written(const gemel_call_profile *profile, gemel_write write, void *user,
                            int (*body)(const gemel_call_profile *, gemel__writer *),
                            gemel_error *error) {
  gemel__writer out;
  if (profile == NULL || write == NULL) {
    return gemel__null(error, profile == NULL ? "the profile" : "the sink");
  }
  gemel_status status = gemel__writer_open(&out, write, user, error);
  if (status != GEMEL_OK) {
    return status;
  }
  int failed = body(profile, &out);
  status = gemel__writer_close(&out, error);
  return failed ? gemel__no_memory(error, "a profile") : status;
}

/* ---- Tables ---- */

static double percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

static double a_call(double total, uint64_t calls) {
  return calls > 0 ? total / (double)calls : 0;
}

static void print_compiling(const gemel_call_summary *s, gemel__writer *out) {
  say(out, "compiling             %.3f ms of rewriting", s->rewriting * 1e3);
  for (int k = 0; k < GEMEL_PHASE_COUNT; k++) {
    say(out, "%s%s %.3f", k == 0 ? " (" : ", ", gemel_phase_name((gemel_phase)k),
        s->phases[k] * 1e3);
  }
  say(out, ")");
  if (s->lifting > 0) {
    say(out, ", %.3f ms of lifting", s->lifting * 1e3);
  }
  say(out, ", %.3f ms for the program, %.3f ms for %llu plan%s\n", s->program * 1e3,
      s->planning * 1e3, (unsigned long long)s->plans, s->plans == 1 ? "" : "s");
}

static void print_summary(const gemel_call_summary *s, gemel__writer *out) {
  say(out, "calls                 %llu\n", (unsigned long long)s->calls);
  say(out, "time in calls         %.6f s, %.3f us a call (from %.3f to %.3f), planning included\n",
      s->seconds, a_call(s->seconds, s->calls) * 1e6, s->shortest * 1e6, s->longest * 1e6);
  say(out, "time in instructions  %.6f s (%.1f %%)\n", s->in_instructions,
      percent(s->in_instructions, s->seconds));
  print_compiling(s, out);
  say(out, "intermediate results  %zu bytes, %zu if none shared a place\n", s->bytes,
      s->unshared_bytes);
  say(out,
      "this machine's best   copies %.1f GB/s, products %.1f GFLOP/s (f32), %.1f (f64), %d "
      "thread%s\n",
      s->copy_speed * 1e-9, s->f32_speed * 1e-9, s->f64_speed * 1e-9, s->threads,
      s->threads == 1 ? "" : "s");
}

/* Said where a trace is not whole. */
static void print_lost(const gemel_call_summary *s, gemel__writer *out) {
  if (s->lost_events > 0) {
    say(out, "events of the trace   %llu are kept, %llu are not\n", (unsigned long long)s->events,
        (unsigned long long)s->lost_events);
  }
}

/* Rows of one name taken together. */
typedef struct row_group {
  const char *name;
  uint64_t calls, rows;
  double seconds, flops, bytes, least; /* LEAST: seconds at the machine's best */
} row_group;

static void add_to_group(row_group *group, const gemel_call_row *row) {
  group->rows++;
  group->calls += row->calls;
  group->seconds += row->seconds;
  group->flops += row->flops;
  group->bytes += row->bytes;
  group->least += row->ceiling * row->seconds;
}

static void print_head(const char *title, const char *last, gemel__writer *out) {
  say(out, "\n%s\n%7s %7s %11s %12s %9s %6s %9s %9s %8s  %s\n", title, "% time", "sum %", "seconds",
      "us a call", "calls", "rows", "GB/s", "GFLOP/s", "% best", last);
}

/* *SUM is the share of all groups so far. */
static void print_group(const row_group *g, double whole, double *sum, gemel__writer *out) {
  double share = percent(g->seconds, whole), rate = g->seconds > 0 ? 1e-9 / g->seconds : 0;
  *sum += share;
  say(out, "%6.1f%% %6.1f%% %11.6f %12.3f %9llu %6llu %9.2f %9.2f %7.1f%%  %s", share, *sum,
      g->seconds, a_call(g->seconds, g->calls) * 1e6, (unsigned long long)g->calls,
      (unsigned long long)g->rows, g->bytes * rate, g->flops * rate, percent(g->least, g->seconds),
      g->name);
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const row_group *)a)->name, ((const row_group *)b)->name);
}

static int by_seconds(const void *a, const void *b) {
  double x = ((const row_group *)a)->seconds, y = ((const row_group *)b)->seconds;
  return x != y ? (x > y ? -1 : 1) : by_name(a, b);
}

/* One group a name: N rows in GROUPS, each a group, become fewer. */
static size_t unite(row_group *groups, size_t n) {
  size_t kept = 0;
  qsort(groups, n, sizeof *groups, by_name);
  for (size_t k = 1; k < n; k++) {
    row_group *to = &groups[kept], *from = &groups[k];
    if (strcmp(to->name, from->name) != 0) {
      groups[++kept] = *from;
      continue;
    }
    to->calls += from->calls;
    to->rows += from->rows;
    to->seconds += from->seconds;
    to->flops += from->flops;
    to->bytes += from->bytes;
    to->least += from->least;
  }
  qsort(groups, kept + 1, sizeof *groups, by_seconds);
  return kept + 1;
}

static int print_groups(const gemel_call_profile *p, const char *title, int by_family,
                        gemel__writer *out) {
  size_t n = p->count;
  double sum = 0;
  row_group *groups = gemel__alloc_array(n, sizeof *groups);
  if (groups == NULL) {
    return -1;
  }
  for (size_t k = 0; k < n; k++) {
    groups[k].name = by_family ? p->order[k]->family : p->order[k]->operation;
    add_to_group(&groups[k], p->order[k]);
  }
  print_head(title, by_family ? "family" : "operation", out);
  size_t kept = n > 0 ? unite(groups, n) : 0;
  for (size_t k = 0; k < kept; k++) {
    print_group(&groups[k], p->summary.in_instructions, &sum, out);
    say(out, "\n");
  }
  gemel__free(groups, n * sizeof *groups);
  return 0;
}

/* "f.gmt:2,3 g.gmt:1" */
static void print_places(const gemel_call_row *row, gemel__writer *out) {
  const char *file = "";
  for (size_t k = 0; k < row->n_places; k++) {
    const gemel_location *where = &row->places[k];
    if (strcmp(where->file, file) != 0) {
      say(out, "%s%.500s:%d", k == 0 ? "  # " : " ", where->file, where->line);
    } else {
      say(out, ",%d", where->line);
    }
    file = where->file;
  }
}

static void print_apply(const gemel_call_profile *p, gemel__writer *out) {
  double sum = 0;
  print_head("Apply", "operation", out);
  for (size_t k = 0; k < p->count && k < APPLY_ROWS; k++) {
    const gemel_call_row *row = p->order[k];
    row_group group = {.name = row->operation};
    add_to_group(&group, row);
    print_group(&group, p->summary.in_instructions, &sum, out);
    say(out, " -> %s%%%u%s%s%s", row->within, row->value, row->kernel[0] != '\0' ? " (" : "",
        row->kernel, row->kernel[0] != '\0' ? ")" : "");
    if (row->inside > 0) {
      say(out, ", and %.6f s in its body", row->inside);
    }
    print_places(row, out);
    say(out, "\n");
  }
  if (p->count > APPLY_ROWS) {
    say(out, "... %zu more rows, %.1f%% of the time\n", p->count - APPLY_ROWS, 100 - sum);
  }
}

static int print_tables(const gemel_call_profile *p, gemel__writer *out) {
  print_summary(&p->summary, out);
  print_lost(&p->summary, out);
  if (print_groups(p, "Class", 1, out) != 0 || print_groups(p, "Ops", 0, out) != 0) {
    return -1;
  }
  print_apply(p, out);
  return 0;
}

gemel_status gemel_call_profile_print(const gemel_call_profile *profile, gemel_write write,
                                      void *user, gemel_error *error) {
  return written(profile, write, user, print_tables, error);
}

/* ---- JSON ---- */

static void put_string(gemel__writer *out, const char *text) {
  gemel__put_text(out, "\"");
  for (; *text != '\0'; text++) {
    unsigned char c = (unsigned char)*text;
    if (c < 0x20) {
      say(out, "\\u%04x", c);
    } else {
      if (c == '"' || c == '\\') {
        gemel__put_text(out, "\\");
      }
      gemel__put(out, text, 1);
    }
  }
  gemel__put_text(out, "\"");
}

static void put_member(gemel__writer *out, const char *name, const char *text) {
  say(out, "\"%s\": ", name);
  put_string(out, text);
  gemel__put_text(out, ", ");
}

static void put_summary(const gemel_call_summary *s, gemel__writer *out) {
  say(out,
      "{\"kind\": \"summary\", \"calls\": %llu, \"seconds\": %.9f, \"shortest\": %.9f, "
      "\"longest\": %.9f, \"in_instructions\": %.9f, \"rewriting\": %.9f, \"phases\": {",
      (unsigned long long)s->calls, s->seconds, s->shortest, s->longest, s->in_instructions,
      s->rewriting);
  for (int k = 0; k < GEMEL_PHASE_COUNT; k++) {
    say(out, "%s\"%s\": %.9f", k > 0 ? ", " : "", gemel_phase_name((gemel_phase)k), s->phases[k]);
  }
  say(out,
      "}, \"lifting\": %.9f, \"program\": %.9f, \"planning\": %.9f, \"plans\": %llu, \"bytes\": "
      "%zu, "
      "\"unshared_bytes\": %zu, \"threads\": %d, \"copy_speed\": %.0f, \"f32_speed\": %.0f, "
      "\"f64_speed\": %.0f, \"events\": %llu, \"lost_events\": %llu}\n",
      s->lifting, s->program, s->planning, (unsigned long long)s->plans, s->bytes,
      s->unshared_bytes, s->threads, s->copy_speed, s->f32_speed, s->f64_speed,
      (unsigned long long)s->events, (unsigned long long)s->lost_events);
}

static void put_places(const gemel_call_row *row, gemel__writer *out) {
  gemel__put_text(out, "\"places\": [");
  for (size_t k = 0; k < row->n_places; k++) {
    gemel__put_text(out, k > 0 ? ", {" : "{");
    put_member(out, "file", row->places[k].file);
    say(out, "\"line\": %d}", row->places[k].line);
  }
  gemel__put_text(out, "]");
}

static void put_value(const gemel_call_row *row, gemel__writer *out) {
  put_member(out, "kernel", row->kernel);
  put_member(out, "within", row->within);
  say(out, "\"value\": %u, ", row->value);
}

static void put_row(const gemel_call_row *row, gemel__writer *out) {
  gemel__put_text(out, "{");
  put_member(out, "kind", row->kind);
  put_member(out, "family", row->family);
  put_member(out, "operation", row->operation);
  put_value(row, out);
  say(out,
      "\"calls\": %llu, \"seconds\": %.9f, \"inside\": %.9f, \"flops\": %.0f, \"bytes\": %.0f, "
      "\"ceiling\": %.6f, ",
      (unsigned long long)row->calls, row->seconds, row->inside, row->flops, row->bytes,
      row->ceiling);
  put_places(row, out);
  gemel__put_text(out, "}\n");
}

static int put_json(const gemel_call_profile *p, gemel__writer *out) {
  put_summary(&p->summary, out);
  for (size_t k = 0; k < p->count; k++) {
    put_row(p->order[k], out);
  }
  return 0;
}

gemel_status gemel_call_profile_json(const gemel_call_profile *profile, gemel_write write,
                                     void *user, gemel_error *error) {
  return written(profile, write, user, put_json, error);
}

/* ---- Trace ---- */

/* Times are in microseconds. */
static void put_event(const gemel_call_profile *p, const gemel__record_event *event,
                      gemel__writer *out) {
  const gemel_call_row *row = event->row != GEMEL__WHOLE_CALL ? &p->rows[event->row] : NULL;
  gemel__put_text(out, "{");
  put_member(out, "name", row != NULL ? row->operation : "call");
  put_member(out, "cat", row != NULL ? row->family : "call");
  say(out, "\"ph\": \"X\", \"ts\": %.3f, \"dur\": %.3f, \"pid\": 1, \"tid\": %u",
      event->start * 1e6, event->seconds * 1e6, event->execution);
  if (row != NULL) {
    gemel__put_text(out, ", \"args\": {");
    put_value(row, out);
    put_places(row, out);
    gemel__put_text(out, "}");
  }
  gemel__put_text(out, "}");
}

static int put_trace(const gemel_call_profile *p, gemel__writer *out) {
  gemel__put_text(out, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [");
  for (size_t k = 0; k < p->n_events; k++) {
    gemel__put_text(out, k > 0 ? ",\n" : "\n");
    put_event(p, &p->events[k], out);
  }
  gemel__put_text(out, "\n]}\n");
  return 0;
}

gemel_status gemel_call_profile_trace(const gemel_call_profile *profile, gemel_write write,
                                      void *user, gemel_error *error) {
  return written(profile, write, user, put_trace, error);
}
