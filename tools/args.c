/* SPDX-License-Identifier: MIT
 *
 * Arguments of a sub-command, by getopt_long: short and long options, abbreviated long ones,
 * "--name=value", "--" before operands that begin with a dash. The tables that getopt_long wants
 * are made from the command's own.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "core/suggest.h"
#include "tool.h"

enum { HELP = 256, FIRST = 257, HELP_COLUMN = 26, HELP_WIDTH = 78 };

/* ---- Help ---- */

/* Prints TEXT in lines of at most HELP_WIDTH, the following ones indented by COLUMN. */
static void print_wrapped(const char *text, int column) {
  int at = column;
  while (*text != '\0') {
    int length = (int)strcspn(text, " \n");
    if (at > column && at + 1 + length > HELP_WIDTH) {
      printf("\n%*s", column, "");
      at = column;
    } else if (at > column) {
      putchar(' ');
      at++;
    }
    printf("%.*s", length, text);
    at += length;
    text += length;
    if (*text == '\n') {
      printf("\n%*s", text[1] != '\0' ? column : 0, "");
      at = column;
    }
    text += *text != '\0';
  }
  putchar('\n');
}

static void print_option(const gemel__option *o) {
  char head[64];
  int n = o->letter != 0 ? snprintf(head, sizeof head, "  -%c, ", o->letter)
                         : snprintf(head, sizeof head, "      ");
  n += snprintf(head + n, sizeof head - (size_t)n, "--%s%s%s", o->name, o->value != NULL ? " " : "",
                o->value != NULL ? o->value : "");
  if (n < HELP_COLUMN - 1) {
    printf("%-*s", HELP_COLUMN, head);
  } else {
    printf("%s\n%*s", head, HELP_COLUMN, "");
  }
  print_wrapped(o->help, HELP_COLUMN);
}

static void print_help(const gemel__command *command) {
  static const gemel__option help = {"help", 'h', NULL, "print this"};
  const gemel__option *o;
  printf("usage: gemel %s [OPTION]...%s%s\n\n", command->name,
         command->operands[0] != '\0' ? " " : "", command->operands);
  print_wrapped(command->summary, 0);
  putchar('\n');
  for (o = command->options; o->name != NULL; o++) {
    print_option(o);
  }
  print_option(&help);
  if (command->about != NULL) {
    putchar('\n');
    print_wrapped(command->about, 0);
  }
}

/* ---- Reading ---- */

static void make_tables(const gemel__command *command, struct option *longs, char *shorts) {
  *shorts++ = ':';
  *shorts++ = 'h';
  size_t k;
  for (k = 0; command->options[k].name != NULL; k++) {
    const gemel__option *o = &command->options[k];
    struct option row = {o->name, o->value != NULL, NULL, FIRST + (int)k};
    longs[k] = row;
    if (o->letter != 0) {
      *shorts++ = o->letter;
      *shorts++ = ':';
      shorts -= o->value == NULL;
    }
  }
  *shorts = '\0';
  longs[k] = (struct option){"help", 0, NULL, HELP};
  longs[k + 1] = (struct option){NULL, 0, NULL, 0};
}

static const gemel__option *find_option(const gemel__command *command, int code) {
  const gemel__option *o;
  if (code >= FIRST) {
    return &command->options[code - FIRST];
  }
  for (o = command->options; o->name != NULL && o->letter != code; o++) {
  }
  return o->name != NULL ? o : NULL;
}

/* There is no long option as it is written in ARGUMENT, "--name" or "--name=value"; perhaps it is
 * begun by several. */
static int refuse_long(const gemel__command *command, const char *argument) {
  const char *written = argument + strspn(argument, "-");
  size_t length = strcspn(written, "="), fitting = 0;
  gemel__suggestion near;
  gemel__suggestion_start(&near, written, length);
  for (const gemel__option *o = command->options; o->name != NULL; o++) {
    gemel__suggestion_offer(&near, o->name, strlen(o->name));
    fitting += strncmp(o->name, written, length) == 0;
  }
  int meant = fitting <= 1 && near.name != NULL;
  return gemel__complain("%s: %s --%.*s%s%s%s; see gemel %s --help", command->name,
                         fitting > 1 ? "several options begin with" : "there is no option",
                         (int)length, written, meant ? "; did you mean --" : "",
                         meant ? near.name : "", meant ? "?" : "", command->name);
}

