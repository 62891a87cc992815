/* SPDX-License-Identifier: MIT
 *
 * GEMEL_FLAGS: defaults for options, as name=value separated by commas. A name that no table knows
 * is an error, so that a misspelt one doesn't go unnoticed; one that the command at hand has no use
 * for is not.
 */
#include <stdlib.h>
#include <string.h>
#include "core/suggest.h"
#include "tool.h"

static struct {
  const char *name;
  char *value;
} flags[] = {
#define FLAG_ROW(name, summary) {#name, NULL},
    GEMEL__FLAG_TABLE(FLAG_ROW)
#undef FLAG_ROW
};
enum { FLAG_COUNT = sizeof flags / sizeof *flags };

static int set_flag(const char *item, size_t length) {
  const char *equals = memchr(item, '=', length);
  size_t name = equals != NULL ? (size_t)(equals - item) : length, k;
  if (equals == NULL) {
    return gemel__complain("GEMEL_FLAGS: '%.*s' is no name=value", (int)length, item);
  }
  for (k = 0; k < FLAG_COUNT; k++) {
    if (strlen(flags[k].name) == name && memcmp(flags[k].name, item, name) == 0) {
      free(flags[k].value);
      flags[k].value = gemel__need_text("%.*s", (int)(length - name - 1), equals + 1);
      return GEMEL__GOOD;
    }
  }
  gemel__suggestion near;
  gemel__suggestion_start(&near, item, name);
  for (k = 0; k < FLAG_COUNT; k++) {
    gemel__suggestion_offer(&near, flags[k].name, strlen(flags[k].name));
  }
  return gemel__complain("GEMEL_FLAGS: there is no flag '%.*s'%s; see gemel --help", (int)name,
                         item, gemel__suggestion_text(&near));
}

int gemel__flags_read(void) {
  const char *text = getenv("GEMEL_FLAGS");
  int status = GEMEL__GOOD;
  while (text != NULL && *text != '\0' && status == GEMEL__GOOD) {
    size_t length = strcspn(text, ",");
    if (length > 0) {
      status = set_flag(text, length);
    }
    text += length + (text[length] == ',');
  }
  return status;
}

const char *gemel__flag(const char *name) {
  for (size_t k = 0; k < FLAG_COUNT; k++) {
    if (strcmp(flags[k].name, name) == 0) {
      return flags[k].value;
    }
  }
  return NULL;
}
