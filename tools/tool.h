/* SPDX-License-Identifier: MIT
 *
 * What the sub-commands of `gemel` share: how they are described, their arguments, messages, and
 * output that appears whole or not at all. A sub-command is one gemel__command; the table of its
 * options is what its --help prints and what the man page is checked against.
 */
#ifndef GEMEL__TOOLS_TOOL_H
#define GEMEL__TOOLS_TOOL_H

#include <gemel/gemel.h>
#include <stdio.h>
#include <sys/types.h>
#include "text/file.h"

/* Exit statuses. */
enum {
  GEMEL__GOOD = 0,
  GEMEL__REFUTED = 1, /* something was refuted, or differs */
  GEMEL__BAD = 2,     /* usage, input that can't be read, output that can't be written */
  GEMEL__LACKING = 3  /* a model, or another file, has something that gemel hasn't */
};

/* Defaults that the environment variable GEMEL_FLAGS may set. X(name, summary). An option of the
 * same name takes its default from there. */
#define GEMEL__FLAG_TABLE(X)                                                                       \
  X(autotune, "1: kernels are chosen by timing them")                                              \
  X(certify, "1: every rewrite that is applied is checked")                                        \
  X(deterministic, "1: results that don't depend on the number of threads")                        \
  X(device, "where graphs are computed: the name of a device")                                     \
  X(exclude, "rewrites that are left out, with : between them")                                    \
  X(fastmath, "what rewriting may give up: none, default, all or words with : between them")       \
  X(guard, "nan, inf or all: a call ends where the first one is made")                             \
  X(include, "rewrites that are used, with : between them; no others are")                         \
  X(instances, "random instances for each operation and tier")                                     \
  X(lift, "what goes to the device: aggressive, cheapest")                                         \
  X(mode, "how much is rewritten: none, fast_compile, fast_run")                                   \
  X(profile, "1: where the time of rewriting or of a call went is printed")                        \
  X(seed, "of everything random: a number, or the word random")                                    \
  X(threads, "how many threads a call may use")                                                    \
  X(trace, "the file that says when each instruction of a call ran")

/* ---- Describing a command ---- */

/* One option; a table of them ends with a NULL name. */
typedef struct gemel__option {
  const char *name;  /* the long one, without dashes */
  char letter;       /* the short one; 0: none */
  const char *value; /* what its value is called; NULL: it takes none */
  const char *help;
} gemel__option;

/* What the value of an option is called that says where a file is written: "F". No two such name
 * one file; only --out may name one that is read. */
extern const char gemel__written_file[];

/* 1 if a value that --help calls LABEL is a path: F, D, DIR, FILE or FOLDER, alone or at an end. */
int gemel__is_path_label(const char *label);

/* One option as it was given. */
typedef struct gemel__given {
  const gemel__option *option;
  const char *value;
} gemel__given;

typedef struct gemel__args {
  const struct gemel__command *command;
  gemel__given *given; /* in their order */
  int n_given;
  char **operands;
  int n_operands;
} gemel__args;

typedef struct gemel__command {
  const char *name;
  const char *operands; /* as in "usage: gemel name [OPTION]... operands" */
  const char *summary;
  const char *about; /* a paragraph or more below the options; may be NULL */
  const gemel__option *options;
  int min_operands, max_operands; /* max -1: no limit */
  int (*run)(const gemel__args *args);
} gemel__command;

/* The commands, in the order of --help; without the harness, those that need it are left out. */
#ifdef HAVE_VERIFY
#define GEMEL__HARNESS_COMMANDS(X) X(verify) X(equal) X(campaign) X(models) X(mutate) X(fuzz)
#else
#define GEMEL__HARNESS_COMMANDS(X)
#endif
#define GEMEL__COMMAND_TABLE(X)                                                                    \
  GEMEL__HARNESS_COMMANDS(X) X(run) X(grad) X(opt) X(show) X(convert) X(bench) X(info)
#define GEMEL__COMMAND_DECLARE(name) extern const gemel__command gemel__command_##name;
GEMEL__COMMAND_TABLE(GEMEL__COMMAND_DECLARE)
#undef GEMEL__COMMAND_DECLARE

/* The K-th of them, NULL behind the last (main.c). */
const gemel__command *gemel__command_at(size_t k);

/* Prints the script by which SHELL completes gemel's arguments (completions.c). GEMEL__BAD (said).
 */
int gemel__completions(gemel_context *context, const char *shell);

/* ---- Arguments (args.c, flags.c) ---- */

/* Reads GEMEL_FLAGS. GEMEL__BAD (said) if it is malformed. */
int gemel__flags_read(void);

/* The value that GEMEL_FLAGS gives NAME, or NULL. */
const char *gemel__flag(const char *name);

