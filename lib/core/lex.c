/* SPDX-License-Identifier: MIT
 *
 * The lexer, and messages that show a place in the text. Which characters may begin, or go on with,
 * a name or number is one table look-up a character: graphs of millions of lines pass through here.
 */
#include <stdio.h>
#include <string.h>
#include "core/lex.h"

enum { SPACE = GEMEL__CHAR_SPACE, LETTER = GEMEL__CHAR_LETTER, DIGIT = GEMEL__CHAR_DIGIT };

const unsigned char gemel__char_classes[256] = {
    [' '] = SPACE,  ['\t'] = SPACE, ['\r'] = SPACE, ['\n'] = SPACE, ['_'] = LETTER, ['a'] = LETTER,
    ['b'] = LETTER, ['c'] = LETTER, ['d'] = LETTER, ['e'] = LETTER, ['f'] = LETTER, ['g'] = LETTER,
    ['h'] = LETTER, ['i'] = LETTER, ['j'] = LETTER, ['k'] = LETTER, ['l'] = LETTER, ['m'] = LETTER,
    ['n'] = LETTER, ['o'] = LETTER, ['p'] = LETTER, ['q'] = LETTER, ['r'] = LETTER, ['s'] = LETTER,
    ['t'] = LETTER, ['u'] = LETTER, ['v'] = LETTER, ['w'] = LETTER, ['x'] = LETTER, ['y'] = LETTER,
    ['z'] = LETTER, ['A'] = LETTER, ['B'] = LETTER, ['C'] = LETTER, ['D'] = LETTER, ['E'] = LETTER,
    ['F'] = LETTER, ['G'] = LETTER, ['H'] = LETTER, ['I'] = LETTER, ['J'] = LETTER, ['K'] = LETTER,
    ['L'] = LETTER, ['M'] = LETTER, ['N'] = LETTER, ['O'] = LETTER, ['P'] = LETTER, ['Q'] = LETTER,
    ['R'] = LETTER, ['S'] = LETTER, ['T'] = LETTER, ['U'] = LETTER, ['V'] = LETTER, ['W'] = LETTER,
    ['X'] = LETTER, ['Y'] = LETTER, ['Z'] = LETTER, ['0'] = DIGIT,  ['1'] = DIGIT,  ['2'] = DIGIT,
    ['3'] = DIGIT,  ['4'] = DIGIT,  ['5'] = DIGIT,  ['6'] = DIGIT,  ['7'] = DIGIT,  ['8'] = DIGIT,
    ['9'] = DIGIT,
};

/* Skips white space and comments; counts lines. */
static void skip(gemel__lex *lex) {
  const char *p = lex->at;
  for (; p < lex->end; p++) {
    if (*p == '\n') {
      lex->line++;
      lex->line_start = p + 1;
    } else if (*p == '#') {
      const char *stop = (const char *)memchr(p, '\n', (size_t)(lex->end - p));
      p = (stop ? stop : lex->end) - 1;
    } else if (gemel__char_class(*p) != SPACE) {
      break;
    }
  }
  lex->at = p;
}

/* The end of a number that begins at P: digits, a fraction, an exponent; or 0x and a hexadecimal
 * one. *FLOAT is set if it is more than an integer. */
static const char *number_end(const char *p, const char *end, int *is_float) {
  int hex = end - p > 1 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
  int exponent = hex ? 'p' : 'e';
  *is_float = 0;
  p += hex ? 2 : 0;
  for (; p < end; p++) {
    int c = *p | 32;
    if (*p == '.') {
      *is_float = 1;
    } else if (c == exponent) {
      *is_float = 1;
      p += p + 1 < end && (p[1] == '+' || p[1] == '-');
    } else if (gemel__char_class(*p) != DIGIT && !(hex && c >= 'a' && c <= 'f')) {
      break;
    }
  }
  return p;
}

/* The end of a quoted string that begins at P; NULL if it doesn't end on its line. */
static const char *string_end(const char *p, const char *end) {
  for (p++; p < end && *p != '\n'; p++) {
    if (*p == '\\') {
      p++;
    } else if (*p == '"') {
      return p + 1;
    }
  }
  return NULL;
}

static const char *word_end(const char *p, const char *end) {
  while (p < end && (gemel__char_class(*p) & (LETTER | DIGIT))) {
    p++;
  }
  return p;
}

/* Punctuation of two characters, or one by itself. */
static int punctuation(const char *p, const char *end) {
  int next = p + 1 < end ? p[1] : 0;
  switch (*p) {
  case '=':
    return next == '=' ? GEMEL__TOKEN_EQ : next == '>' ? GEMEL__TOKEN_ARROW : '=';
  case '.':
    return next == '.' ? GEMEL__TOKEN_DOTS : GEMEL__TOKEN_BAD;
  case '!':
    return next == '=' ? GEMEL__TOKEN_NE : GEMEL__TOKEN_BAD;
  case '<':
    return next == '=' ? GEMEL__TOKEN_LE : '<';
  case '>':
    return next == '=' ? GEMEL__TOKEN_GE : '>';
  case '/':
    return next == '/' ? GEMEL__TOKEN_FLOORDIV : '/';
  case '(':
  case ')':
  case '[':
  case ']':
  case '{':
  case '}':
  case ',':
  case ':':
  case '+':
  case '-':
  case '*':
  case '%':
  case '@':
    return *p;
  default:
    return GEMEL__TOKEN_BAD;
  }
}

