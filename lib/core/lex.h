/* SPDX-License-Identifier: MIT
 *
 * Tokens of graph text, expressions and types. White space and comments (from # to the end of the
 * line) separate tokens and mean nothing else. The lexer holds one token; what comes after it is
 * looked at by character where the grammar needs it, or by copying the lexer, which is small.
 */
#ifndef GEMEL__CORE_LEX_H
#define GEMEL__CORE_LEX_H

#include <stddef.h>
#include <gemel/status.h>
#include "core/error.h"

enum {
  /* Single characters are their own tokens; these are the others. */
  GEMEL__TOKEN_END = 256,
  GEMEL__TOKEN_NAME,
  GEMEL__TOKEN_INT,
  GEMEL__TOKEN_FLOAT,
  GEMEL__TOKEN_STRING, /* with its quotes */
  GEMEL__TOKEN_EQ,     /* == */
  GEMEL__TOKEN_NE,
  GEMEL__TOKEN_LE,
  GEMEL__TOKEN_GE,
  GEMEL__TOKEN_ARROW,    /* => */
  GEMEL__TOKEN_DOTS,     /* .. */
  GEMEL__TOKEN_FLOORDIV, /* // */
  GEMEL__TOKEN_DOLLAR,   /* $ with the name or digits that follow */
  GEMEL__TOKEN_BAD
};

/* What a character may be part of. */
enum { GEMEL__CHAR_SPACE = 1, GEMEL__CHAR_LETTER = 2, GEMEL__CHAR_DIGIT = 4 };
extern const unsigned char gemel__char_classes[256];

static inline int gemel__char_class(char c) {
  return gemel__char_classes[(unsigned char)c];
}

typedef struct gemel__lex {
  const char *end;
  const char *at; /* behind the token */
  const char *line_start;
  const char *file; /* for messages; "" if there is none */
  int line;
  int kind;
  const char *token;
  size_t length;
  int token_line;
  const char *token_line_start;
} gemel__lex;

/* Starts on TEXT and reads the first token. */
void gemel__lex_start(gemel__lex *lex, const char *text, size_t length, const char *file);

/* Reads the next token. */
void gemel__lex_next(gemel__lex *lex);

/* Goes to AT, on line LINE that begins at LINE_START, and reads the token there. */
void gemel__lex_move(gemel__lex *lex, const char *at, const char *line_start, int line);

/* The first character after the token that is neither white space nor comment; 0 at the end.
 * *SECOND (may be NULL) is the one right behind it. */
int gemel__lex_peek(const gemel__lex *lex, int *second);

/* 1 if the token is the name TEXT. */
int gemel__lex_is(const gemel__lex *lex, const char *text);

/* If the token is of this KIND, goes on to the next and returns 1. */
int gemel__lex_accept(gemel__lex *lex, int kind);

/* As accept; if it isn't, fails with "expected WHAT". */
gemel_status gemel__lex_expect(gemel__lex *lex, int kind, const char *what, gemel_error *error);

/* Fails with STATUS at the current token: line, column, and the line with a caret under it. */
gemel_status gemel__lex_fail(const gemel__lex *lex, gemel_error *error, gemel_status status,
                             const char *format, ...) GEMEL__PRINTF(4, 5);

/* Adds place, line and caret to a message that is there already. */
gemel_status gemel__lex_locate(const gemel__lex *lex, gemel_error *error);

/* The token for messages: "'foo'" or "the end of the text". Static or in TEXT. */
const char *gemel__lex_describe(const gemel__lex *lex, char text[64]);

/* Bytes of the character at P, in UTF-8 (RFC 3629); 0 if it is none. */
size_t gemel__utf8_bytes(const char *p, const char *end);

/* Decodes the escape sequence of JSON at *P, a backslash, and goes past it: how many bytes of UTF-8
 * are in PIECE, or 0 if it is none. */
size_t gemel__json_unescape(const char **p, const char *end, char piece[4]);

/* The token copied into NAME (BYTES bytes); 0, or -1 if it is too long. */
int gemel__lex_copy(const gemel__lex *lex, char *name, size_t bytes);

#endif
