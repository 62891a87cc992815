/* SPDX-License-Identifier: MIT
 *
 * JSON of the commands' own: strings, and lists of the words that may tell two graphs apart.
 * Records of the harness are written by gemel_record_json.
 */
#include "page.h"
#include "records.h"

void gemel__json_text(FILE *file, const char *text) {
  size_t length;
  fputc('"', file);
  for (; *text != '\0'; text += length > 0 ? length : 1) {
    unsigned char byte = (unsigned char)*text;
    length = gemel__character(text);
    if (byte < 0x20) {
      fprintf(file, "\\u%04x", byte);
    } else if (length == 0) {
      fputc('?', file);
    } else if (byte == '"' || byte == '\\') {
      fprintf(file, "\\%c", byte);
    } else {
      fwrite(text, 1, length, file);
    }
  }
  fputc('"', file);
}

void gemel__json_words(FILE *file, const char *name, unsigned words) {
  const char *between = "";
  fprintf(file, ", \"%s\": [", name);
  for (unsigned k = 0; k < GEMEL_PAIR_COUNT; k++) {
    if (words >> k & 1) {
      fprintf(file, "%s\"%s\"", between, gemel__pair_word(k));
      between = ", ";
    }
  }
  fputc(']', file);
}