/* The other tokens: strings, sizes of inputs, punctuation. */
static const char *odd_token(gemel__lex *lex, const char *p) {
  const char *stop;
  if (*p == '"') {
    stop = string_end(p, lex->end);
    lex->kind = stop ? GEMEL__TOKEN_STRING : GEMEL__TOKEN_BAD;
    return stop ? stop : p + 1;
  }
  if (*p == '$') {
    stop = word_end(p + 1, lex->end);
    lex->kind = stop > p + 1 ? GEMEL__TOKEN_DOLLAR : GEMEL__TOKEN_BAD;
    return stop;
  }
  lex->kind = punctuation(p, lex->end);
  return p + 1 + (lex->kind >= GEMEL__TOKEN_EQ && lex->kind <= GEMEL__TOKEN_FLOORDIV);
}

void gemel__lex_next(gemel__lex *lex) {
  int is_float;
  skip(lex);
  const char *p = lex->at, *stop;
  lex->token = p;
  lex->token_line = lex->line;
  lex->token_line_start = lex->line_start;
  if (p == lex->end) {
    lex->kind = GEMEL__TOKEN_END;
    stop = p;
  } else if (gemel__char_class(*p) == LETTER) {
    lex->kind = GEMEL__TOKEN_NAME;
    stop = word_end(p, lex->end);
  } else if (gemel__char_class(*p) == DIGIT ||
             (*p == '.' && p + 1 < lex->end && gemel__char_class(p[1]) == DIGIT)) {
    stop = number_end(p, lex->end, &is_float);
    lex->kind = is_float ? GEMEL__TOKEN_FLOAT : GEMEL__TOKEN_INT;
  } else {
    stop = odd_token(lex, p);
  }
  lex->length = (size_t)(stop - p);
  lex->at = stop;
}

void gemel__lex_start(gemel__lex *lex, const char *text, size_t length, const char *file) {
  memset(lex, 0, sizeof *lex);
  lex->at = lex->line_start = text;
  lex->end = text + length;
  lex->file = file ? file : "";
  lex->line = 1;
  gemel__lex_next(lex);
}

void gemel__lex_move(gemel__lex *lex, const char *at, const char *line_start, int line) {
  lex->at = at;
  lex->line_start = line_start;
  lex->line = line;
  gemel__lex_next(lex);
}

int gemel__lex_peek(const gemel__lex *lex, int *second) {
  const char *p = lex->at;
  if (p < lex->end && (gemel__char_class(*p) == SPACE || *p == '#')) {
    gemel__lex ahead = *lex;
    skip(&ahead);
    p = ahead.at;
  }
  if (second) {
    *second = p + 1 < lex->end ? p[1] : 0;
  }
  return p < lex->end ? *p : 0;
}

int gemel__lex_is(const gemel__lex *lex, const char *text) {
  return lex->kind == GEMEL__TOKEN_NAME && strlen(text) == lex->length &&
         memcmp(text, lex->token, lex->length) == 0;
}

int gemel__lex_accept(gemel__lex *lex, int kind) {
  if (lex->kind != kind) {
    return 0;
  }
  gemel__lex_next(lex);
  return 1;
}

size_t gemel__utf8_bytes(const char *p, const char *end) {
  unsigned char lead = (unsigned char)*p;
  size_t n = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4, k;
  unsigned code = n > 1 ? lead & 0x7fu >> n : lead;
  if (n == 0 || (size_t)(end - p) < n) {
    return 0;
  }
  for (k = 1; k < n && ((unsigned char)p[k] & 0xc0) == 0x80; k++) {
    code = code << 6 | ((unsigned char)p[k] & 0x3f);
  }
  return k < n || (n == 3 && (code < 0x800 || code >> 11 == 0xd800 >> 11)) ||
                 (n == 4 && (code < 0x10000 || code > 0x10ffff))
             ? 0
             : n;
}

/* Four hexadecimal digits at P: their number, or -1. */
static int32_t hexadecimal(const char *p, const char *end) {
  int32_t code = 0;
  for (int k = 0; k < 4; k++) {
    char c = p + k < end ? p[k] : 0;
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0) {
      return -1;
    }
    code = code << 4 | digit;
  }
  return code;
}

/* CODE in UTF-8: how many bytes. */
static size_t encode(int32_t code, char piece[4]) {
  size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t k = n; k-- > 1; code >>= 6) {
    piece[k] = (char)(0x80 | (code & 0x3f));
  }
  piece[0] = (char)(n == 1 ? code : (0xf00 >> n & 0xff) | code);
  return n;
}

