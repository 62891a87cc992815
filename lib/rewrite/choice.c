/* SPDX-License-Identifier: MIT
 *
 * Choosing rules by options, and keeping what was chosen. A selection of rules doesn't depend on
 * the graph, and making one takes as long as rewriting a thousand nodes. So a context keeps the
 * choices of the last few options: a rewriting takes one out, has it for itself, and gives it back.
 * A set of rules is known by its serial number and not by its address, which another set may have
 * later; a choice whose set is gone is never taken again.
 */
#include "rewrite/choice.h"

#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/words.h"
#include "passes/passes.h"
#include "rules/rule-names.h"

enum { KEPT = 4 };

/* What a choice is made from. */
struct choosing {
  const gemel_rewrite_options *options;
  gemel_context *context;
  gemel_rules *builtin;
  gemel_error *error;
};

/* ---- Choosing ---- */

int gemel__word_names_rule_or_offers(const char *word, size_t length, const gemel_rule_info *info,
                                     gemel__suggestion *near) {
  if (gemel__word_names_or_offers(word, length, info->name, near) ||
      gemel__word_names_or_offers(word, length, info->family, near) ||
      gemel__word_names_or_offers(word, length, gemel_phase_name(info->phase), near)) {
    return 1;
  }
  for (size_t k = 0; k < info->n_tags; k++) {
    if (gemel__word_names_or_offers(word, length, info->tags[k], near)) {
      return 1;
    }
  }
  return 0;
}

int gemel__word_names_rule(const char *word, size_t length, const gemel_rule_info *info) {
  return gemel__word_names_rule_or_offers(word, length, info, NULL);
}

int gemel__list_names_rule(const char *list, const gemel_rule_info *info) {
  size_t length;
  for (list = gemel__next_word(list, &length); length > 0;
       list = gemel__next_word(list + length, &length)) {
    if (gemel__word_names_rule(list, length, info)) {
      return 1;
    }
  }
  return 0;
}

/* 1 if the word stands for a rule of RULES; else their names are offered to NEAR (or NULL). */
static int names_rule_of(const void *rules, const char *word, size_t length,
                         gemel__suggestion *near) {
  for (size_t k = 0; k < gemel_rules_count(rules); k++) {
    const gemel_rule_info *info = gemel_rule_describe(gemel_rules_at(rules, k));
    if (gemel__word_names_rule_or_offers(word, length, info, near)) {
      return 1;
    }
  }
  return 0;
}

gemel_status gemel__list_check_rules(const char *list, const gemel_rules *rules,
                                     gemel_error *error) {
  return gemel__list_check(list, "rule, tag, family or phase", names_rule_of, rules, error);
}

static int has_tag(const gemel_rule_info *info, const char *tag) {
  for (size_t k = 0; k < info->n_tags; k++) {
    if (strcmp(info->tags[k], tag) == 0) {
      return 1;
    }
  }
  return 0;
}

static int chosen(const gemel_rewrite_options *o, const gemel_rule_info *info) {
  if ((info->needs & ~o->allow) != 0) {
    return 0;
  }
  if (o->mode == GEMEL_MODE_FAST_COMPILE &&
      (info->phase == GEMEL_PHASE_SPECIALIZE || has_tag(info, "slow"))) {
    return 0;
  }
  if (o->include != NULL && o->include[0] != '\0' && !gemel__list_names_rule(o->include, info)) {
    return 0;
  }
  return o->exclude == NULL || !gemel__list_names_rule(o->exclude, info);
}

/* ---- Sets of rules ---- */

static size_t n_sets(const struct choosing *c) {
  return c->options->n_rules + (c->builtin != NULL);
}

static const gemel_rules *set_at(const struct choosing *c, size_t k) {
  return c->builtin != NULL && k == 0 ? c->builtin : c->options->rules[k - (c->builtin != NULL)];
}

/* No rule of gemel's own, or in NAMES, is called as RULE is, which goes there. */
static gemel_status check_name(const struct choosing *c, gemel__rule_names *names,
                               const gemel_rule *rule) {
  const char *name = rule->info.name;
  const gemel_rule *known = gemel__rule_names_find(names, name);
  known = known != NULL ? known : gemel_rules_find(c->builtin, name);
  if (known != NULL) {
    return gemel__fail(c->error, GEMEL_BAD_ARGUMENT, "two rules are called %s (%s:%d and %s:%d)",
                       name, known->info.file, known->info.line, rule->info.file, rule->info.line);
  }
  return gemel__rule_names_add(names, rule) == 0 ? GEMEL_OK : gemel__no_memory(c->error, "rules");
}

/* Two rules of one name can't be told apart by who chooses them, and would make the order, and so
 * the result, depend on which came first. Within a set there are none. */
