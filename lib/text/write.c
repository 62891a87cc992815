/* SPDX-License-Identifier: MIT
 *
 * The buffered sink: a block that is handed on when it is full, and a sink that collects everything
 * in memory.
 */
#include "core/alloc.h"
#include "core/error.h"
#include "text/write.h"

gemel_status gemel__writer_open(gemel__writer *writer, gemel_write write, void *user,
                                gemel_error *error) {
  memset(writer, 0, sizeof *writer);
  writer->write = write;
  writer->user = user;
  writer->buffer = (char *)gemel__alloc(GEMEL__WRITER_BYTES);
  return writer->buffer ? GEMEL_OK : gemel__no_memory(error, "a buffer");
}

void gemel__writer_flush(gemel__writer *writer) {
  if (writer->used > 0 && !writer->failed) {
    writer->failed = writer->write(writer->user, writer->buffer, writer->used) != 0;
  }
  writer->used = 0;
}

gemel_status gemel__writer_close(gemel__writer *writer, gemel_error *error) {
  if (writer->buffer) {
    gemel__writer_flush(writer);
    gemel__free(writer->buffer, GEMEL__WRITER_BYTES);
    writer->buffer = NULL;
  }
  return writer->failed ? gemel__fail(error, GEMEL_IO, "writing failed") : GEMEL_OK;
}

void gemel__put_long(gemel__writer *writer, const void *bytes, size_t count) {
  const char *from = (const char *)bytes;
  while (count > 0) {
    size_t n = GEMEL__WRITER_BYTES - writer->used;
    n = n < count ? n : count;
    memcpy(writer->buffer + writer->used, from, n);
    writer->used += n;
    from += n;
    count -= n;
    if (writer->used == GEMEL__WRITER_BYTES) {
      gemel__writer_flush(writer);
    }
  }
}

void gemel__put_number(gemel__writer *writer, uint64_t value) {
  char digits[24], *p = digits + sizeof digits;
  do {
    *--p = (char)('0' + value % 10);
    value /= 10;
  } while (value);
  gemel__put(writer, p, (size_t)(digits + sizeof digits - p));
}

int gemel__memory_write(void *memory, const void *bytes, size_t count) {
  gemel__text_memory *m = (gemel__text_memory *)memory;
  if (count > m->capacity - m->count && gemel__grow(&m->bytes, &m->capacity, m->count + count, 1)) {
    return -1;
  }
  if (count) {
    memcpy(m->bytes + m->count, bytes, count);
  }
  m->count += count;
  return 0;
}
