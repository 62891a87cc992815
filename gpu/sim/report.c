/* SPDX-License-Identifier: MIT
 *
 * Reports as values: kept in the order in which they came, each mistake once, with the place in the
 * source, which addr2line finds for an address. What a test doesn't take is an error at exit.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "sim/inside.h"

enum { MOST = 1000, STATUS = 97, PLACE = 200, TEXT = 600 };

typedef struct {
  gemel__sim_kind kind;
  gemel__sim_place place;
  const void *kernel;
  char *text; /* NULL if memory ran out */
} kept_report;

static kept_report reports[MOST];
static int count;
static bool quiet;
cudaError_t gemel__sim_broken;
static bool suspect;

const char *gemel__sim_kind_name(gemel__sim_kind kind) {
  static const char *const names[] = {"race",         "bounds",    "uninitialised", "divergence",
                                      "warp",         "undefined", "host memory",   "device memory",
                                      "missing wait", "parameter"};
  return kind >= 0 && kind < GEMEL__SIM_KINDS ? names[kind] : "?";
}

/* Places. */

/* The first of the lines, from the innermost inlined function outwards, that isn't device.h's. */
static bool read_place(FILE *lines, char *text, size_t room) {
  char line[PLACE - 4];
  bool found = false;
  while (fgets(line, sizeof line, lines) != NULL) {
    line[strcspn(line, " \n")] = '\0';
    if (!found && strncmp(line, "device.h:", 9) != 0 && strncmp(line, "??", 2) != 0) {
      snprintf(text, room, "%s: ", line);
      found = true;
    }
  }
  return found;
}

/* A name of the file for another process: /proc/self would be that one's. */
static void name_file(const struct link_map *map, char *text, size_t room) {
  static const char own[] = "/proc/self/";
  static int program = -1; /* open for good */
  if (map->l_name[0] == '\0') {
    if (program < 0)
      program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    snprintf(text, room, "/proc/%ld/fd/%d", (long)getpid(), program);
  } else if (strncmp(map->l_name, own, strlen(own)) == 0)
    snprintf(text, room, "/proc/%ld/%s", (long)getpid(), map->l_name + strlen(own));
  else
    snprintf(text, room, "%s", map->l_name);
}

static void place_of_pc(const void *pc, char *text, size_t room) {
  Dl_info info;
  void *extra = NULL;
  char file[PLACE], command[2 * PLACE];
  if (dladdr1(pc, &info, &extra, RTLD_DL_LINKMAP) == 0 || extra == NULL)
    return;
  const struct link_map *map = extra;
  name_file(map, file, sizeof file);
  snprintf(command, sizeof command, "addr2line -s -i -e '%s' %#lx 2>/dev/null", file,
           (unsigned long)((uintptr_t)pc - map->l_addr - 1)); /* -1: within the call */
  FILE *lines = popen(command, "r");
  bool found = lines != NULL && read_place(lines, text, room);
  if (lines != NULL)
    pclose(lines);
  if (!found)
    snprintf(text, room, "%s+%#lx: ", info.dli_sname != NULL ? info.dli_sname : "?",
             (unsigned long)((uintptr_t)pc - (uintptr_t)info.dli_saddr));
}

static void describe_place(gemel__sim_place place, char *text, size_t room) {
  text[0] = '\0';
  if (place.file != NULL) {
    const char *slash = strrchr(place.file, '/');
    snprintf(text, room, "%s:%d: ", slash != NULL ? slash + 1 : place.file, place.line);
  } else if (place.pc != NULL)
    place_of_pc(place.pc, text, room);
}

/* Keeping. */

static bool same_place(gemel__sim_place a, gemel__sim_place b) {
  if (a.pc != NULL || b.pc != NULL)
    return a.pc == b.pc;
  return a.file != NULL && b.file != NULL && a.line == b.line && strcmp(a.file, b.file) == 0;
}

static bool known(gemel__sim_kind kind, gemel__sim_place place, const void *kernel) {
  for (int i = 0; i < count; i++)
    if (reports[i].kind == kind && reports[i].kernel == kernel &&
        same_place(reports[i].place, place))
      return true;
  return false;
}

static void at_exit(void) {
  if (count == 0)
    return;
  fprintf(stderr, "sim: %d reports that nobody took, the first: %s\n", count, gemel__sim_report(0));
  fflush(NULL);
  _exit(STATUS);
}

static void keep(gemel__sim_kind kind, gemel__sim_place place, const void *kernel,
                 const char *text) {
  static bool registered;
  for (int i = 0; i < count; i++) /* of reports without a place, the text says what is the same */
    if (reports[i].kind == kind && reports[i].text != NULL && strcmp(reports[i].text, text) == 0)
      return;
  if (!registered)
    atexit(at_exit);
  registered = true;
  if (count < MOST)
    reports[count++] = (kept_report){kind, place, kernel, strdup(text)};
  if (!quiet)
    fprintf(stderr, "sim: %s\n", text);
}

/* What a GPU would stop at, stops; whoever ends a kernel for another reason gives its error. */
static void break_device(gemel__sim_kind kind) {
  bool stops = kind == GEMEL__SIM_BOUNDS || kind == GEMEL__SIM_HOST_MEMORY;
  if (stops && gemel__sim_broken == cudaSuccess)
    gemel__sim_broken = cudaErrorIllegalAddress;
  if (kind != GEMEL__SIM_PARAMETER && kind != GEMEL__SIM_DEVICE_MEMORY)
    suspect = true;
}

cudaError_t gemel__sim_verdict(void) {
  if (gemel__sim_broken != cudaSuccess)
    return gemel__sim_broken;
  return suspect ? cudaErrorLaunchFailure : cudaSuccess;
}

void gemel__sim_say(gemel__sim_kind kind, gemel__sim_place place, const char *format, ...) {
  const struct gemel__sim_kernel *kernel =
      gemel__sim_self != NULL ? gemel__sim_block_now.kernel : NULL;
  char where[PLACE], text[TEXT];
  break_device(kind);
  if (known(kind, place, kernel))
    return;
  describe_place(place, where, sizeof where);
  int used = snprintf(text, sizeof text, "%s: %s%s%s%s", gemel__sim_kind_name(kind), where,
                      kernel != NULL ? "kernel " : "", kernel != NULL ? kernel->name : "",
                      kernel != NULL ? ": " : "");
  used = used < TEXT ? used : TEXT - 1;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
  va_end(arguments);
  keep(kind, place, kernel, text);
}

/* Asking. */

int gemel__sim_reports(void) {
  return count;
}

int gemel__sim_reports_of(gemel__sim_kind kind) {
  int of = 0;
  for (int i = 0; i < count; i++)
    of += reports[i].kind == kind;
  return of;
}

const char *gemel__sim_report(int index) {
  if (index < 0 || index >= count)
    return NULL;
  return reports[index].text != NULL ? reports[index].text : "a report, for which memory ran out";
}

bool gemel__sim_reported(gemel__sim_kind kind, const char *part) {
  for (int i = 0; i < count; i++)
    if (reports[i].kind == kind && strstr(gemel__sim_report(i), part) != NULL)
      return true;
  return false;
}

int gemel__sim_forget(void) {
  int were = count;
  for (int i = 0; i < count; i++)
    free(reports[i].text);
  count = 0;
  gemel__sim_broken = cudaSuccess;
  suspect = false;
  return were;
}

void gemel__sim_quiet(bool be_quiet) {
  quiet = be_quiet;
}