size_t gemel__json_unescape(const char **p, const char *end, char piece[4]) {
  static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  char letter = end - *p >= 2 ? (*p)[1] : 0;
  const char *known = letter ? strchr(letters, letter) : NULL;
  if (known) {
    *p += 2;
    *piece = meant[known - letters];
    return 1;
  }
  int32_t code = letter == 'u' ? hexadecimal(*p + 2, end) : -1;
  if (code < 0) {
    return 0;
  }
  *p += 6;
  if (code >> 10 == 0xd800 >> 10) { /* the first of a pair of surrogates */
    int paired = end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u';
    int32_t second = paired ? hexadecimal(*p + 2, end) : -1;
    code = second >> 10 == 0xdc00 >> 10 ? 0x10000 + ((code & 0x3ff) << 10 | (second & 0x3ff)) : -1;
    *p += 6;
  }
  return code < 0 || code >> 10 == 0xdc00 >> 10 ? 0 : encode(code, piece); /* or half a pair */
}

/* The same, but 0 for a control character too, which a terminal doesn't show. */
static size_t character_bytes(const char *p, const char *end) {
  size_t n = gemel__utf8_bytes(p, end);
  int control = n == 1 ? (unsigned char)*p < 32 || *p == 0x7f
                       : n == 2 && (unsigned char)p[0] == 0xc2 && (unsigned char)p[1] < 0xa0;
  return control ? 0 : n;
}

const char *gemel__lex_describe(const gemel__lex *lex, char text[64]) {
  size_t bytes = lex->length > 40 ? 40 : lex->length;
  if (lex->kind == GEMEL__TOKEN_END) {
    return "the end of the text";
  }
  if (lex->kind == GEMEL__TOKEN_BAD) {
    bytes = character_bytes(lex->token, lex->end);
  }
  if (bytes == 0) {
    snprintf(text, 64, "byte 0x%02x", (unsigned char)*lex->token);
  } else {
    snprintf(text, 64, lex->length > 40 ? "'%.*s…'" : "'%.*s'", (int)bytes, lex->token);
  }
  return text;
}

gemel_status gemel__lex_expect(gemel__lex *lex, int kind, const char *what, gemel_error *error) {
  char found[64];
  if (gemel__lex_accept(lex, kind)) {
    return GEMEL_OK;
  }
  return gemel__lex_fail(lex, error, GEMEL_BAD_TEXT, "expected %s, found %s", what,
                         gemel__lex_describe(lex, found));
}

int gemel__lex_copy(const gemel__lex *lex, char *name, size_t bytes) {
  if (lex->length >= bytes) {
    return -1;
  }
  memcpy(name, lex->token, lex->length);
  name[lex->length] = 0;
  return 0;
}

/* What isn't text becomes '?': it would change the terminal, or what comes behind it. */
static void hide_bytes(char *text) {
  const char *end = text + strlen(text);
  while (*text) {
    size_t n = *text == '\n' || *text == '\t' ? 1 : character_bytes(text, end);
    if (n == 0) {
      *text = '?';
    }
    text += n > 0 ? n : 1;
  }
}

/* Appends the line of the token and a caret under it; of a long line, what is near. */
static void show_line(const gemel__lex *lex, char *text, size_t bytes) {
  enum { BEFORE = 70, AFTER = 40 };
  const char *from = lex->token_line_start, *to = lex->token;
  char mark[BEFORE + 2];
  size_t n = 0;
  if (to - from > BEFORE) {
    from = to - BEFORE;
  }
  while (to < lex->end && *to != '\n' && *to != '\r' && to - lex->token < AFTER) {
    to++;
  }
  int used = snprintf(text, bytes, "\n%.*s\n", (int)(to - from), from);
  hide_bytes(text);
  for (const char *p = text + 1; p < text + 1 + (lex->token - from) && *p; p++) {
    if (((unsigned char)*p & 0xc0) != 0x80) { /* UTF-8: one column a character */
      mark[n++] = *p == '\t' ? '\t' : ' ';
    }
  }
  mark[n] = 0;
  if (used > 0 && (size_t)used < bytes) {
    snprintf(text + used, bytes - (size_t)used, "%s^", mark);
  }
}

gemel_status gemel__lex_locate(const gemel__lex *lex, gemel_error *error) {
  if (!error) {
    return GEMEL_BAD_TEXT;
  }
  gemel_status status = error->status;
  int column = (int)(lex->token - lex->token_line_start) + 1;
  size_t room = sizeof error->text - 200, used;
  if (strlen(error->text) > room) {
    error->text[room] = 0;
  }
  if (*lex->file) {
    gemel__error_prefix(error, "%s:%d:%d", lex->file, lex->token_line, column);
  } else {
    gemel__error_prefix(error, "line %d, column %d", lex->token_line, column);
  }
  used = strlen(error->text);
  show_line(lex, error->text + used, sizeof error->text - used);
  error->line = lex->token_line;
  error->column = column;
  error->status = status;
  return status;
}

gemel_status gemel__lex_fail(const gemel__lex *lex, gemel_error *error, gemel_status status,
                             const char *format, ...) {
  va_list args;
  va_start(args, format);
  gemel__fail_va(error, status, format, args);
  va_end(args);
  gemel__lex_locate(lex, error);
  return status;
}
