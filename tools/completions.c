/* SPDX-License-Identifier: MIT
 *
 * gemel info --completions: a script by which a shell completes the command's arguments. All of it
 * comes from the tables of commands and options. What stands for an option's value is told by its
 * name (words from a table of the library, several with commas between them) or by what its value
 * is called in --help (a file, or nothing that can be completed). The three files in
 * tools/completions, which are installed, call this when somebody first presses the key.
 */
#include <string.h>
#include "tool.h"
#include "../bench/bench.h"
#ifdef HAVE_VERIFY
#include "records.h"
#endif

/* ---- What an option's value may be ---- */

typedef enum value_kind { NO_VALUE, OTHER, A_FILE, WORDS, WORDS_OR_FILE } value_kind;

/* Writes the words of a kind, each behind a space. */
typedef void (*word_writer)(gemel_context *context);

static void write_modes(gemel_context *context) {
  const char *name;
  (void)context;
  for (int k = 0; (name = gemel_mode_name((gemel_mode)k)) != NULL; k++) {
    printf(" %s", name);
  }
}

static void write_needs(gemel_context *context) {
  (void)context;
  fputs(" none default all", stdout);
  for (int k = 0; k < GEMEL_NEEDS_COUNT; k++) {
    printf(" %s", gemel_needs_word(k));
  }
}

static void write_strategies(gemel_context *context) {
  const char *name;
  (void)context;
  for (int k = 0; (name = gemel_lift_strategy_name((gemel_lift_strategy)k)) != NULL; k++) {
    printf(" %s", name);
  }
}

static void write_operations(gemel_context *context) {
  for (size_t k = 0; k < gemel_operation_count(context); k++) {
    printf(" %s", gemel_operation_at(context, k)->name);
  }
}

static void write_rules(gemel_context *context) {
  gemel_rules *rules = gemel_rules_builtin(context, NULL);
  for (size_t k = 0; rules != NULL && k < gemel_rules_count(rules); k++) {
    printf(" %s", gemel_rule_describe(gemel_rules_at(rules, k))->name);
  }
  for (size_t k = 0; k < gemel_pass_count(context); k++) {
    printf(" %s", gemel_pass_at(context, k)->name);
  }
  gemel_rules_unref(rules);
}

#ifdef HAVE_VERIFY
static void write_tiers(gemel_context *context) {
  (void)context;
  for (int k = 0; k < GEMEL_TIER_COUNT; k++) {
    printf(" %s", gemel_tier_name((gemel_tier)k));
  }
}

static void write_pair_words(gemel_context *context) {
  (void)context;
  fputs(" none all", stdout);
  for (unsigned k = 0; k < GEMEL_PAIR_COUNT; k++) {
    printf(" %s", gemel__pair_word(k));
  }
}
#endif

/* Options whose values are words: one, or several with commas between them. */
static const struct worded {
  const char *option;
  word_writer write;
  int several;
} worded[] = {{"mode", write_modes, 0},     {"lift", write_strategies, 0},
              {"fastmath", write_needs, 1}, {"include", write_rules, 1},
              {"exclude", write_rules, 1},  {"rules", write_rules, 1},
#ifdef HAVE_VERIFY
              {"tier", write_tiers, 1},     {"allow", write_pair_words, 1},
#endif
              {"ops", write_operations, 1}};
enum { WORDED_COUNT = sizeof worded / sizeof *worded };

static const struct worded *words_of(const gemel__option *o) {
  size_t k = 0;
  while (k < WORDED_COUNT && strcmp(worded[k].option, o->name) != 0) {
    k++;
  }
  return k < WORDED_COUNT ? &worded[k] : NULL;
}

/* Rules of which there is only a file, as of gemel opt, are no words. */
static value_kind kind_of(const gemel__option *o) {
  if (o->value == NULL) {
    return NO_VALUE;
  }
  int path = gemel__is_path_label(o->value), bare = path && strpbrk(o->value, "=|") == NULL;
  if (words_of(o) != NULL && !bare) {
    return path ? WORDS_OR_FILE : WORDS;
  }
  return path ? A_FILE : OTHER;
}

/* ---- Parts of all scripts ---- */

#define SUITE_WORD(name, summary) " " #name
static const char suites[] = GEMEL__BENCH_TABLE(SUITE_WORD) " all";
#undef SUITE_WORD

