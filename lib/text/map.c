/* SPDX-License-Identifier: MIT
 *
 * Files mapped into memory. The mapping is private, and writable so that a tensor in it is one like
 * any other; without reservation, or else a file larger than memory would be refused, though hardly
 * anything is ever written. An empty file has no bytes to map, and its map none.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"
#include "text/map.h"

static gemel_status map_file(int file, const char *path, gemel__file_map *map, gemel_error *error) {
  struct stat about;
  if (fstat(file, &about) != 0) {
    return gemel__fail(error, GEMEL_IO, "%s: %s", path, strerror(errno));
  }
  if (!S_ISREG(about.st_mode)) {
    return gemel__fail(error, GEMEL_IO, "%s: is to be mapped into memory, and is no regular file",
                       path);
  }
  map->bytes = (const uint8_t *)"";
  if (about.st_size > 0) {
    void *mapped = mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_NORESERVE, file, 0);
    if (mapped == MAP_FAILED) {
      return gemel__fail(error, errno == ENOMEM ? GEMEL_NO_MEMORY : GEMEL_IO, "%s: %s", path,
                         strerror(errno));
    }
    map->bytes = mapped;
    map->length = (size_t)about.st_size;
  }
  return GEMEL_OK;
}

gemel__file_map *gemel__file_map_new(const char *path, gemel_error *error) {
  gemel__file_map *map = path != NULL ? gemel__alloc_zeroed(sizeof *map) : NULL;
  if (path == NULL) {
    gemel__null(error, "the path");
    return NULL;
  }
  if (map == NULL) {
    gemel__no_memory(error, "a file");
    return NULL;
  }
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block */
  gemel_status status = file < 0 ? gemel__fail(error, GEMEL_IO, "%s: %s", path, strerror(errno))
                                 : map_file(file, path, map, error);
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
  if (map->length > 0) {
    munmap((void *)(uintptr_t)map->bytes, map->length);
  }
  gemel__free(map, sizeof *map);
}
