/* SPDX-License-Identifier: MIT
 *
 * Sets of rules: a text full of them is parsed rule by rule into one arena. gemel's own text is in
 * the library; each context compiles it once, when it is first asked for.
 */
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "text/define.h"
#include "core/context.h"
#include "core/error.h"
#include "rules/builtin.h"
#include "rules/rule-names.h"
#include "rules/stanza.h"
#include "text/file.h"

struct gemel_rules {
  long references;
  uint64_t serial;
  gemel_context *context;
  int builtin; /* the context's own: it holds no reference to the context, but its users do */
  gemel__arena arena;
  struct gemel_rule **rules;
  size_t count, capacity;
  gemel__rule_names names;
};

/* ---- Documentation ---- */

/* The start of the line before the one that starts at P, or NULL. */
static const char *line_before(const char *text, const char *p) {
  if (p == text) {
    return NULL;
  }
  for (p--; p > text && p[-1] != '\n'; p--) {
  }
  return p;
}

static const char *comment_of(const char *line, const char *end) {
  while (line < end && (*line == ' ' || *line == '\t')) {
    line++;
  }
  return line < end && *line == '#' ? line + 1 : NULL;
}

/* The comment right above the line that starts at LINE, without its '#', as one text. */
static const char *documentation(gemel__arena *arena, const char *text, const char *line) {
  const char *first = line, *p = line;
  while ((p = line_before(text, p)) != NULL && comment_of(p, line) != NULL) {
    first = p;
  }
  char *copy = gemel__arena_alloc(arena, (size_t)(line - first) + 1), *to = copy;
  if (copy == NULL) {
    return NULL;
  }
  for (p = first; p < line;) {
    const char *stop = memchr(p, '\n', (size_t)(line - p));
    const char *from = comment_of(p, line);
    from += from < stop && *from == ' ';
    if (to > copy) {
      *to++ = '\n';
    }
    memcpy(to, from, (size_t)(stop - from));
    to += stop - from;
    p = stop + 1;
  }
  *to = '\0';
  return copy;
}

/* ---- Parsing ---- */

/* "elementwise" of "lib/rules/elementwise.rules". */
static const char *family_of(gemel__arena *arena, const char *file) {
  const char *base = strrchr(file, '/'), *dot;
  base = base != NULL ? base + 1 : file;
  dot = strrchr(base, '.');
  char *copy = gemel__arena_string(arena, base);
  if (copy != NULL && dot != NULL && dot > base) {
    copy[dot - base] = '\0';
  }
  return copy;
}

/* The text from the token of START to the last one before that of STOP: comments behind belong to
 * what follows. */
static const char *text_between(gemel__arena *arena, const gemel__lex *start,
                                const gemel__lex *stop) {
  gemel__lex at = *start;
  size_t length = 0;
  char *copy;
  while (at.token != stop->token) {
    length = (size_t)(at.token + at.length - start->token);
    gemel__lex_next(&at);
  }
  copy = gemel__arena_alloc(arena, length + 1);
  if (copy != NULL) {
    memcpy(copy, start->token, length);
    copy[length] = '\0';
  }
  return copy;
}

/* The rule at LEX, of which DOCUMENTATION says what it does; NULL: memory is out. */
static gemel_status add_rule(gemel_rules *set, gemel__lex *lex, const char *documentation,
                             const char *family, gemel_error *error) {
  gemel__lex start = *lex, name = *lex;
  struct gemel_rule *rule = gemel__alloc_zeroed(sizeof *rule);
  if (rule == NULL ||
      gemel__grow(&set->rules, &set->capacity, set->count + 1, sizeof *set->rules)) {
    gemel__free(rule, sizeof *rule);
    return gemel__no_memory(error, "a rule");
  }
  set->rules[set->count++] = rule;
  rule->info.family = family;
  rule->info.file = lex->file;
  rule->info.line = start.token_line;
  rule->info.documentation = documentation;
  gemel__lex_next(&name);
  gemel__lex_next(lex);
  gemel_status status = gemel__rule_compile(set->context, lex, &set->arena, rule, error);
  if (status != GEMEL_OK) {
    return status;
  }
  const gemel_rule *known = gemel_rules_find(set, rule->info.name);
  if (known != NULL) {
    return gemel__lex_fail(&name, error, GEMEL_BAD_TEXT, "there is a rule %s in line %d already",
                           rule->info.name, known->info.line);
  }
  rule->info.text = text_between(&set->arena, &start, lex);
  return rule->info.text != NULL && rule->info.documentation != NULL &&
                 gemel__rule_names_add(&set->names, rule) == 0
             ? GEMEL_OK
             : gemel__no_memory(error, "a rule");
}