/* Reads argv of a sub-command (argv[0] is its name). GEMEL__GOOD; GEMEL__BAD (said); -1: --help was
 * asked for and printed. Release with gemel__args_clear in any case. */
int gemel__args_read(gemel__args *args, const gemel__command *command, int argc, char **argv);
void gemel__args_clear(gemel__args *args);

/* The last value given for option NAME, else GEMEL_FLAGS', else NULL; "" for a bare option. */
const char *gemel__arg(const gemel__args *args, const char *name);

/* 1 if the option, one without a value, is given (or the flag is 1). */
int gemel__arg_set(const gemel__args *args, const char *name);

/* *VALUE = the option's whole number in MIN..MAX; left alone if it isn't given. GEMEL__BAD (said)
 * otherwise. */
int gemel__arg_number(const gemel__args *args, const char *name, uint64_t min, uint64_t max,
                      uint64_t *value);

/* *SEED = --seed: a number, or "random"; left alone if it isn't given. */
int gemel__arg_seed(const gemel__args *args, uint64_t *seed);

/* Option NAME as a number of seconds above 0, in decimal; *SECONDS stays as it is if it isn't
 * given. GEMEL__BAD (said). */
int gemel__arg_seconds(const gemel__args *args, const char *name, double *seconds);

/* ---- Rewriting (rewriting.c) ---- */

/* Rows for the table of options; LETTER is the short one of --include, 0: none. */
#define GEMEL__REWRITE_OPTIONS(letter)                                                             \
  {"mode", 'm', "MODE", "none, fast_compile or fast_run (default: fast_run)"},                     \
      {"include", letter, "LIST", "only these rules, tags, families, phases (default: all)"},      \
      {"exclude", 'x', "LIST", "not these; what is excluded is out even if it is included"},       \
      {"fastmath", 'f', "WORDS",                                                                   \
       "what may be given up: none, default, all, or words such as reassoc,nsz (default: "         \
       "default)"},                                                                                \
      {"certify", 0, NULL, "check every rewrite that is applied, and stop at one that's wrong"}, { \
    "rules", 'r', "F", "rules from F, beside gemel's own; may be given more than once"             \
  }

typedef struct gemel__rewriting {
  gemel_rewrite_options options;
  gemel_rules **rules;
} gemel__rewriting;

/* What ARGS and GEMEL_FLAGS say. GEMEL__BAD (said). Release with gemel__rewriting_clear in any
 * case; texts are borrowed from ARGS. */
int gemel__rewriting_read(gemel__rewriting *r, gemel_context *context, const gemel__args *args);

/* Lets rewriting in CONTEXT be certified, which takes the harness. GEMEL__BAD (said). */
int gemel__certify_enable(gemel_context *context);

/* Says what rewriting, or compiling, failed with: GEMEL__REFUTED if it is certified and a rewrite
 * doesn't hold, else GEMEL__BAD. WHAT is as for gemel__complain_error. */
int gemel__complain_rewrite(const gemel_context *context, const char *what,
                            const gemel_error *error);

/* If rewriting was certified: how much was asked, a line on stderr. */
void gemel__rewriting_report(const gemel__rewriting *r, const gemel_context *context);
void gemel__rewriting_clear(gemel__rewriting *r);

/* ---- Devices (device.c) ---- */

/* What the program was started with, its own name first. */
extern char **gemel__arguments;

#define GEMEL__DEVICE_OPTIONS                                                                      \
  {"device", 'D', "NAME",                                                                          \
   "lift the graph, once it is rewritten, to this device (default: host); NAME:N is number N of "  \
   "its kind, "                                                                                    \
   "with ,tf32 or ,bf16 behind it products of f32 are made so"},                                   \
  {                                                                                                \
    "lift", 'L', "STRATEGY",                                                                       \
        "aggressive (all that the device can do) or cheapest (what makes a call faster); "         \
        "default: "                                                                                \
        "cheapest for fast_run, else aggressive"                                                   \
  }

/* Opens the device that ARGS or GEMEL_FLAGS name, in CONTEXT, and fills in LIFT, of which the space
 * is the host's if there is none. GEMEL__BAD (said). */
int gemel__device_read(gemel_lift_options *lift, gemel_context *context, const gemel__args *args,
                       const gemel_rewrite_options *rewrite);

/* Opens the device called NAME in CONTEXT, in memory space *SPACE; NULL, and "host": the host.
 * GEMEL__BAD (said). */
int gemel__device_open(gemel_context *context, const char *name, int *space);

/* Prints what a lift did to stderr. */
void gemel__lift_print(const gemel_lift_report *report);

/* ---- How a call ran (observe.c) ---- */

