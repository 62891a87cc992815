/* SPDX-License-Identifier: MIT
 *
 * Questions about terms: does a truth follow from others? What is plain (the truth is one of them)
 * is answered here; all else is written as SMT-LIB and asked of the solver Z3, in a context of its
 * own and with a limit in units of work, so that an answer doesn't depend on time or on what was
 * asked before. A question that isn't answered within the limit is open.
 */
#ifndef GEMEL__UNBOUNDED_ASK_H
#define GEMEL__UNBOUNDED_ASK_H

#include <gemel/status.h>
#include "unbounded/term.h"

typedef enum gemel__follows {
  GEMEL__FOLLOWS_OPEN,
  GEMEL__FOLLOWS_YES,
  GEMEL__FOLLOWS_NO
} gemel__follows;

/* Units of the solver's work for a question: some tenths of a second; of arithmetic on elements
 * some seconds. */
enum { GEMEL__ASK_WORK = 500000, GEMEL__ASK_ARITHMETIC = 6000000 };

typedef struct gemel__pasked {
  uint64_t hash[2]; /* of the text */
  gemel__follows answer;
} gemel__pasked;

enum { GEMEL__PMODEL = 96 }; /* most integers of a model */

/* Of an answer NO: integers for which all that is known holds and the goal doesn't, with the right
 * elements and truths. */
typedef struct gemel__pmodel {
  int is; /* 0: there is none, since the answer is another, or was known, or has too many */
  uint32_t count;
  gemel__pterm symbols[GEMEL__PMODEL];
  int64_t numbers[GEMEL__PMODEL];
} gemel__pmodel;

typedef struct gemel__ask {
  gemel__pterms *terms;
  unsigned work;
  int bits;             /* floats are those of their format, not reals */
  gemel__pasked *asked; /* open addressing; HASH[0] 0: empty */
  size_t n_asked, asked_size;
  size_t questions, open; /* asked of the solver, and not answered */
  int wants_model;        /* MODEL is wanted of answers NO */
  gemel__pmodel model;    /* of the last answer */
  int no_memory;
} gemel__ask;

/* 0: this build has no solver, and each question is open. */
int gemel__ask_has_solver(void);

void gemel__ask_init(gemel__ask *ask, gemel__pterms *terms);
void gemel__ask_clear(gemel__ask *ask);

/* The question whether GOAL follows from COUNT truths KNOWN, as SMT-LIB text: it has no model if it
 * does. To be freed with gemel_text_free; NULL: memory is out. */
char *gemel__ask_text(const gemel__ask *ask, const gemel__pterm *known, size_t count,
                      gemel__pterm goal);

/* Does GOAL follow from the COUNT truths KNOWN? YES: in every model; NO: there is a model in which
 * it doesn't, to which a call is any function. */
gemel__follows gemel__ask_follows(gemel__ask *ask, const gemel__pterm *known, size_t count,
                                  gemel__pterm goal);

/* How many of the COUNT FACTS, none of which is 0, can matter to GOAL; these come first. */
size_t gemel__ask_relevant(gemel__ask *ask, gemel__pterm *facts, size_t count, gemel__pterm goal);

/* 1 if it doesn't, as an example shows (example.c). */
int gemel__ask_example(gemel__ask *ask, const gemel__pterm *known, size_t count, gemel__pterm goal);

/* The integers TERMS in ASK's model, of which symbols that the question didn't have are 1. HAS:
 * which have a value there. */
void gemel__ask_numbers(gemel__ask *ask, size_t count, const gemel__pterm *terms, int64_t *numbers,
                        unsigned char *has);

#endif
