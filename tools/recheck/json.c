/* SPDX-License-Identifier: MIT
 *
 * A small reader of JSON: one value becomes a tree in a pool. Numbers stay text, since nothing here
 * computes with them. Nesting is limited, so that no input can exhaust the stack.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "recheck.h"

enum { DEEPEST = 16 };

void *pool_take(pool *p, size_t count, size_t bytes) {
  void *block = calloc(count > 0 ? count : 1, bytes);
  if (p->n == p->capacity) {
    size_t capacity = 2 * p->capacity + 64;
    void **blocks = realloc(p->blocks, capacity * sizeof *blocks);
    if (blocks == NULL) {
      free(block);
      block = NULL;
    } else {
      p->blocks = blocks;
      p->capacity = capacity;
    }
  }
  if (block == NULL) {
    fputs("gemel-recheck: out of memory\n", stderr);
    exit(2);
  }
  return p->blocks[p->n++] = block;
}

void pool_empty(pool *p) {
  while (p->n > 0) {
    free(p->blocks[--p->n]);
  }
  free(p->blocks);
  memset(p, 0, sizeof *p);
}

static const char *skip(const char *at) {
  return at + strspn(at, " \t\r\n");
}

/* The four hexadecimal digits at AT as a code, written to *OUT in UTF-8. */
static int read_code(const char *at, char **out) {
  char digits[5] = "", *end;
  strncat(digits, at, 4);
  unsigned long code = strtoul(digits, &end, 16);
  if (end != digits + 4) {
    return 0;
  }
  if (code < 0x80) {
    *(*out)++ = (char)code;
  } else if (code < 0x800) {
    *(*out)++ = (char)(0xc0 | code >> 6);
    *(*out)++ = (char)(0x80 | (code & 63));
  } else {
    *(*out)++ = (char)(0xe0 | code >> 12);
    *(*out)++ = (char)(0x80 | (code >> 6 & 63));
    *(*out)++ = (char)(0x80 | (code & 63));
  }
  return 1;
}

/* The string behind the quote at *AT, decoded; NULL if it doesn't end. */
static const char *read_string(pool *p, const char **at) {
  static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  const char *from = *at + 1;
  char *text = pool_take(p, strlen(from) + 1, 1), *to = text;
  while (*from != '"') {
    const char *letter;
    if (*from == '\0') {
      return NULL;
    }
    if (*from != '\\') {
      *to++ = *from++;
    } else if (from[1] == 'u') {
      if (!read_code(from + 2, &to)) {
        return NULL;
      }
      from += 6;
    } else if (from[1] != '\0' && (letter = strchr(letters, from[1])) != NULL) {
      *to++ = meant[letter - letters];
      from += 2;
    } else {
      return NULL;
    }
  }
  *to = '\0';
  *at = from + 1;
  return text;
}

static json *read_value(pool *p, const char **at, int depth);

/* Members of the list or object whose bracket is at *AT. */
static int read_members(pool *p, json *owner, const char **at, int depth) {
  char close = owner->kind == JSON_OBJECT ? '}' : ']';
  json **last = &owner->first;
  *at = skip(*at + 1);
  while (**at != close) {
    const char *key = NULL;
    if (owner->kind == JSON_OBJECT) {
      key = **at == '"' ? read_string(p, at) : NULL;
      *at = skip(*at);
      if (key == NULL || *(*at)++ != ':') {
        return 0;
      }
    }
    if ((*last = read_value(p, at, depth + 1)) == NULL) {
      return 0;
    }
    (*last)->key = key;
    last = &(*last)->next;
    *at = skip(*at);
    if (**at == ',') {
      *at = skip(*at + 1);
    } else if (**at != close) {
      return 0;
    }
  }
  ++*at;
  return 1;
}

static json *read_value(pool *p, const char **at, int depth) {
  json *value = pool_take(p, 1, sizeof *value);
  *at = skip(*at);
  if (depth > DEEPEST) {
    return NULL;
  }
  if (**at == '{' || **at == '[') {
    value->kind = **at == '{' ? JSON_OBJECT : JSON_LIST;
    return read_members(p, value, at, depth) ? value : NULL;
  }
  if (**at == '"') {
    value->kind = JSON_STRING;
    value->text = read_string(p, at);
    return value->text != NULL ? value : NULL;
  }
  size_t length = strspn(*at, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");
  char *word = pool_take(p, length + 1, 1);
  memcpy(word, *at, length);
  *at += length;
  value->text = word;
  value->kind = strcmp(word, "null") == 0                                 ? JSON_NULL
                : strcmp(word, "true") == 0 || strcmp(word, "false") == 0 ? JSON_TRUTH
                                                                          : JSON_NUMBER;
  return length > 0 ? value : NULL;
}

json *json_read(pool *p, const char *text) {
  json *value = read_value(p, &text, 0);
  return value != NULL && *skip(text) == '\0' ? value : NULL;
}

const json *json_find(const json *object, const char *key) {
  const json *member = object != NULL && object->kind == JSON_OBJECT ? object->first : NULL;
  while (member != NULL && strcmp(member->key, key) != 0) {
    member = member->next;
  }
  return member;
}

const char *json_text(const json *object, const char *key) {
  const json *member = json_find(object, key);
  return member != NULL && member->kind == JSON_STRING ? member->text : "";
}