#define GEMEL__OBSERVE_OPTIONS                                                                     \
  {"calls", 'c', "N", "compute it N times, to profile it (default: 1)"},                           \
      {"profile", 'P', NULL, "print to stderr where the time went, by operation and by node"},     \
      {"json", 'j', gemel__written_file,                                                           \
       "write the profile to F, one JSON object a line; '-' is stdout"},                           \
      {"trace", 'T', gemel__written_file,                                                          \
       "write when each instruction ran to F, for Chrome's trace viewer"},                         \
      {"list", 'l', NULL,                                                                          \
       "print to stderr how it was computed: instructions, kernels, and where results were "       \
       "stored"},                                                                                  \
  {                                                                                                \
    "guard", 'g', "KIND",                                                                          \
        "stop at the first node that makes a nan or inf (or one of all) of operands without one"   \
  }

/* Sets in OPTIONS what ARGS and GEMEL_FLAGS ask for. GEMEL__BAD (said). */
int gemel__observe_read(const gemel__args *args, gemel_options *options);

/* Prints and writes what was asked for, when FUNCTION has been called. GEMEL__BAD (said). */
int gemel__observe_report(const gemel__args *args, const gemel_options *options,
                          const gemel_function *function);

/* gemel run on the folder of a dumped call (replay.c). */
int gemel__replay(const gemel__args *args);

/* ---- Messages (say.c) ---- */

/* Prints "gemel: " and the message to stderr; returns GEMEL__BAD. */
int gemel__complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for an error of the library about WHAT (a path; NULL: nothing to name). */
int gemel__complain_error(const char *what, const gemel_error *error);

/* The same for a file WHAT that wasn't read: GEMEL__LACKING if gemel lacks what is in it
 * (GEMEL_UNSUPPORTED), else GEMEL__BAD. */
int gemel__complain_unread(const char *what, const gemel_error *error);

/* Prints "\r" and a message without a newline to stderr if that is a terminal; NULL clears it. */
void gemel__progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- Signals (signals.c) ---- */

/* From now on SIGINT, SIGTERM and SIGHUP, unless they are ignored, only ask the command to end; a
 * second one, or a minute, ends the process. */
void gemel__signals_catch(void);

/* In a child: they end it, and it removes nothing of its parent's. */
void gemel__signals_release(void);

/* The signal that asked the command to end; 0: none. */
int gemel__signals_caught(void);

/* The file at PATH, which must live so long, is removed where a signal ends the process at once. */
void gemel__signals_aside(char *path);

/* It isn't any more. */
void gemel__signals_kept(char *path);

/* Removes the files that are written aside, in a process that ends at once. */
void gemel__signals_clear(void);

/* ---- The end (end.c) ---- */

/* From now on a library that ends the process ends it with GEMEL__BAD, and says so. */
void gemel__end_watch(void);

/* Notes that the command itself ends with STATUS, for exit() or main's return; returns STATUS. */
int gemel__end_with(int status);

/* As fork(), with streams flushed; where that never returns, the process ends with GEMEL__BAD. */
pid_t gemel__fork(void);

/* Ends a child that is a copy of the command, without what that does at its end. */
_Noreturn void gemel__end_child(int status);

/* How a verdict is shown: on a terminal green, red and bold, yellow, and as it is. X(name, the
 * class in HTML). */
#define GEMEL__TONE_TABLE(X)                                                                       \
  X(GOOD, "passed")                                                                                \
  X(BAD, "refuted")                                                                                \
  X(OPEN, "open") /* it couldn't be judged */                                                      \
  X(QUIET, "na")  /* there is nothing to judge */

typedef enum gemel__tone {
#define GEMEL__TONE(NAME, text) GEMEL__TONE_##NAME,
  GEMEL__TONE_TABLE(GEMEL__TONE)
#undef GEMEL__TONE
      GEMEL__TONE_COUNT
} gemel__tone;

/* 1 if FILE is a terminal that shows colours and nobody asked for none: NO_COLOR is unset or empty,
 * TERM is neither unset nor "dumb". */
int gemel__is_coloured(FILE *file);

/* Prints WORD to FILE, in TONE's colour if FILE is coloured, and spaces behind it up to WIDTH. */
void gemel__paint(FILE *file, gemel__tone tone, int width, const char *word);

/* Seconds of a monotonic clock. */
double gemel__now(void);

/* ---- Files (files.c) ---- */

/* malloc and its kin, for a program that can say so and leave: exits with GEMEL__BAD when memory is
 * out. Nothing is held then that outlives the process. */
void *gemel__need(void *block, size_t bytes);
char *gemel__need_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* LENGTH bytes of TEXT as one word of the shell, to be freed. */
char *gemel__shell_word(const char *text, size_t length);

