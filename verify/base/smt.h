/* SPDX-License-Identifier: MIT
 *
 * The door to Z3: a question as SMT-LIB text goes in, an answer comes out, with the numbers of an
 * example. Each question has its own Z3 context, and a limit in Z3's units of work rather than in
 * seconds, so the answer is the same on every machine and with any number of threads.
 */
#ifndef GEMEL__BASE_SMT_H
#define GEMEL__BASE_SMT_H

#include <flint/fmpq.h>

typedef enum gemel__smt_answer {
  GEMEL__SMT_UNKNOWN,  /* no answer within the limits, or the text isn't understood */
  GEMEL__SMT_NEVER,    /* proved unsatisfiable */
  GEMEL__SMT_POSSIBLE, /* satisfiable */
} gemel__smt_answer;

typedef struct gemel__smt_question {
  const char *text;   /* declarations, definitions and assertions; other commands do nothing */
  unsigned work;      /* most units of work; about a million a second */
  unsigned megabytes; /* most memory that Z3 has in this process; 0: any */
  int linear; /* 1: Z3's core, which approximates products; 0: Z3 chooses from all its ways */
  /* Is told the numbers of an example, integers, rationals and bit-vectors (as integers ≥ 0), by
   * the names of declared constants; algebraic numbers are rounded. A constant that isn't told can
   * be any number. May be NULL. */
  void (*take)(void *user, const char *name, const fmpq_t x);
  void *user;
} gemel__smt_question;

/* 0: this build has no solver, and each answer is unknown. */
int gemel__smt_has_solver(void);

gemel__smt_answer gemel__smt_ask(const gemel__smt_question *question);

/* A short piece of SMT-LIB text: an integer, for which SMT-LIB has no sign. */
__extension__ typedef __int128 gemel__smt_wide;
typedef struct gemel__smt_word {
  char text[96];
} gemel__smt_word;
gemel__smt_word gemel__smt_integer(gemel__smt_wide x);

#endif
