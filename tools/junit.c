/* SPDX-License-Identifier: MIT
 *
 * JUnit's XML, which services for continuous integration show: one suite, of which each case
 * passed, or says why not. Cases come from whoever calls, by number, and are asked for twice: their
 * counts stand first. The second part makes a case of each of the harness's records.
 */
#include <string.h>
#include "page.h"
#include "records.h"

/* ---- Any cases ---- */

static const char *const elements[GEMEL__JUNIT_COUNT] = {[GEMEL__JUNIT_FAILURE] = "failure",
                                                         [GEMEL__JUNIT_ERROR] = "error",
                                                         [GEMEL__JUNIT_SKIPPED] = "skipped"};

static void write_case(FILE *file, const char *suite, const gemel__junit_case *c) {
  fprintf(file, "  <testcase classname=\"gemel.%s%s%s\" name=\"", suite, c->kind != NULL ? "." : "",
          c->kind != NULL ? c->kind : "");
  gemel__escape(file, c->name);
  fprintf(file, "%s%s\" time=\"%.3f\"", c->tier != NULL ? " " : "", c->tier != NULL ? c->tier : "",
          c->seconds);
  if (c->end == GEMEL__JUNIT_PASSED) {
    fputs("/>\n", file);
    return;
  }
  fprintf(file, "><%s message=\"%s", elements[c->end], c->verdict);
  if (c->detail != NULL && c->detail[0] != '\0') {
    fputs(": ", file);
    gemel__escape(file, c->detail);
  }
  fputs("\">", file);
  gemel__escape(file, c->text);
  fprintf(file, "</%s></testcase>\n", elements[c->end]);
}

void gemel__junit_write(FILE *file, const char *suite, size_t count, double seconds,
                        gemel__junit_of of, const void *owner) {
  gemel__junit_case c;
  size_t counts[GEMEL__JUNIT_COUNT] = {0};
  for (size_t k = 0; k < count; k++) {
    of(owner, k, &c);
    counts[c.end]++;
  }
  fprintf(file,
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"gemel %s\" "
          "tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.3f\">\n",
          suite, count, counts[GEMEL__JUNIT_FAILURE], counts[GEMEL__JUNIT_ERROR],
          counts[GEMEL__JUNIT_SKIPPED], seconds);
  for (size_t k = 0; k < count; k++) {
    of(owner, k, &c);
    write_case(file, suite, &c);
  }
  fputs("</testsuite>\n", file);
}

/* ---- Records ---- */

/* Failures and errors are what makes the exit status 1. */
static gemel__junit_end end_of(const gemel__records *records, size_t k) {
  const gemel_record *r = &records->rows[k];
  if (r->verdict == GEMEL_VERDICT_PASSED) {
    return GEMEL__JUNIT_PASSED;
  }
  if (gemel__records_accepts(records, r) ||
      (r->verdict == GEMEL_VERDICT_NOT_RUN && gemel__records_refuted_before(records, r) != NULL)) {
    return GEMEL__JUNIT_SKIPPED;
  }
  return gemel_verdict_severity(r->verdict) > gemel_verdict_severity(GEMEL_VERDICT_UNINFORMATIVE)
             ? GEMEL__JUNIT_FAILURE
             : GEMEL__JUNIT_ERROR;
}

typedef struct record_cases {
  const gemel__records *records;
  const gemel__junit_case *whole; /* the case behind the records', or NULL */
} record_cases;

static void case_at(const void *owner, size_t k, gemel__junit_case *c) {
  const record_cases *all = owner;
  if (k == all->records->count) {
    *c = *all->whole;
    return;
  }
  const gemel_record *r = &all->records->rows[k];
  *c = (gemel__junit_case){.kind = r->kind,
                           .name = r->name,
                           .tier = gemel_tier_name(r->tier),
                           .seconds = r->seconds,
                           .end = end_of(all->records, k),
                           .verdict = gemel_verdict_name(r->verdict),
                           .detail = r->detail,
                           .text = r->counterexample};
}

int gemel__records_junit(const gemel__records *records, const char *path,
                         const gemel__junit_case *whole) {
  gemel__output output;
  record_cases all = {records, whole};
  if (gemel__output_open(&output, path) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  gemel__junit_write(output.file, records->command, records->count + (whole != NULL),
                     gemel__now() - records->started, case_at, &all);
  return gemel__output_close(&output, 1);
}