/* What getopt_long refused: ':' a missing value, '?' anything else; CODE is what it left in optopt.
 */
static int refuse(const gemel__command *command, int code, const char *argument, int missing) {
  const gemel__option *o = code != 0 ? find_option(command, code) : NULL;
  const char *name = command->name;
  if (missing) {
    return gemel__complain("%s: option --%s needs a value", name, o != NULL ? o->name : "?");
  }
  if (o != NULL || code == HELP) {
    return gemel__complain("%s: option --%s takes no value", name, o != NULL ? o->name : "help");
  }
  if (code != 0) {
    return gemel__complain("%s: there is no option -%c; see gemel %s --help", name, code, name);
  }
  return refuse_long(command, argument);
}

static int read_options(gemel__args *args, int argc, char **argv, const struct option *longs,
                        const char *shorts) {
  int code;
  optind = 0;
  opterr = 0;
  while ((code = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
    if (code == HELP || code == 'h') {
      print_help(args->command);
      return -1;
    }
    if (code == '?' || code == ':') {
      return refuse(args->command, optopt, argv[optind - 1], code == ':');
    }
    args->given[args->n_given].option = find_option(args->command, code);
    args->given[args->n_given++].value = optarg != NULL ? optarg : "";
  }
  return GEMEL__GOOD;
}

static int check_operands(const gemel__args *args) {
  const gemel__command *c = args->command;
  if (args->n_operands < c->min_operands) {
    return gemel__complain("%s: too few arguments: gemel %s %s", c->name, c->name, c->operands);
  }
  if (c->max_operands >= 0 && args->n_operands > c->max_operands) {
    return gemel__complain("%s: '%s' is one argument too many; see gemel %s --help", c->name,
                           args->operands[c->max_operands], c->name);
  }
  return GEMEL__GOOD;
}

const char gemel__written_file[] = "F";

/* 1 if A and B name one file, there or not. */
static int same_file(const char *a, const char *b) {
  struct stat of_a, of_b;
  return strcmp(a, b) == 0 ||
         (stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && S_ISREG(of_a.st_mode) &&
          of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino);
}

int gemel__is_path_label(const char *label) {
  static const char *const paths[] = {"F", "D", "DIR", "FILE", "FOLDER", "F.npz", "F.npy"};
  const char *last = strpbrk(label, "=|");
  last = last != NULL ? last + 1 : label;
  for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
    if (strcmp(last, paths[k]) == 0) {
      return 1;
    }
  }
  return 0;
}

/* The path that an option's value names, behind NAME= perhaps; NULL: none, as of a GLOB. */
static const char *path_in(const gemel__given *given) {
  const char *label = given->option->value, *equals = strchr(given->value, '=');
  if (label == NULL || !gemel__is_path_label(label) ||
      (strchr(label, '|') != NULL && strpbrk(given->value, "./") == NULL)) {
    return NULL;
  }
  return strchr(label, '=') != NULL && equals != NULL ? equals + 1 : given->value;
}

/* What is written to the value of option number OPTION must not be lost by what another
 * option writes; a report must not replace what is read, as a result may. */
static int check_written(const gemel__args *args, int option) {
  const gemel__given *o = &args->given[option];
  int is_result = strcmp(o->option->name, "out") == 0;
  for (int k = 0; k < args->n_operands && !is_result; k++) {
    if (same_file(o->value, args->operands[k])) {
      return gemel__complain("--%s: '%s' is what the command reads", o->option->name, o->value);
    }
  }
  for (int k = 0; k < args->n_given; k++) {
    const gemel__given *other = &args->given[k];
    const char *path = path_in(other);
    if (other->option != o->option && path != NULL && same_file(o->value, path)) {
      return gemel__complain("--%s and --%s name one file, '%s'", o->option->name,
                             other->option->name, o->value);
    }
  }
  return GEMEL__GOOD;
}

static int check_files(const gemel__args *args) {
  int status = GEMEL__GOOD;
  for (int k = 0; k < args->n_given && status == GEMEL__GOOD; k++) {
    if (args->given[k].option->value == gemel__written_file) {
      status = check_written(args, k);
    }
  }
  return status;
}