static int is_bench(const gemel__command *c) {
  return strcmp(c->name, "bench") == 0;
}

/* TEXT for between single quotes of bash and zsh, with a backslash before each of the characters
 * SPECIAL. */
static void print_escaped(const char *text, const char *special) {
  for (size_t k = 0; text[k] != '\0'; k++) {
    if (text[k] == '\'') {
      fputs("'\\''", stdout);
    } else {
      printf("%s%c", strchr(special, text[k]) != NULL ? "\\" : "", text[k]);
    }
  }
}

static const gemel__option help = {"help", 'h', NULL, "print what the command takes"};

/* The K-th option of C, --help behind the others; NULL: there are no more. */
static const gemel__option *option_at(const gemel__command *c, size_t k) {
  size_t n = 0;
  while (c->options[n].name != NULL) {
    n++;
  }
  return k < n ? &c->options[k] : k == n ? &help : NULL;
}

/* ---- bash ---- */

/* The branch of 'case' for the value of O. */
static void bash_value(gemel_context *context, const gemel__command *c, const gemel__option *o) {
  value_kind kind = kind_of(o);
  printf("  '%s --%s'", c->name, o->name);
  if (o->letter != 0) {
    printf(" | '%s -%c'", c->name, o->letter);
  }
  fputs(kind == A_FILE ? ") return ;;\n" : ") values='", stdout);
  if (kind == WORDS || kind == WORDS_OR_FILE) {
    words_of(o)->write(context);
  }
  fputs(kind == A_FILE ? "" : kind == WORDS_OR_FILE ? "' ;;\n" : "' files=+o ;;\n", stdout);
}

static void bash_options(const gemel__command *c) {
  const gemel__option *o;
  printf("    %s) words='", c->name);
  for (size_t k = 0; (o = option_at(c, k)) != NULL; k++) {
    printf(" --%s", o->name);
  }
  fputs("' ;;\n", stdout);
}

static void print_bash(gemel_context *context) {
  const gemel__command *c;
  fputs("_gemel() {\n"
        "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
        "command=${COMP_WORDS[1]}\n"
        "  local words= values=- files=-o\n"
        "  COMPREPLY=()\n"
        "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
        "    COMPREPLY=($(compgen -W '",
        stdout);
  for (size_t k = 0; (c = gemel__command_at(k)) != NULL; k++) {
    printf("%s ", c->name);
  }
  fputs("--help --version' -- \"$word\"))\n    return\n  fi\n"
        "  if [ \"$word\" = = ]; then\n    word=\n"
        "  elif [ \"$before\" = = ]; then\n    before=${COMP_WORDS[COMP_CWORD-2]}\n  fi\n"
        "  case \"$command $before\" in\n",
        stdout);
  for (size_t k = 0; (c = gemel__command_at(k)) != NULL; k++) {
    for (const gemel__option *o = c->options; o->name != NULL; o++) {
      if (o->value != NULL) {
        bash_value(context, c, o);
      }
    }
  }
  fputs("  esac\n"
        "  if [ \"$values\" != - ]; then\n"
        "    compopt $files default 2>/dev/null\n"
        "    COMPREPLY=($(compgen -P \"${word%\"${word##*,}\"}\" -W \"$values\" -- "
        "\"${word##*,}\"))\n"
        "    return\n  fi\n"
        "  case $word in\n  -*)\n    case $command in\n",
        stdout);
  for (size_t k = 0; (c = gemel__command_at(k)) != NULL; k++) {
    bash_options(c);
  }
  printf("    esac ;;\n  *) [ \"$command\" != bench ] || words='%s' ;;\n  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\n"
         "complete -o default -F _gemel gemel\n",
         suites);
}

/* ---- zsh ---- */

/* '*--ops=[help]:GLOB:action': NAME, what stands between it and its value, what helps with that. */
static void zsh_option(gemel_context *context, const gemel__option *o, const char *name,
                       const char *before) {
  value_kind kind = kind_of(o);
  printf(" \\\n      '*%s%s[", name, before);
  print_escaped(o->help, "[]:\\");
  fputs("]", stdout);
  if (kind != NO_VALUE) {
    fputs(":", stdout);
    print_escaped(o->value, "[]:\\");
    if (kind == WORDS || kind == WORDS_OR_FILE) {
      fputs(words_of(o)->several ? ":{_sequence compadd -" : ":{compadd -", stdout);
      words_of(o)->write(context);
    }
    fputs(kind == A_FILE          ? ":_files"
          : kind == OTHER         ? ": "
          : kind == WORDS_OR_FILE ? " || _files}"
                                  : "}",
          stdout);
  }
  fputs("'", stdout);
}

