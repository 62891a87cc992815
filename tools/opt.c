/* SPDX-License-Identifier: MIT
 *
 * gemel opt: a graph file, rewritten, as a graph file; and what the rewriting did.
 */
#include <stdlib.h>
#include <string.h>
#include "tool.h"

static const gemel__option options[] = {
    {"mode", 'm', "MODE", "none, fast_compile or fast_run (default: fast_run)"},
    {"include", 'i', "LIST", "only these rules, tags, families, phases (default: all)"},
    {"exclude", 'x', "LIST", "not these; what is excluded is out even if it is included"},
    {"fastmath", 'f', "WORDS",
     "what may be given up: none, default, all, or words such as reassoc,nsz (default: default)"},
    {"rules", 'r', "F", "rules from F, beside gemel's own; may be given more than once"},
    {"profile", 'p', NULL, "print what each phase and rule did, and in what time, to stderr"},
    {"json", 'j', "F", "write the profile to F, one JSON object a line; '-' is stdout"},
    {"out", 'o', "F", "write to F, binary if it ends in .gemel (default: text to stdout)"},
    {NULL, 0, NULL, NULL}};

/* ---- Options ---- */

static int read_mode(const char *text, gemel_rewrite_options *o) {
  int k = 0;
  if (text == NULL) {
    return GEMEL__GOOD;
  }
  while (k < GEMEL_MODE_COUNT && strcmp(text, gemel_mode_name((gemel_mode)k)) != 0) {
    k++;
  }
  if (k == GEMEL_MODE_COUNT) {
    return gemel__complain("--mode: there is no mode '%s': they are none, fast_compile, fast_run",
                           text);
  }
  o->mode = (gemel_mode)k;
  o->has_mode = 1;
  return GEMEL__GOOD;
}

static int read_fastmath(const char *text, gemel_rewrite_options *o) {
  if (text == NULL || strcmp(text, "default") == 0) {
    return GEMEL__GOOD;
  }
  o->has_allow = 1;
  o->allow = GEMEL_FASTMATH_NONE;
  if (strcmp(text, "none") == 0) {
    return GEMEL__GOOD;
  }
  if (strcmp(text, "all") == 0) {
    o->allow = GEMEL_FASTMATH_ALL;
    return GEMEL__GOOD;
  }
  while (*text != '\0') {
    size_t length = strcspn(text, ",");
    int k = 0;
    while (k < GEMEL_NEEDS_COUNT && (strlen(gemel_needs_word(k)) != length ||
                                     memcmp(gemel_needs_word(k), text, length) != 0)) {
      k++;
    }
    if (k == GEMEL_NEEDS_COUNT) {
      return gemel__complain(
          "--fastmath: '%.*s' is neither none, default, all nor one of the words "
          "that rules need",
          (int)length, text);
    }
    o->allow |= 1u << k;
    text += length + (text[length] == ',');
  }
  return GEMEL__GOOD;
}

/* The files of --rules, each a set; *RULES is freed by the caller, and what is in it. */
static int read_rules(gemel_context *context, const gemel__args *args, gemel_rules ***rules,
                      size_t *count) {
  gemel_error error;
  *rules = gemel__need(NULL, (size_t)(args->n_given + 1) * sizeof **rules);
  *count = 0;
  for (int k = 0; k < args->n_given; k++) {
    if (strcmp(args->given[k].option->name, "rules") != 0) {
      continue;
    }
    (*rules)[*count] = gemel_rules_load(context, args->given[k].value, &error);
    if ((*rules)[*count] == NULL) {
      return gemel__complain_error(NULL, &error);
    }
    (*count)++;
  }
  return GEMEL__GOOD;
}

/* ---- The profile ---- */

static void print_profile(const gemel_profile *profile) {
  double whole = 0;
  fprintf(stderr, "%-14s %-32s %9s %9s %9s %9s %10s %10s\n", "phase", "rule or pass", "ms",
          "applied", "declined", "created", "before", "after");
  for (size_t k = 0; k < gemel_profile_count(profile); k++) {
    const gemel_profile_row *r = gemel_profile_at(profile, k);
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

static int write_profile(const gemel_profile *profile, const char *path) {
  gemel__output out;
  if (gemel__output_open(&out, path) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  for (size_t k = 0; k < gemel_profile_count(profile); k++) {
    const gemel_profile_row *r = gemel_profile_at(profile, k);
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

static int rewrite(gemel_graph *graph, const gemel__args *args, const char *name,
                   const gemel_rewrite_options *o) {
  const char *out = gemel__arg(args, "out"), *json = gemel__arg(args, "json");
  gemel_error error;
  gemel_graph *result = gemel_rewrite(graph, o, &error);
  int status;
  if (result == NULL) {
    return gemel__complain_error(args->operands[0], &error);
  }
  status = gemel__graph_write(result, name, out != NULL ? out : "-");
  if (status == GEMEL__GOOD && gemel__arg_set(args, "profile")) {
    print_profile(o->profile);
  }
  if (status == GEMEL__GOOD && json != NULL) {
    status = write_profile(o->profile, json);
  }
  gemel_graph_unref(result);
  return status;
}

static int run_with(gemel_context *context, const gemel__args *args) {
  gemel_rewrite_options o = {.size = sizeof o};
  gemel_rules **rules = NULL;
  size_t n_rules = 0;
  char *name = NULL;
  gemel_graph *graph = NULL;
  int status = read_mode(gemel__arg(args, "mode"), &o);
  if (status == GEMEL__GOOD) {
    status = read_fastmath(gemel__arg(args, "fastmath"), &o);
  }
  if (status == GEMEL__GOOD) {
    status = read_rules(context, args, &rules, &n_rules);
  }
  if (status == GEMEL__GOOD) {
    graph = gemel__graph_read(context, args->operands[0], &name);
    status = graph != NULL ? GEMEL__GOOD : GEMEL__BAD;
  }
  o.include = gemel__arg(args, "include");
  o.exclude = gemel__arg(args, "exclude");
  o.rules = (const gemel_rules *const *)rules;
  o.n_rules = n_rules;
  if (gemel__arg_set(args, "profile") || gemel__arg(args, "json") != NULL) {
    o.profile = gemel_profile_new();
  }
  if (status == GEMEL__GOOD) {
    status = rewrite(graph, args, name, &o);
  }
  gemel_profile_free(o.profile);
  for (size_t k = 0; k < n_rules; k++) {
    gemel_rules_unref(rules[k]);
  }
  free(rules);
  gemel_text_free(name);
  gemel_graph_unref(graph);
  return status;
}

static int run(const gemel__args *args) {
  gemel_context *context = gemel__context_need();
  int status = context != NULL ? run_with(context, args) : GEMEL__BAD;
  gemel_context_unref(context);
  return status;
}

const gemel__command gemel__command_opt = {
    "opt",
    "FILE",
    "Rewrite a graph by rules into an equal one that is cheaper or more accurate.",
    "LIST is names with commas between them, * and ? as in a shell.",
    options,
    1,
    1,
    run};
