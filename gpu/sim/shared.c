/* SPDX-License-Identifier: MIT
 *
 * Shared memory, of the block that runs: what kernels declare by GEMEL_SHARED and
 * GEMEL_DYNAMIC_SHARED lies in one room, the former with red zones from its start, the latter at
 * its end, against a closed page. What they declare by plain __shared__ is a thread-local variable
 * to the C++ compiler (device.h), which is found, with name and size, in the symbol table of the
 * program or of a library of kernels. All of it is filled with NaN when a block starts.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sim/inside.h"
#include "sim/shared.h"

enum { ROOM = 256 << 10, GUARD = 4096, RED = 64, ARRAYS = 64 };

static char *room; /* ROOM bytes and a closed page */
static gemel__sim_cell *room_cells;
static gemel__sim_array in_room[ARRAYS];
static int room_count;
static size_t room_used;

/* Arrays declared by __shared__, by address for the CPU thread OWNER. */
static gemel__sim_array *plain;
static size_t plain_count, plain_capacity;
static pthread_t owner;
static bool based;

static void fill(void *at, size_t bytes) {
  static const uint32_t nan = 0x7fbadbad;
  for (size_t i = 0; i < bytes; i += sizeof nan)
    memcpy((char *)at + i, &nan, bytes - i < sizeof nan ? bytes - i : sizeof nan);
}

static void *map(size_t bytes) {
  void *at =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? NULL : at;
}

/* Plain __shared__ arrays. */

static bool add_plain(int module, uintptr_t offset, size_t bytes, const char *name) {
  if (plain_count == plain_capacity) {
    size_t capacity = plain_capacity * 2 + 16;
    gemel__sim_array *more = realloc(plain, capacity * sizeof *more);
    if (more == NULL)
      return false;
    plain = more;
    plain_capacity = capacity;
  }
  gemel__sim_cell *cells = map(bytes * sizeof *cells);
  if (cells == NULL)
    return false;
  plain[plain_count++] = (gemel__sim_array){.bytes = bytes,
                                            .name = name,
                                            .cells = cells,
                                            .offset = offset,
                                            .module = module,
                                            .dirty = true};
  return true;
}

/* Of a variable within a function, _ZZ<function>E<digits><name>, the name. */
static const char *short_name(const char *symbol) {
  const char *last = strrchr(symbol, 'E');
  return last == NULL ? symbol : last + 1 + strspn(last + 1, "0123456789");
}

static bool read_symbols(const char *file, size_t bytes, int module) {
  const ElfW(Ehdr) *header = (const void *)file;
  const ElfW(Shdr) *sections = (const void *)(file + header->e_shoff);
  if (bytes < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return false;
  for (int i = 0; i < header->e_shnum; i++) {
    if (sections[i].sh_type != SHT_SYMTAB)
      continue;
    const char *names = file + sections[sections[i].sh_link].sh_offset;
    const ElfW(Sym) *symbols = (const void *)(file + sections[i].sh_offset);
    for (size_t j = 0; j < sections[i].sh_size / sizeof *symbols; j++) {
      const ElfW(Sym) *symbol = &symbols[j];
      const char *name = names + symbol->st_name;
      if (ELF64_ST_TYPE(symbol->st_info) == STT_TLS && strncmp(name, "_ZZ", 3) == 0 &&
          symbol->st_value % 256 == 0 && symbol->st_shndx != SHN_UNDEF &&
          !add_plain(module, symbol->st_value, symbol->st_size, short_name(name)))
        return false;
    }
  }
  return true;
}

bool gemel__sim_shared_module(const char *path, int module) {
  struct stat status;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  bool ok = fstat(file, &status) == 0;
  size_t bytes = (size_t)status.st_size;
  /* Stays mapped: the names lie there. */
  const char *text = ok ? mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  close(file);
  based = false;
  return text != MAP_FAILED && read_symbols(text, bytes, module);
}

void gemel__sim_shared_forget(int module) {
  size_t kept = 0;
  for (size_t i = 0; i < plain_count; i++) {
    if (plain[i].module == module)
      munmap(plain[i].cells, plain[i].bytes * sizeof *plain[i].cells);
    else
      plain[kept++] = plain[i];
  }
  plain_count = kept;
}

#define PROGRAM 0 /* the module that is asked for in another way */

static int of_program(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  *(uintptr_t *)data = (uintptr_t)info->dlpi_tls_data;
  return 1; /* the program comes first */
}

void *__tls_get_addr(void *index);

static uintptr_t base_of(int module) {
  uintptr_t base = 0;
  if (module == PROGRAM) {
    dl_iterate_phdr(of_program, &base);
    return base;
  }
  unsigned long index[2] = {(unsigned long)module, 0};
  return (uintptr_t)__tls_get_addr(index);
}

static int by_address(const void *a, const void *b) {
  const gemel__sim_array *x = a, *y = b;
  return (x->at > y->at) - (x->at < y->at);
}

/* Each CPU thread has its own copy of thread-local variables. */
static void find_base(void) {
  if (based && pthread_equal(owner, pthread_self()))
    return;
  for (size_t i = 0; i < plain_count; i++) {
    plain[i].at = base_of(plain[i].module) + plain[i].offset;
    plain[i].dirty = true;
  }
  if (plain_count > 0)
    qsort(plain, plain_count, sizeof *plain, by_address);
  owner = pthread_self();
  based = true;
}

static gemel__sim_array *find_plain(uintptr_t address, gemel__sim_array **near) {
  size_t low = 0, high = plain_count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (plain[middle].at <= address)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0)
    return NULL;
  gemel__sim_array *array = &plain[low - 1];
  if (address - array->at < array->bytes)
    return array;
  if (address - array->at < array->bytes + 256)
    *near = array;
  return NULL;
}