/* 1 if PATH ends in SUFFIX. */
int gemel__ends_in(const char *path, const char *suffix);

/* 1 if PATH is, by its extension, a file of named tensors: NPZ or safetensors. */
int gemel__is_tensors_file(const char *path);

/* gemel_npz_load and gemel_npz_save, or those of safetensors. */
gemel_status gemel__tensors_load(const char *path, size_t *count, char ***names,
                                 gemel_tensor ***tensors, gemel_error *error);
gemel_status gemel__tensors_save(size_t count, const char *const *names,
                                 gemel_tensor *const *tensors, const char *path,
                                 gemel_error *error);

/* *GRAPH = the graph in a file, an ONNX model if it ends in .onnx, whose symbols get the sizes that
 * ARGS (NULL: none) give by --dim; *NAME is freed with gemel_text_free. GEMEL__BAD, GEMEL__LACKING
 * (said), and *GRAPH is NULL. */
int gemel__graph_read(gemel_context *context, const char *path, gemel_graph **graph, char **name,
                      const gemel__args *args);

/* Rows for the table of options of commands that read models. */
#define GEMEL__MODEL_OPTIONS                                                                       \
  {"dim", 0, "NAME=N", "the size of a symbol of an ONNX model; may be repeated"}, {                \
    "operators", 0, "FILE", "operators of ONNX and composites, as text; may be repeated"           \
  }

/* Defines the operations that the file begins with (gemel_define_operations). */
gemel_status gemel__define_from(gemel_context *context, const char *path, gemel_error *error);

/* What an option GLOB|FILE means: *RULES with a dot or slash in it is a file, then *SET becomes its
 * rules (released by the caller) and *RULES NULL. */
gemel_status gemel__rules_choose(gemel_context *context, const char **rules, gemel_rules **set,
                                 gemel_error *error);

/* A context, or NULL (said). */
gemel_context *gemel__context_need(void);

/* A context that knows what the files that ARGS give by --operators define, or NULL (said). */
gemel_context *gemel__context_for(const gemel__args *args);

/* Makes the DESCRIPTOR of a standard stream one of the null device. */
void gemel__stream_to_null(int descriptor);

/* 1 if PATH can be read as a regular file (or the like); else says what it is. */
int gemel__readable(const char *path);

/* Makes the folder PATH, which lives as long as the command, if it isn't there. GEMEL__BAD (said).
 */
int gemel__folder_make(const char *path);

/* The same, and files can be made in it. */
int gemel__folder_writable(const char *path);

/* Removes the folder that gemel__folder_make has made, if it is empty. */
void gemel__folder_unmake(void);

/* A file being written, as the library writes files. */
typedef struct gemel__output {
  FILE *file;
  gemel__file target; /* unless FILE is stdout */
  char *aside;        /* where it is written first, for a signal; NULL: nowhere */
} gemel__output;

/* PATH "-" is stdout. GEMEL__BAD (said). */
int gemel__output_open(gemel__output *output, const char *path);

/* A gemel_write whose state is a gemel__output. */
int gemel__output_write(void *output, const void *bytes, size_t count);

/* A gemel_write whose state is a FILE. */
int gemel__stream_write(void *stream, const void *bytes, size_t count);

/* KEEP: the file appears, or GEMEL__BAD (said). Otherwise nothing appears. */
int gemel__output_close(gemel__output *output, int keep);

/* Writes GRAPH to PATH: binary if that ends in ".gemel", else text. GEMEL__BAD (said). */
int gemel__graph_write(const gemel_graph *graph, const char *name, const char *path);

/* ---- Printing (values.c, attrs.c) ---- */

/* Prints a tensor's values as NumPy does: brackets, columns, the middle left out of long ones. */
void gemel__print_values(FILE *file, const gemel_tensor *tensor);

/* One element in decimal: all digits of an integer, 17 of a float. */
void gemel__format_exactly(gemel_dtype dtype, const char *data, char *text, size_t bytes);

/* "f32[2, 3]" */
void gemel__format_tensor_type(const gemel_tensor *tensor, char *text, size_t bytes);

/* NAME, the tensor's type and its values, to stdout. */
void gemel__print_named(const char *name, const gemel_tensor *tensor);

/* Writes the attributes of VALUE's node that are there (", name = value" each) into TEXT, shortened
 * to fit. */
void gemel__print_attributes(gemel_value value, char *text, size_t bytes);

/* show's other formats (debug.c, dot.c). */
void gemel__show_debug(FILE *file, const gemel_graph *graph, const char *name);
void gemel__show_dot(FILE *file, const gemel_graph *graph, const char *name);

#endif
