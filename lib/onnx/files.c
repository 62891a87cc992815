/* SPDX-License-Identifier: MIT
 *
 * Files mapped into memory, with counted references: a model and each tensor that lies in a file
 * hold one. An empty file has no bytes to map, and is an empty span.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"
#include "onnx/model.h"

static gemel_status map_file(int file, const char *path, gemel__wire_span *bytes,
                             gemel_error *error) {
  struct stat about;
  if (fstat(file, &about) != 0) {
    return gemel__fail(error, GEMEL_IO, "%s: %s", path, strerror(errno));
  }
  if (!S_ISREG(about.st_mode)) {
    return gemel__fail(error, GEMEL_IO,
                       "%s: a model is mapped into memory, and this is no regular file", path);
  }
  *bytes = (gemel__wire_span){(const uint8_t *)"", 0};
  if (about.st_size > 0) {
    void *mapped = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped == MAP_FAILED) {
      return gemel__fail(error, errno == ENOMEM ? GEMEL_NO_MEMORY : GEMEL_IO, "%s: %s", path,
                         strerror(errno));
    }
    *bytes = (gemel__wire_span){mapped, (size_t)about.st_size};
  }
  return GEMEL_OK;
}

gemel__file_map *gemel__file_map_new(const char *path, gemel_error *error) {
  gemel__file_map *map = gemel__alloc_zeroed(sizeof *map);
  if (map == NULL) {
    gemel__no_memory(error, "a file");
    return NULL;
  }
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block */
  gemel_status status = file < 0 ? gemel__fail(error, GEMEL_IO, "%s: %s", path, strerror(errno))
                                 : map_file(file, path, &map->bytes, error);
  if (file >= 0) {
    close(file);
  }
  if (status != GEMEL_OK) {
    gemel__free(map, sizeof *map);
    return NULL;
  }
  map->references = 1;
  return map;
}

gemel__file_map *gemel__file_map_ref(gemel__file_map *map) {
  if (map != NULL) {
    __atomic_add_fetch(&map->references, 1, __ATOMIC_RELAXED);
  }
  return map;
}

void gemel__file_map_unref(void *counted) {
  gemel__file_map *map = counted;
  if (map == NULL || __atomic_sub_fetch(&map->references, 1, __ATOMIC_ACQ_REL) > 0) {
    return;
  }
  if (map->bytes.length > 0) {
    munmap((void *)(uintptr_t)map->bytes.bytes, map->bytes.length);
  }
  gemel__free(map, sizeof *map);
}