int gemel__args_read(gemel__args *args, const gemel__command *command, int argc, char **argv) {
  struct option *longs;
  size_t n = 0;
  while (command->options[n].name != NULL) {
    n++;
  }
  memset(args, 0, sizeof *args);
  args->command = command;
  args->given = gemel__need(NULL, (size_t)argc * 2 * sizeof *args->given);
  longs = gemel__need(NULL, (n + 2) * sizeof *longs);
  char *shorts = gemel__need(NULL, 2 * n + 3);
  make_tables(command, longs, shorts);
  int status = read_options(args, argc, argv, longs, shorts);
  args->operands = argv + optind;
  args->n_operands = argc - optind;
  free(longs);
  free(shorts);
  status = status == GEMEL__GOOD ? check_operands(args) : status;
  return status == GEMEL__GOOD ? check_files(args) : status;
}

void gemel__args_clear(gemel__args *args) {
  free(args->given);
  args->given = NULL;
}

/* ---- Values ---- */

static const char *given_value(const gemel__args *args, const char *name) {
  for (int k = args->n_given; k-- > 0;) {
    if (strcmp(args->given[k].option->name, name) == 0) {
      return args->given[k].value;
    }
  }
  return NULL;
}

const char *gemel__arg(const gemel__args *args, const char *name) {
  const char *value = given_value(args, name);
  return value != NULL ? value : gemel__flag(name);
}

int gemel__arg_set(const gemel__args *args, const char *name) {
  const char *flag = gemel__flag(name);
  return given_value(args, name) != NULL || (flag != NULL && strcmp(flag, "1") == 0);
}

/* A whole number in decimal, nothing else around it. */
static int read_number(const char *text, uint64_t *value) {
  char *end;
  unsigned long long number;
  if (!isdigit((unsigned char)text[0])) {
    return -1;
  }
  errno = 0;
  number = strtoull(text, &end, 10);
  if (errno != 0 || *end != '\0') {
    return -1;
  }
  *value = number;
  return 0;
}

/* Where the value of option NAME comes from, for messages. */
static const char *origin(const gemel__args *args, const char *name) {
  return given_value(args, name) != NULL ? "--" : "GEMEL_FLAGS: ";
}

int gemel__arg_number(const gemel__args *args, const char *name, uint64_t min, uint64_t max,
                      uint64_t *value) {
  const char *text = gemel__arg(args, name);
  uint64_t number;
  if (text == NULL) {
    return GEMEL__GOOD;
  }
  if (read_number(text, &number) != 0 || number < min || number > max) {
    return gemel__complain("%s%s: '%s' is no whole number from %llu to %llu", origin(args, name),
                           name, text, (unsigned long long)min, (unsigned long long)max);
  }
  *value = number;
  return GEMEL__GOOD;
}

/* Digits with one point among them perhaps; no sign, no exponent, no infinity. */
static int read_decimal(const char *text, double *value) {
  size_t digits = strspn(text, "0123456789");
  size_t point = text[digits] == '.';
  size_t more = point ? strspn(text + digits + 1, "0123456789") : 0;
  if (digits + more == 0 || text[digits + point + more] != '\0') {
    return -1;
  }
  *value = strtod(text, NULL);
  return 0;
}

int gemel__arg_seconds(const gemel__args *args, const char *name, double *seconds) {
  const char *text = gemel__arg(args, name);
  double number;
  if (text == NULL) {
    return GEMEL__GOOD;
  }
  if (read_decimal(text, &number) != 0 || !(number > 0) || number > 1e9) {
    return gemel__complain("%s%s: '%s' is no number of seconds above 0", origin(args, name), name,
                           text);
  }
  *seconds = number;
  return GEMEL__GOOD;
}

static int random_seed(uint64_t *seed) {
  FILE *file = fopen("/dev/urandom", "rb");
  int good = file != NULL && fread(seed, sizeof *seed, 1, file) == 1;
  if (file != NULL) {
    fclose(file);
  }
  *seed >>= 16; /* short enough to type again */
  return good ? GEMEL__GOOD : gemel__complain("/dev/urandom can't be read: give --seed a number");
}

int gemel__arg_seed(const gemel__args *args, uint64_t *seed) {
  const char *text = gemel__arg(args, "seed");
  if (text == NULL) {
    return GEMEL__GOOD;
  }
  if (strcmp(text, "random") == 0) {
    return random_seed(seed);
  }
  if (read_number(text, seed) != 0) {
    return gemel__complain("%sseed: '%s' is neither a number from 0 to 2^64 - 1 nor 'random'",
                           origin(args, "seed"), text);
  }
  return GEMEL__GOOD;
}
