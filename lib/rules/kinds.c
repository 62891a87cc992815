/* SPDX-License-Identifier: MIT
 *
 * Sets of kinds of terms, see kinds.h.
 */
#include <stdio.h>
#include "rules/kinds.h"

#define OF(kind) GEMEL__KINDS_OF(kind)

static const gemel__kinds tensors = OF(TENSOR) | OF(TENSORS);
static const gemel__kinds numbers = OF(NUMBER) | OF(LIST) | OF(REAL) | OF(UNKNOWN);

gemel__kinds gemel__kinds_taken(char letter) {
  switch (letter) {
  case 't':
  case 'g':
    return OF(TENSOR);
  case 's':
    return OF(TENSORS);
  case 'k':
    return OF(TENSOR) | OF(DTYPE);
  case 'd':
    return OF(DTYPE);
  case 'l':
    return OF(LIST);
  case 'n':
  case 'v':
    return OF(NUMBER) | OF(REAL);
  case 'e':
  case 'i':
  case 'a':
    return OF(NUMBER) | OF(LIST) | OF(REAL);
  case 'x':
    return OF(NUMBER) | OF(LIST) | OF(ABSENT);
  default:
    return ~tensors;
  }
}

gemel__kinds gemel__kinds_given(char letter) {
  switch (letter) {
  case 'n':
    return OF(NUMBER);
  case 'e':
    return OF(NUMBER) | OF(LIST);
  case 'r':
    return OF(REAL);
  case 'b':
    return OF(NUMBER) | OF(UNKNOWN);
  default:
    return gemel__kinds_taken(letter);
  }
}

gemel__kinds gemel__kinds_of_attr(const gemel_attr_spec *spec) {
  gemel__kinds absent = spec->fallback != NULL ? OF(ABSENT) : 0;
  switch ((int)spec->kind) {
  case GEMEL_ATTR_INT:
  case GEMEL_ATTR_DIM:
    return absent | OF(NUMBER);
  case GEMEL_ATTR_FLOAT:
    return absent | OF(REAL);
  case GEMEL_ATTR_DTYPE:
    return absent | OF(DTYPE);
  case GEMEL_ATTR_LIST | GEMEL_ATTR_INT:
  case GEMEL_ATTR_LIST | GEMEL_ATTR_DIM:
    return absent | OF(LIST);
  default:
    return absent | OF(OTHER);
  }
}

int gemel__kinds_apart(gemel__kinds kinds, gemel__kinds wanted) {
  kinds |= kinds & numbers ? numbers : 0;
  return (kinds & wanted) == 0;
}

const char *gemel__kinds_text(gemel__kinds kinds, char text[100]) {
  static const struct {
    gemel__kinds kind;
    const char *name;
  } names[] = {{OF(TENSOR), "a tensor"}, {OF(TENSORS), "a variadic variable"},
               {OF(DTYPE), "a dtype"},   {OF(NUMBER), "a number"},
               {OF(LIST), "a list"},     {OF(REAL), "a real"},
               {OF(ABSENT), "none"},     {OF(OTHER), "a string, tensor or graph"}};
  size_t used = 0;
  kinds &= kinds & OF(NUMBER) ? ~(OF(REAL) | OF(UNKNOWN)) : kinds;
  kinds &= kinds & ~OF(ABSENT) ? ~OF(ABSENT) : kinds;
  text[0] = '\0';
  for (size_t k = 0; k < sizeof names / sizeof *names && used < 100; k++) {
    if (kinds & names[k].kind) {
      used +=
          (size_t)snprintf(text + used, 100 - used, "%s%s", used > 0 ? " or " : "", names[k].name);
    }
  }
  return text;
}