static void zsh_command(gemel_context *context, const gemel__command *c) {
  const gemel__option *o;
  char name[80];
  printf("  %s)\n    _arguments -s -S", c->name);
  for (size_t k = 0; (o = option_at(c, k)) != NULL; k++) {
    snprintf(name, sizeof name, "--%s", o->name);
    zsh_option(context, o, name, o->value != NULL ? "=" : "");
    if (o->letter != 0) {
      snprintf(name, sizeof name, "-%c", o->letter);
      zsh_option(context, o, name, o->value != NULL ? "+" : "");
    }
  }
  if (c->max_operands != 0) {
    fputs(" \\\n      '*:", stdout);
    print_escaped(c->operands, "[]:\\");
    printf(is_bench(c) ? ":{compadd -%s; _files}'" : ":_files'", suites);
  }
  fputs("\n    ;;\n", stdout);
}

static void print_zsh(gemel_context *context) {
  const gemel__command *c;
  fputs("_gemel() {\n  local -a commands\n  commands=(\n", stdout);
  for (size_t k = 0; (c = gemel__command_at(k)) != NULL; k++) {
    printf("    '%s:", c->name);
    print_escaped(c->summary, ":\\");
    fputs("'\n", stdout);
  }
  fputs("  )\n  if (( CURRENT == 2 )); then\n"
        "    _describe command commands -- '(--help:help --version:version)'\n    return\n  fi\n"
        "  shift words\n  (( CURRENT-- ))\n  case $words[1] in\n",
        stdout);
  for (size_t k = 0; (c = gemel__command_at(k)) != NULL; k++) {
    zsh_command(context, c);
  }
  fputs("  esac\n}\n", stdout);
}

/* ---- fish ---- */

/* TEXT as the description that ends a line. */
static void fish_text(const char *text) {
  fputs(" -d '", stdout);
  for (; *text != '\0'; text++) {
    printf("%s%c", *text == '\'' || *text == '\\' ? "\\" : "", *text);
  }
  fputs("'\n", stdout);
}

static void fish_option(gemel_context *context, const gemel__command *c, const gemel__option *o) {
  value_kind kind = kind_of(o);
  printf("complete -c gemel -n '__fish_seen_subcommand_from %s' -l %s", c->name, o->name);
  if (o->letter != 0) {
    printf(" -s %c", o->letter);
  }
  fputs(kind == NO_VALUE ? "" : kind == A_FILE || kind == WORDS_OR_FILE ? " -r -F" : " -x", stdout);
  if (kind == WORDS || kind == WORDS_OR_FILE) {
    fputs(words_of(o)->several ? " -a '(__fish_append ," : " -a '", stdout);
    words_of(o)->write(context);
    fputs(words_of(o)->several ? ")'" : "'", stdout);
  }
  fish_text(o->help);
}

static void print_fish(gemel_context *context) {
  const gemel__command *c;
  const gemel__option *o;
  fputs("complete -c gemel -n __fish_use_subcommand -f -l help -l version\n", stdout);
  for (size_t k = 0; (c = gemel__command_at(k)) != NULL; k++) {
    printf("complete -c gemel -n __fish_use_subcommand -f -a %s", c->name);
    fish_text(c->summary);
    for (size_t i = 0; (o = option_at(c, i)) != NULL; i++) {
      fish_option(context, c, o);
    }
    if (is_bench(c)) {
      printf("complete -c gemel -n '__fish_seen_subcommand_from %s' -a '%s'\n", c->name, suites);
    } else if (c->max_operands == 0) {
      printf("complete -c gemel -n '__fish_seen_subcommand_from %s' -f\n", c->name);
    }
  }
}

/* ---- All ---- */

int gemel__completions(gemel_context *context, const char *shell) {
  static const struct {
    const char *shell;
    void (*print)(gemel_context *context);
  } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
  for (size_t k = 0; k < sizeof shells / sizeof *shells; k++) {
    if (strcmp(shells[k].shell, shell) == 0) {
      shells[k].print(context);
      return GEMEL__GOOD;
    }
  }
  return gemel__complain("--completions: '%s' is no shell of bash, zsh and fish", shell);
}
