/* SPDX-License-Identifier: MIT
 *
 * The folder of what can be made again (cache.h).
 */
#include "core/cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int gemel__cache_path(const char *name, char *path, size_t bytes) {
  const char *own = getenv("GEMEL_CACHE"), *shared = getenv("XDG_CACHE_HOME");
  const char *home = getenv("HOME");
  int n = own != NULL && own[0] == '/'         ? snprintf(path, bytes, "%s", own)
          : shared != NULL && shared[0] == '/' ? snprintf(path, bytes, "%s/gemel", shared)
          : home != NULL && home[0] == '/'     ? snprintf(path, bytes, "%s/.cache/gemel", home)
                                               : -1;
  if (n < 0 || (size_t)n + strlen(name) + 2 > bytes ||
      (mkdir(path, 0700) != 0 && errno != EEXIST)) {
    return 0;
  }
  snprintf(path + n, bytes - (size_t)n, "/%s", name);
  return 1;
}