static gemel_status check_names(const struct choosing *c) {
  gemel__rule_names names = {.count = 0};
  gemel_status status = GEMEL_OK;
  for (size_t s = 0; s < c->options->n_rules && status == GEMEL_OK; s++) {
    for (size_t k = 0; k < gemel_rules_count(c->options->rules[s]) && status == GEMEL_OK; k++) {
      status = check_name(c, &names, gemel_rules_at(c->options->rules[s], k));
    }
  }
  gemel__rule_names_clear(&names);
  return status;
}

/* 1 if any rule or pass is called so; else their names are offered to NEAR (or NULL). */
static int names_any(const void *user, const char *word, size_t length, gemel__suggestion *near) {
  const struct choosing *c = user;
  const gemel_pass *pass;
  for (size_t k = 0; (pass = gemel_pass_at(c->context, k)) != NULL; k++) {
    gemel_rule_info info = gemel__pass_info(pass);
    if (gemel__word_names_rule_or_offers(word, length, &info, near)) {
      return 1;
    }
  }
  for (size_t s = 0; s < n_sets(c); s++) {
    if (names_rule_of(set_at(c, s), word, length, near)) {
      return 1;
    }
  }
  return 0;
}

/* A word that names nothing is a mistake, unless it is a phase's or an agreed tag. */
static gemel_status check_list(const struct choosing *c, const char *list, const char *what) {
  size_t length;
  if (list == NULL) {
    return GEMEL_OK;
  }
  for (list = gemel__next_word(list, &length); length > 0;
       list = gemel__next_word(list + length, &length)) {
    int known = length == 4 && memcmp(list, "slow", 4) == 0;
    for (int k = 0; k < GEMEL_PHASE_COUNT && !known; k++) {
      const char *phase = gemel_phase_name((gemel_phase)k);
      known = strlen(phase) == length && memcmp(phase, list, length) == 0;
    }
    if (!known && !names_any(c, list, length, NULL)) {
      gemel__suggestion near;
      return gemel__fail(c->error, GEMEL_NOT_FOUND,
                         "%s: no rule, tag, family or phase is called %.*s%s", what, (int)length,
                         list, gemel__word_suggestion(list, length, names_any, c, &near));
    }
  }
  return GEMEL_OK;
}

static gemel_status check_sets(const struct choosing *c) {
  if (c->options->n_rules > 0 && c->options->rules == NULL) {
    return gemel__null(c->error, "the array of rule sets");
  }
  for (size_t k = 0; k < c->options->n_rules; k++) {
    const gemel_rules *set = c->options->rules[k];
    if (set == NULL ||
        (gemel_rules_count(set) > 0 && gemel_rules_at(set, 0)->context != c->context)) {
      return gemel__fail(c->error, GEMEL_BAD_ARGUMENT, "rule set %zu is %s", k,
                         set == NULL ? "null" : "of another context");
    }
  }
  return GEMEL_OK;
}

gemel_phase gemel__last_phase(gemel_mode mode) {
  return mode == GEMEL_MODE_FAST_COMPILE ? GEMEL_PHASE_STABILIZE : GEMEL_PHASE_SPECIALIZE;
}

static gemel_status select_rules(const struct choosing *c, gemel_phase phase,
                                 gemel__selection *selection) {
  gemel_status status = gemel__selection_start(selection, c->context, c->error);
  int last = phase == gemel__last_phase(c->options->mode);
  for (size_t s = 0; s < n_sets(c) && status == GEMEL_OK; s++) {
    for (size_t k = 0; k < gemel_rules_count(set_at(c, s)) && status == GEMEL_OK; k++) {
      const gemel_rule *rule = gemel_rules_at(set_at(c, s), k);
      int in_time = last ? rule->info.phase <= phase : rule->info.phase == phase;
      if (in_time && chosen(c->options, &rule->info)) {
        status = gemel__selection_add(selection, rule, set_at(c, s) == c->builtin, c->error);
      }
    }
  }
  return status ? status : gemel__selection_finish(selection, c->error);
}

/* ---- Choices ---- */