/* The rules of the stanza at LEX, whose token is `for`: each is compiled from its own text, as if
 * it stood where the stanza's stands. */
static gemel_status add_stanza(gemel_rules *set, gemel__lex *lex, const char *about,
                               const char *family, gemel_error *error) {
  gemel__stanza stanza;
  GEMEL__TRY(gemel__stanza_read(lex, &stanza, error));
  gemel__lex start = *lex, each = *lex;
  do {
    gemel__lex_next(lex);
  } while (!gemel__rule_ends(lex));
  const char *text = text_between(&set->arena, &start, lex);
  for (uint32_t k = 0; k < stanza.n_rules; k++) {
    const char *own = text && about ? gemel__stanza_fill(&stanza, k, text, &set->arena) : NULL;
    if (own == NULL) {
      return gemel__no_memory(error, "a rule");
    }
    gemel__lex_start(&each, own, strlen(own), lex->file);
    gemel__lex_move(&each, own, own, start.token_line);
    GEMEL__TRY(
        add_rule(set, &each, gemel__stanza_fill(&stanza, k, about, &set->arena), family, error));
    GEMEL__TRY(gemel__lex_expect(&each, GEMEL__TOKEN_END, "the end of the rule", error));
  }
  return GEMEL_OK;
}

static gemel_status parse_all(gemel_rules *set, const char *text, size_t length, const char *file,
                              gemel_error *error) {
  char *copy = gemel__arena_alloc(&set->arena, length + 1);
  const char *name = gemel__arena_string(&set->arena, file);
  const char *family = family_of(&set->arena, file);
  gemel_status status = GEMEL_OK;
  gemel__lex lex;
  char found[64];
  if (copy == NULL || name == NULL || family == NULL) {
    return gemel__no_memory(error, "rules");
  }
  memcpy(copy, text, length);
  copy[length] = '\0';
  gemel__lex_start(&lex, copy, length, name);
  while (status == GEMEL_OK && lex.kind != GEMEL__TOKEN_END) {
    if (gemel__lex_is(&lex, "operation")) {
      status = gemel__define(set->context, &lex, error);
      continue;
    }
    const char *about = documentation(&set->arena, copy, lex.token_line_start);
    if (gemel__lex_is(&lex, "for")) {
      status = add_stanza(set, &lex, about, family, error);
    } else if (gemel__lex_is(&lex, "rule")) {
      status = add_rule(set, &lex, about, family, error);
    } else {
      return gemel__lex_fail(&lex, error, GEMEL_BAD_TEXT, "expected 'rule', found %s",
                             gemel__lex_describe(&lex, found));
    }
  }
  return status;
}

static void destroy(gemel_rules *set) {
  for (size_t k = 0; k < set->count; k++) {
    gemel__syntax_clear(&set->rules[k]->syntax);
    gemel__free(set->rules[k], sizeof **set->rules);
  }
  gemel__rule_names_clear(&set->names);
  gemel__free(set->rules, set->capacity * sizeof *set->rules);
  gemel__arena_clear(&set->arena);
  gemel__free(set, sizeof *set);
}

/* Of the last set of rules that was made. */
static uint64_t serials;

static gemel_rules *new_set(gemel_context *context, gemel_error *error) {
  gemel_rules *set = gemel__alloc_zeroed(sizeof *set);
  if (set == NULL) {
    gemel__no_memory(error, "rules");
    return NULL;
  }
  set->references = 1;
  set->serial = __atomic_add_fetch(&serials, 1, __ATOMIC_RELAXED);
  set->context = context;
  return set;
}

