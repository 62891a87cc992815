/* SPDX-License-Identifier: MIT
 *
 * What the pages of HTML that gemel writes have in common (page.c): a head with the verdict, facts
 * of the run, tables, long texts that are folded, and text from outside made harmless. A page needs
 * no other file, runs no program but one that it is made with, and is XML as well as HTML.
 */
#ifndef GEMEL__TOOLS_PAGE_H
#define GEMEL__TOOLS_PAGE_H

#include <stdint.h>
#include <stdio.h>
#include "tool.h"

/* Its class in HTML. */
const char *gemel__tone_class(gemel__tone tone);

/* What stands at the head of a page; texts are borrowed and may come from outside. */
typedef struct gemel__page {
  const char *command; /* of gemel's, as "verify" */
  const char *what;    /* before the names, as "rules", or in their place, as ": all"; may be "" */
  const char *const *names; /* of the files or patterns that it is about */
  size_t n_names;
  gemel__tone tone;
  const char *verdict; /* on the whole, in a word or two */
  const char *script;  /* the hash of the one script that may run: "sha256-..."; NULL: none may */
} gemel__page;

/* Of so many things the same is to be said. */
typedef struct gemel__page_count {
  size_t count;
  const char *what;
  gemel__tone tone;
} gemel__page_count;

/* Begins the page and its head: title, names, verdict. Sentences and counts may follow. */
void gemel__page_begin(FILE *file, const gemel__page *page);

/* A line of N counts; those of 0 are left out. */
void gemel__page_counts(FILE *file, const gemel__page_count *counts, size_t n);

/* Ends the head and begins the facts of the run: the command line, the date, gemel's version. The
 * caller may add others, then calls gemel__page_facts_end. */
void gemel__page_facts(FILE *file);
void gemel__page_fact(FILE *file, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void gemel__page_facts_end(FILE *file);

/* TEXT as it is; folded below its name WHAT if it is long. */
void gemel__page_text(FILE *file, const char *what, const char *text);

/* A word in the colour of TONE. WORD is one of gemel's own. */
void gemel__page_tag(FILE *file, gemel__tone tone, const char *word);

/* A table, which scrolls by itself where it is wider than the page; rows come between. */
void gemel__page_table(FILE *file);
void gemel__page_table_end(FILE *file);

void gemel__page_end(FILE *file);

/* TEXT (NULL: nothing) as XML and HTML have it: without control characters, and with '?' for each
 * byte that is no UTF-8 or belongs to a character that would show text in another order. */
void gemel__escape(FILE *file, const char *text);

/* How many bytes the character at TEXT has, in UTF-8; 0 if it is none, or none to be printed. */
size_t gemel__character(const char *text);

#endif
