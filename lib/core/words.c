/* SPDX-License-Identifier: MIT
 *
 * Lists of names: see words.h. A word is copied for fnmatch, so one that is longer than any name
 * stands for none.
 */
#include "core/words.h"

#include <fnmatch.h>
#include <string.h>
#include "core/error.h"

const char *gemel__next_word(const char *at, size_t *length) {
  at += strspn(at, ",: ");
  *length = strcspn(at, ",: ");
  return at;
}

int gemel__word_names(const char *word, size_t length, const char *name) {
  char pattern[256];
  if (length >= sizeof pattern) {
    return 0;
  }
  memcpy(pattern, word, length);
  pattern[length] = '\0';
  return fnmatch(pattern, name, 0) == 0;
}

int gemel__list_names(const char *list, const char *name) {
  size_t length;
  if (list == NULL) {
    return 1;
  }
  for (list = gemel__next_word(list, &length); length > 0;
       list = gemel__next_word(list + length, &length)) {
    if (gemel__word_names(list, length, name)) {
      return 1;
    }
  }
  return 0;
}

int gemel__word_names_or_offers(const char *word, size_t length, const char *name,
                                gemel__suggestion *near) {
  int names = gemel__word_names(word, length, name);
  if (!names && near != NULL) {
    gemel__suggestion_offer(near, name, strlen(name));
  }
  return names;
}

const char *gemel__word_suggestion(const char *word, size_t length, gemel__names_any names_any,
                                   const void *user, gemel__suggestion *near) {
  gemel__suggestion_start(near, word, length);
  if (memchr(word, '*', length) == NULL && memchr(word, '?', length) == NULL &&
      memchr(word, '[', length) == NULL) {
    names_any(user, word, length, near);
  }
  return gemel__suggestion_text(near);
}

gemel_status gemel__list_check(const char *list, const char *what, gemel__names_any names_any,
                               const void *user, gemel_error *error) {
  size_t length;
  if (list == NULL) {
    return GEMEL_OK;
  }
  list = gemel__next_word(list, &length);
  if (length == 0) {
    return gemel__fail(error, GEMEL_NOT_FOUND, "no %s is named", what);
  }
  for (; length > 0; list = gemel__next_word(list + length, &length)) {
    if (!names_any(user, list, length, NULL)) {
      gemel__suggestion near;
      return gemel__fail(error, GEMEL_NOT_FOUND, "no %s matches '%.*s'%s", what, (int)length, list,
                         gemel__word_suggestion(list, length, names_any, user, &near));
    }
  }
  return GEMEL_OK;
}
