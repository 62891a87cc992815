/* SPDX-License-Identifier: MIT
 *
 * The options that say how graphs are rewritten, for the commands that do so.
 */
#include <stdlib.h>
#include <string.h>
#include "tool.h"
#ifdef HAVE_VERIFY
#include <gemel/verify.h>
#endif

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
    size_t length = strcspn(text, ",:");
    int k = 0;
    while (k < GEMEL_NEEDS_COUNT && (strlen(gemel_needs_word(k)) != length ||
                                     memcmp(gemel_needs_word(k), text, length) != 0)) {
      k++;
    }
    if (k == GEMEL_NEEDS_COUNT) {
      return gemel__complain(
          "--fastmath: '%.*s' is no word of a rule's needs (none, default and all stand alone)",
          (int)length, text);
    }
    o->allow |= 1u << k;
    text += length + (text[length] != '\0');
  }
  return GEMEL__GOOD;
}

/* The files of --rules, each a set. */
static int read_rules(gemel__rewriting *r, gemel_context *context, const gemel__args *args) {
  gemel_error error;
  r->rules = gemel__need(NULL, (size_t)(args->n_given + 1) * sizeof *r->rules);
  for (int k = 0; k < args->n_given; k++) {
    if (strcmp(args->given[k].option->name, "rules") != 0) {
      continue;
    }
    gemel_rules *set = gemel_rules_load(context, args->given[k].value, &error);
    if (set == NULL) {
      return gemel__complain_error(NULL, &error);
    }
    r->rules[r->options.n_rules++] = set;
  }
  r->options.rules = (const gemel_rules *const *)r->rules;
  return GEMEL__GOOD;
}

int gemel__certify_enable(gemel_context *context) {
#ifdef HAVE_VERIFY
  gemel_error error;
  if (gemel_certify_enable(context, 1, &error) != GEMEL_OK) {
    return gemel__complain_error(NULL, &error);
  }
#else
  (void)context;
#endif
  return GEMEL__GOOD;
}

static int read_certify(gemel__rewriting *r, gemel_context *context, const gemel__args *args) {
  r->options.certify = gemel__arg_set(args, "certify");
  return r->options.certify ? gemel__certify_enable(context) : GEMEL__GOOD;
}

int gemel__rewriting_read(gemel__rewriting *r, gemel_context *context, const gemel__args *args) {
  memset(r, 0, sizeof *r);
  r->options.size = sizeof r->options;
  r->options.include = gemel__arg(args, "include");
  r->options.exclude = gemel__arg(args, "exclude");
  if (read_mode(gemel__arg(args, "mode"), &r->options) != GEMEL__GOOD ||
      read_fastmath(gemel__arg(args, "fastmath"), &r->options) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  return read_certify(r, context, args) == GEMEL__GOOD ? read_rules(r, context, args) : GEMEL__BAD;
}

void gemel__rewriting_report(const gemel__rewriting *r, const gemel_context *context) {
#ifdef HAVE_VERIFY
  gemel_certify_counts counts = {.size = sizeof counts};
  if (r->options.certify) {
    gemel_certify_counted(context, &counts);
    fprintf(stderr,
            "certified: %llu applications, %llu of them of proved rules, %llu different questions, "
            "%llu of them open (%llu agree in samples)\n",
            (unsigned long long)counts.applications, (unsigned long long)counts.proved,
            (unsigned long long)counts.regions, (unsigned long long)counts.open,
            (unsigned long long)counts.sampled);
  }
#else
  (void)r;
  (void)context;
#endif
}

int gemel__complain_rewrite(const gemel_context *context, const char *what,
                            const gemel_error *error) {
#ifdef HAVE_VERIFY
  char *report = error->status == GEMEL_WRONG_RULE ? gemel_certify_report(context, NULL) : NULL;
  if (report != NULL) {
    size_t length = strlen(report);
    gemel__complain("%.*s", (int)(length - 1), report); /* without its last newline */
    gemel_text_free(report);
    return GEMEL__REFUTED;
  }
#else
  (void)context;
#endif
  return gemel__complain_error(what, error);
}

void gemel__rewriting_clear(gemel__rewriting *r) {
  for (size_t k = 0; k < r->options.n_rules; k++) {
    gemel_rules_unref(r->rules[k]);
  }
  free(r->rules);
  memset(r, 0, sizeof *r);
}
