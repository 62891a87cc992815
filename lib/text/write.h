/* SPDX-License-Identifier: MIT
 *
 * A buffered sink for text and bytes. The first failure sticks, so a writer checks once, at the
 * end.
 */
#ifndef GEMEL__TEXT_WRITE_H
#define GEMEL__TEXT_WRITE_H

#include <gemel/text.h>
#include <string.h>

enum { GEMEL__WRITER_BYTES = 1 << 16 };

typedef struct gemel__writer {
  gemel_write write;
  void *user;
  char *buffer;
  size_t used;
  int failed;
} gemel__writer;

/* GEMEL_NO_MEMORY; close with gemel__writer_close whatever happens. */
gemel_status gemel__writer_open(gemel__writer *writer, gemel_write write, void *user,
                                gemel_error *error);

/* Hands on what is buffered, frees the buffer. GEMEL_IO if the sink ever refused. */
gemel_status gemel__writer_close(gemel__writer *writer, gemel_error *error);

/* Empties the buffer. */
void gemel__writer_flush(gemel__writer *writer);

/* At least BYTES (at most GEMEL__WRITER_BYTES) bytes of room at the place returned. */
static inline char *gemel__writer_room(gemel__writer *writer, size_t bytes) {
  if (GEMEL__WRITER_BYTES - writer->used < bytes) {
    gemel__writer_flush(writer);
  }
  return writer->buffer + writer->used;
}

void gemel__put_long(gemel__writer *writer, const void *bytes, size_t count);

static inline void gemel__put(gemel__writer *writer, const void *bytes, size_t count) {
  if (count > 64) {
    gemel__put_long(writer, bytes, count);
    return;
  }
  if (count > 0) { /* BYTES may be NULL */
    memcpy(gemel__writer_room(writer, count), bytes, count);
    writer->used += count;
  }
}

static inline void gemel__put_text(gemel__writer *writer, const char *text) {
  gemel__put(writer, text, strlen(text));
}

/* VALUE in decimal. */
void gemel__put_number(gemel__writer *writer, uint64_t value);

/* A sink that collects everything in memory. Zeroed: empty; release with gemel__free(bytes,
 * capacity). */
typedef struct gemel__text_memory {
  char *bytes;
  size_t count, capacity;
} gemel__text_memory;
int gemel__memory_write(void *memory, const void *bytes, size_t count);

#endif