static int same_text(const char *a, const char *b) {
  return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

/* 1 if CHOICE was made for OPTIONS. */
static int is_for(const gemel__choice *choice, const gemel_rewrite_options *options) {
  int same = choice->mode == options->mode && choice->allow == options->allow &&
             choice->without_builtin == (options->without_builtin != 0) &&
             choice->n_sets == options->n_rules && same_text(choice->include, options->include) &&
             same_text(choice->exclude, options->exclude);
  for (size_t k = 0; same && k < choice->n_sets; k++) {
    same = choice->sets[k] == gemel__rules_serial(options->rules[k]);
  }
  return same;
}

static void free_choice(gemel__choice *choice) {
  for (int phase = 0; phase < GEMEL_PHASE_COUNT; phase++) {
    gemel__selection_clear(&choice->phases[phase]);
  }
  gemel__free_string(choice->include);
  gemel__free_string(choice->exclude);
  gemel__free(choice->sets, choice->n_sets * sizeof *choice->sets);
  gemel__free(choice, sizeof *choice);
}

/* Notes what CHOICE is for. */
static gemel_status note_options(gemel__choice *choice, const struct choosing *c) {
  const gemel_rewrite_options *o = c->options;
  choice->mode = o->mode;
  choice->allow = o->allow;
  choice->without_builtin = o->without_builtin != 0;
  choice->include = gemel__copy_string(o->include != NULL ? o->include : "");
  choice->exclude = gemel__copy_string(o->exclude != NULL ? o->exclude : "");
  choice->sets = gemel__alloc_array(o->n_rules, sizeof *choice->sets);
  choice->n_sets = o->n_rules;
  if (choice->include == NULL || choice->exclude == NULL || choice->sets == NULL) {
    return gemel__no_memory(c->error, "rules");
  }
  for (size_t k = 0; k < o->n_rules; k++) {
    choice->sets[k] = gemel__rules_serial(o->rules[k]);
  }
  return GEMEL_OK;
}

static gemel_status check_options(const struct choosing *c) {
  GEMEL__TRY(check_names(c));
  GEMEL__TRY(check_list(c, c->options->include, "include"));
  return check_list(c, c->options->exclude, "exclude");
}

static gemel_status make_choice(const struct choosing *c, gemel__choice **made) {
  gemel_status status = check_options(c);
  gemel__choice *choice = status == GEMEL_OK ? gemel__alloc_zeroed(sizeof *choice) : NULL;
  if (choice == NULL) {
    return status ? status : gemel__no_memory(c->error, "rules");
  }
  status = note_options(choice, c);
  for (int phase = 0; phase < GEMEL_PHASE_COUNT && status == GEMEL_OK; phase++) {
    status = select_rules(c, (gemel_phase)phase, &choice->phases[phase]);
  }
  if (status != GEMEL_OK) {
    free_choice(choice);
    return status;
  }
  *made = choice;
  return GEMEL_OK;
}

/* The context's, taken out; NULL if it has none. */
static gemel__choice *take_kept(gemel_context *context, const gemel_rewrite_options *options) {
  pthread_mutex_lock(&context->lock);
  gemel__choice **at = &context->choices, *found;
  while (*at != NULL && !is_for(*at, options)) {
    at = &(*at)->next;
  }
  found = *at;
  if (found != NULL) {
    *at = found->next;
  }
  pthread_mutex_unlock(&context->lock);
  return found;
}

gemel_status gemel__choice_take(gemel_context *context, const gemel_rewrite_options *options,
                                gemel__choice **choice, gemel_error *error) {
  struct choosing c = {options, context, NULL, error};
  gemel_status status = check_sets(&c);
  if (status != GEMEL_OK) {
    return status;
  }
  *choice = take_kept(context, options);
  if (*choice != NULL) {
    for (int phase = 0; phase < GEMEL_PHASE_COUNT; phase++) {
      gemel__selection_reset(&(*choice)->phases[phase]);
    }
    return GEMEL_OK;
  }
  if (!options->without_builtin) {
    c.builtin = gemel_rules_builtin(context, error);
    status = c.builtin != NULL ? GEMEL_OK : error->status;
  }
  status = status ? status : make_choice(&c, choice);
  gemel_rules_unref(c.builtin); /* the context keeps them */
  return status;
}

static void release_choices(gemel__choice *choices) {
  while (choices != NULL) {
    gemel__choice *next = choices->next;
    free_choice(choices);
    choices = next;
  }
}

void gemel__choice_give_back(gemel_context *context, gemel__choice *choice) {
  gemel__choice **at = &choice, *rest;
  if (choice == NULL) {
    return;
  }
  pthread_mutex_lock(&context->lock);
  context->release_choices = release_choices;
  choice->next = context->choices;
  context->choices = choice;
  for (int k = 0; k < KEPT && *at != NULL; k++) {
    at = &(*at)->next;
  }
  rest = *at;
  *at = NULL;
  pthread_mutex_unlock(&context->lock);
  release_choices(rest);
}

int gemel__chooses_pass(const gemel_rewrite_options *options, const gemel_pass *pass) {
  gemel_rule_info info = gemel__pass_info(pass);
  return !(options->without_builtin && gemel__pass_is_own(pass)) && chosen(options, &info);
}