gemel_rules *gemel_rules_parse(gemel_context *context, const char *text, size_t length,
                               const char *file, gemel_error *error) {
  gemel_error local;
  error = error != NULL ? error : &local;
  if (context == NULL || (text == NULL && length > 0)) {
    gemel__fail(error, GEMEL_BAD_ARGUMENT, "the %s is null", context == NULL ? "context" : "text");
    return NULL;
  }
  gemel_rules *set = new_set(context, error);
  if (set == NULL) {
    return NULL;
  }
  if (parse_all(set, text != NULL ? text : "", length, file != NULL ? file : "", error) !=
      GEMEL_OK) {
    destroy(set);
    return NULL;
  }
  gemel_context_ref(context);
  return set;
}

gemel_rules *gemel_rules_load(gemel_context *context, const char *path, gemel_error *error) {
  gemel_error local;
  char *text;
  size_t length;
  error = error != NULL ? error : &local;
  if (context == NULL || path == NULL) {
    gemel__fail(error, GEMEL_BAD_ARGUMENT, "the %s is null", context == NULL ? "context" : "path");
    return NULL;
  }
  if (gemel__file_read(path, GEMEL__MOST_TEXT, &text, &length, error) != GEMEL_OK) {
    return NULL;
  }
  gemel_rules *rules = gemel_rules_parse(context, text, length, path, error);
  gemel__free(text, length + 1);
  return rules;
}

/* ---- gemel's own ---- */

static void release_builtin(void *rules) {
  destroy(rules);
}

static gemel_rules *make_builtin(gemel_context *context, gemel_error *error) {
  gemel_rules *set = new_set(context, error);
  if (set == NULL) {
    return NULL;
  }
  set->builtin = 1;
  for (size_t k = 0; gemel__builtin_rules[k].file != NULL; k++) {
    const char *text = gemel__builtin_rules[k].text;
    if (parse_all(set, text, strlen(text), gemel__builtin_rules[k].file, error) != GEMEL_OK) {
      destroy(set);
      return NULL;
    }
  }
  return set;
}

gemel_rules *gemel_rules_builtin(gemel_context *context, gemel_error *error) {
  gemel_error local;
  error = error != NULL ? error : &local;
  if (context == NULL) {
    gemel__fail(error, GEMEL_BAD_ARGUMENT, "the context is null");
    return NULL;
  }
  gemel_rules *set = __atomic_load_n(&context->rules, __ATOMIC_ACQUIRE);
  if (set == NULL) {
    gemel_rules *mine = make_builtin(context, error), *expected = NULL;
    if (mine == NULL) {
      return NULL;
    }
    if (__atomic_compare_exchange_n(&context->rules, &expected, mine, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      context->release_rules = release_builtin; /* read by the last user of the context alone */
    } else {
      destroy(mine); /* another thread was first */
      mine = expected;
    }
    set = mine;
  }
  return gemel_rules_ref(set);
}

/* ---- References and looking ---- */

gemel_rules *gemel_rules_ref(gemel_rules *rules) {
  if (rules != NULL && rules->builtin) {
    gemel_context_ref(rules->context);
  } else if (rules != NULL) {
    __atomic_add_fetch(&rules->references, 1, __ATOMIC_RELAXED);
  }
  return rules;
}

void gemel_rules_unref(gemel_rules *rules) {
  if (rules == NULL) {
    return;
  }
  gemel_context *context = rules->context;
  if (!rules->builtin) {
    if (__atomic_sub_fetch(&rules->references, 1, __ATOMIC_ACQ_REL) != 0) {
      return;
    }
    destroy(rules);
  }
  gemel_context_unref(context);
}

uint64_t gemel__rules_serial(const gemel_rules *rules) {
  return rules->serial;
}

size_t gemel_rules_count(const gemel_rules *rules) {
  return rules != NULL ? rules->count : 0;
}

const gemel_rule *gemel_rules_at(const gemel_rules *rules, size_t k) {
  return rules != NULL && k < rules->count ? rules->rules[k] : NULL;
}

const gemel_rule *gemel_rules_find(const gemel_rules *rules, const char *name) {
  return rules != NULL && name != NULL ? gemel__rule_names_find(&rules->names, name) : NULL;
}

const gemel_rule_info *gemel_rule_describe(const gemel_rule *rule) {
  return rule != NULL ? &rule->info : NULL;
}
