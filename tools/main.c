/* SPDX-License-Identifier: MIT
 *
 * The gemel command: finds the sub-command in a table, reads its arguments and runs it. Each
 * sub-command stands in a file of its own name. Exit status 0: all is well; 1: something was
 * refuted or differs; 2: usage, or something can't be read, written or computed; 3: a file has what
 * gemel lacks. 1 is said by the command alone, whatever ends the process (end.c).
 */
#include <stdlib.h>
#include <string.h>
#include "core/suggest.h"
#include "tool.h"

static const gemel__command *const commands[] = {
#define COMMAND_ROW(name) &gemel__command_##name,
    GEMEL__COMMAND_TABLE(COMMAND_ROW)
#undef COMMAND_ROW
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

const gemel__command *gemel__command_at(size_t k) {
  return k < COMMAND_COUNT ? commands[k] : NULL;
}

static int print_help(FILE *file) {
  fputs("usage: gemel COMMAND [ARGUMENT]...\n\n", file);
  for (size_t k = 0; k < COMMAND_COUNT; k++) {
    fprintf(file, "  %-8s  %s\n", commands[k]->name, commands[k]->summary);
  }
  fputs("\n  --help     print this, or after a command what it takes\n"
        "  --version  print the version\n"
        "\nExit status: 0 all is well; 1 something was refuted or differs; 2 usage, or something "
        "can't\nbe read or written; 3 a model, or another file, has something that gemel hasn't.\n"
        "GEMEL_FLAGS=name=value,... sets defaults:\n\n",
        file);
#define FLAG_ROW(name, summary) fprintf(file, "  %-13s  %s\n", #name, summary);
  GEMEL__FLAG_TABLE(FLAG_ROW)
#undef FLAG_ROW
  return GEMEL__GOOD;
}

static const gemel__command *find_command(const char *name) {
  for (size_t k = 0; k < COMMAND_COUNT; k++) {
    if (strcmp(commands[k]->name, name) == 0) {
      return commands[k];
    }
  }
  return NULL;
}

/* What NAME, which is no command, may be. */
static int complain_unknown(const char *name) {
  static const char *const options[] = {"--help", "--version"};
#ifndef HAVE_VERIFY
  if (strcmp(name, "verify") == 0 || strcmp(name, "equal") == 0) {
    return gemel__complain("%s: this gemel was built without the harness (--disable-verify)", name);
  }
#endif
  gemel__suggestion near;
  gemel__suggestion_start(&near, name, strlen(name));
  for (size_t k = 0; k < COMMAND_COUNT; k++) {
    gemel__suggestion_offer(&near, commands[k]->name, strlen(commands[k]->name));
  }
  for (size_t k = 0; name[0] == '-' && k < sizeof options / sizeof *options; k++) {
    gemel__suggestion_offer(&near, options[k], strlen(options[k]));
  }
  return gemel__complain("there is no %s '%s'%s; see gemel --help",
                         name[0] == '-' ? "option" : "command", name,
                         gemel__suggestion_text(&near));
}

static int run_command(const gemel__command *command, int argc, char **argv) {
  gemel__args args;
  int status = gemel__flags_read();
  if (status != GEMEL__GOOD) {
    return status;
  }
  status = gemel__args_read(&args, command, argc, argv);
  if (status == GEMEL__GOOD) {
    status = command->run(&args);
  }
  if (status != GEMEL__GOOD) {
    gemel__folder_unmake();
  }
  gemel__args_clear(&args);
  return status < 0 ? GEMEL__GOOD : status;
}

/* gemel help NAME: as gemel NAME --help. */
static int help_on(char *name) {
  char help[] = "--help", *argv[] = {name, help, NULL};
  const gemel__command *command = find_command(name);
  return command != NULL ? run_command(command, 2, argv) : complain_unknown(name);
}

static int dispatch(int argc, char **argv) {
  if (argc < 2) {
    print_help(stderr);
    return GEMEL__BAD;
  }
  const char *name = argv[1];
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
    return argc == 3 && name[0] == 'h' ? help_on(argv[2]) : print_help(stdout);
  }
  if (strcmp(name, "--version") == 0) {
    printf("gemel %s\n", gemel_version());
    return GEMEL__GOOD;
  }
  const gemel__command *command = find_command(name);
  return command != NULL ? run_command(command, argc - 1, argv + 1) : complain_unknown(name);
}

char **gemel__arguments;

int main(int argc, char **argv) {
  gemel__arguments = argv;
  gemel__end_watch();
  int status = dispatch(argc, argv);
  /* What stdout could not take is an error like any other. */
  if (fflush(stdout) != 0 || ferror(stdout)) {
    status = gemel__complain("standard output can't be written");
  }
  return gemel__end_with(status);
}
