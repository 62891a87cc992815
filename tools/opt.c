/* SPDX-License-Identifier: MIT
 *
 * gemel opt: a graph file, rewritten and lifted, as a graph file; and what that did.
 */
#include <string.h>
#include "tool.h"

static const gemel__option options[] = {
    GEMEL__MODEL_OPTIONS,
    GEMEL__REWRITE_OPTIONS('i'),
    GEMEL__DEVICE_OPTIONS,
    {"profile", 'p', NULL, "print what each phase and rule did, and in what time, to stderr"},
    {"json", 'j', gemel__written_file,
     "write the profile to F, one JSON object a line; '-' is stdout"},
    {"out", 'o', gemel__written_file,
     "write to F, binary if it ends in .gemel (default: text to stdout)"},
    {NULL, 0, NULL, NULL}};

/* ---- The profile ---- */

static void print_profile(const gemel_rewrite_profile *profile) {
  double whole = 0;
  fprintf(stderr, "%-14s %-32s %9s %9s %9s %9s %10s %10s\n", "phase", "rule or pass", "ms",
          "applied", "declined", "created", "before", "after");
  for (size_t k = 0; k < gemel_rewrite_profile_count(profile); k++) {
    const gemel_rewrite_row *r = gemel_rewrite_profile_at(profile, k);
    fprintf(stderr, "%-14s %-32s %9.3f %9llu %9llu %9llu", gemel_phase_name(r->phase),
            r->name != NULL ? r->name : "", r->seconds * 1e3, (unsigned long long)r->applied,
            (unsigned long long)r->declined, (unsigned long long)r->created);
    if (r->name == NULL) {
      whole += r->seconds;
      fprintf(stderr, " %10llu %10llu", (unsigned long long)r->before,
              (unsigned long long)r->after);
    }
    fputc('\n', stderr);
  }
  fprintf(stderr, "%-14s %-32s %9.3f\n", "all", "", whole * 1e3);
}

static int write_profile(const gemel_rewrite_profile *profile, const char *path) {
  gemel__output out;
  if (gemel__output_open(&out, path) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  for (size_t k = 0; k < gemel_rewrite_profile_count(profile); k++) {
    const gemel_rewrite_row *r = gemel_rewrite_profile_at(profile, k);
    fprintf(
        out.file,
        "{\"kind\": \"%s\", \"phase\": \"%s\", \"name\": \"%s\", \"seconds\": %.9f, \"applied\": "
        "%llu, \"declined\": %llu, \"created\": %llu",
        r->name != NULL ? "rule" : "phase", gemel_phase_name(r->phase),
        r->name != NULL ? r->name : gemel_phase_name(r->phase), r->seconds,
        (unsigned long long)r->applied, (unsigned long long)r->declined,
        (unsigned long long)r->created);
    if (r->name == NULL) {
      fprintf(out.file, ", \"before\": %llu, \"after\": %llu", (unsigned long long)r->before,
              (unsigned long long)r->after);
    }
    fputs("}\n", out.file);
  }
  return gemel__output_close(&out, 1);
}

/* ---- The command ---- */

/* GRAPH rewritten, and lifted if LIFT says so; NULL with *ERROR. */
static gemel_graph *rewrite(const gemel_graph *graph, const gemel_rewrite_options *o,
                            const gemel_lift_options *lift, gemel_error *error) {
  gemel_graph *rewritten = gemel_rewrite(graph, o, error);
  if (rewritten == NULL || lift->space == GEMEL_SPACE_HOST) {
    return rewritten;
  }
  gemel_graph *lifted = gemel_lift(rewritten, lift, error);
  gemel_graph_unref(rewritten);
  return lifted;
}

static int write_result(gemel_graph *graph, const gemel__args *args, const char *name,
                        const gemel_rewrite_options *o, const gemel_lift_options *lift) {
  const char *out = gemel__arg(args, "out"), *json = gemel__arg(args, "json");
  gemel_error error;
  gemel_graph *result = rewrite(graph, o, lift, &error);
  int status;
  if (result == NULL) {
    return gemel__complain_rewrite(gemel_graph_context(graph), args->operands[0], &error);
  }
  status = gemel__graph_write(result, name, out != NULL ? out : "-");
  if (status == GEMEL__GOOD && gemel__arg_set(args, "profile")) {
    print_profile(o->profile);
    if (lift->space != GEMEL_SPACE_HOST) {
      gemel__lift_print(lift->report);
    }
  }
  if (status == GEMEL__GOOD && json != NULL) {
    status = write_profile(o->profile, json);
  }
  gemel_graph_unref(result);
  return status;
}

static int run_with(gemel_context *context, const gemel__args *args) {
  gemel__rewriting r;
  gemel_lift_options lift = {0};
  char *name = NULL;
  gemel_graph *graph = NULL;
  int status = gemel__rewriting_read(&r, context, args);
  if (status == GEMEL__GOOD) {
    status = gemel__device_read(&lift, context, args, &r.options);
  }
  if (status == GEMEL__GOOD) {
    status = gemel__graph_read(context, args->operands[0], &graph, &name, args);
  }
  if (gemel__arg_set(args, "profile") || gemel__arg(args, "json") != NULL) {
    r.options.profile = gemel_rewrite_profile_new();
    lift.report = gemel_lift_report_new();
  }
  if (status == GEMEL__GOOD) {
    status = write_result(graph, args, name, &r.options, &lift);
  }
  if (status == GEMEL__GOOD) {
    gemel__rewriting_report(&r, context);
  }
  gemel_rewrite_profile_free(r.options.profile);
  gemel_lift_report_free(lift.report);
  gemel__rewriting_clear(&r);
  gemel_text_free(name);
  gemel_graph_unref(graph);
  return status;
}

static int run(const gemel__args *args) {
  gemel_context *context = gemel__context_for(args);
  int status = context != NULL ? run_with(context, args) : GEMEL__BAD;
  gemel_context_unref(context);
  return status;
}

const gemel__command gemel__command_opt = {
    "opt",
    "FILE",
    "Rewrite a graph by rules into an equal one that is cheaper or more accurate.",
    "LIST is names with commas between them, * and ? as in a shell.\n"
    "Exit status 1 if --certify refutes a rewrite: which one, both sides and inputs at which they "
    "differ go to stderr; 2 for usage and for what can't be read or written; 3 where a model "
    "has something that gemel hasn't.",
    options,
    1,
    1,
    run};