/* The room. */

static bool start_room(void) {
  static bool done;
  if (done)
    return true;
  char *at = room != NULL ? room : map(ROOM + GUARD);
  if (at == NULL)
    return false;
  room = at;
  mprotect(room + ROOM, GUARD, PROT_NONE);
  if (room_cells == NULL)
    room_cells = map(ROOM * sizeof *room_cells);
  done = room_cells != NULL;
  gemel__sim_shared_module("/proc/self/exe", PROGRAM); /* a stripped program has no plain arrays */
  return done;
}

static void add_to_room(size_t offset, size_t bytes, const void *key, const char *name) {
  gemel__sim_array *array = &in_room[room_count++];
  *array = (gemel__sim_array){.at = (uintptr_t)room + offset,
                              .bytes = bytes,
                              .name = name,
                              .key = key,
                              .cells = room_cells + offset};
  fill((void *)array->at, bytes);
}

bool gemel__sim_shared_start(void) {
  if (!start_room())
    return false;
  find_base();
  for (size_t i = 0; i < plain_count; i++)
    if (plain[i].dirty) {
      fill((void *)plain[i].at, plain[i].bytes);
      plain[i].dirty = false;
    }
  room_count = 0;
  room_used = RED;
  add_to_room(ROOM - (gemel__sim_block_now.dynamic + 15) / 16 * 16, gemel__sim_block_now.dynamic,
              NULL, "dynamic shared memory");
  return true;
}

GEMEL__SIM_HOOK void *gemel__sim_dynamic_shared(void) {
  return (void *)in_room[0].at;
}

static void *find_or_add(const void *key, const char *name, size_t bytes) {
  for (int i = 1; i < room_count; i++)
    if (in_room[i].key == key)
      return (void *)in_room[i].at;
  if (room_count == ARRAYS ||
      room_used + bytes + gemel__sim_block_now.dynamic > GEMEL__SIM_SHARED_BYTES) {
    gemel__sim_say(GEMEL__SIM_PARAMETER, (gemel__sim_place){__builtin_return_address(0), NULL, 0},
                   "shared array %s of %zu bytes does not fit any more", name, bytes);
    gemel__sim_end_kernel(cudaErrorLaunchFailure);
  }
  add_to_room(room_used, bytes, key, name);
  room_used += (bytes + RED - 1) / RED * RED + RED;
  return (void *)in_room[room_count - 1].at;
}

GEMEL__SIM_HOOK void *gemel__sim_shared(const void *key, const char *name, size_t bytes) {
  bool counted = gemel__sim_steps_rest();
  void *array = find_or_add(key, name, bytes);
  gemel__sim_steps_go(counted);
  return array;
}

static gemel__sim_array *find_in_room(uintptr_t address, gemel__sim_array **near) {
  for (int i = 0; i < room_count; i++)
    if (address - in_room[i].at < in_room[i].bytes)
      return &in_room[i];
  for (int i = 0; i < room_count; i++) { /* past one rather than before the next */
    bool past = address - in_room[i].at < in_room[i].bytes + RED;
    if (past || (*near == NULL && in_room[i].at - address <= RED))
      *near = &in_room[i];
  }
  if (*near == NULL)
    *near = &in_room[0];
  return NULL;
}

gemel__sim_array *gemel__sim_array_at(uintptr_t address, gemel__sim_array **near) {
  *near = NULL;
  if (address - (uintptr_t)room < ROOM + GUARD)
    return find_in_room(address, near);
  gemel__sim_array *array = find_plain(address, near);
  if (array != NULL)
    array->dirty = true;
  return array;
}
