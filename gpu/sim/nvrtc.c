/* SPDX-License-Identifier: MIT
 *
 * NVRTC by its own names. A text goes through two compilers: NVIDIA's, if the machine has it, whose
 * refusal is the program's error, and the C++ compiler that the sim was configured with, by the
 * device language of device.h and with the checker's hooks; what the latter makes is run. The text
 * is plain CUDA: a line is put behind it for each __global__ function, so that it makes itself
 * known.
 *
 *   GEMEL_SIM_CXX        another C++ compiler
 *   GEMEL_SIM_HOME       another folder with the device language, sim/device.h
 *   GEMEL_SIM_NVRTC=no   without NVIDIA's
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nvrtc.h>
#include "sim/image.h"
#include "sim/inside.h"
#include "sim/real-nvrtc.h"

enum { PATH = 400, COMMAND = 4000 };

struct _nvrtcProgram {
  char *source, *name, *log;
  int headers;
  char **header_texts, **header_names;
  gemel__sim_image *image; /* and what follows it; NULL before it is compiled */
  int architecture;
  bool portable;
};

const char *nvrtcGetErrorString(nvrtcResult result) {
  switch (result) {
  case NVRTC_SUCCESS:
    return "NVRTC_SUCCESS";
  case NVRTC_ERROR_OUT_OF_MEMORY:
    return "NVRTC_ERROR_OUT_OF_MEMORY";
  case NVRTC_ERROR_PROGRAM_CREATION_FAILURE:
    return "NVRTC_ERROR_PROGRAM_CREATION_FAILURE";
  case NVRTC_ERROR_INVALID_INPUT:
    return "NVRTC_ERROR_INVALID_INPUT";
  case NVRTC_ERROR_INVALID_PROGRAM:
    return "NVRTC_ERROR_INVALID_PROGRAM";
  case NVRTC_ERROR_INVALID_OPTION:
    return "NVRTC_ERROR_INVALID_OPTION";
  case NVRTC_ERROR_COMPILATION:
    return "NVRTC_ERROR_COMPILATION";
  case NVRTC_ERROR_BUILTIN_OPERATION_FAILURE:
    return "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE";
  case NVRTC_ERROR_INTERNAL_ERROR:
    return "NVRTC_ERROR_INTERNAL_ERROR";
  }
  return "NVRTC_ERROR unknown";
}

static bool is_plain(const char *option) {
  return option[strcspn(option, "'\n")] == '\0';
}

static bool format_path(char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool format_path(char *path, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(path, PATH, format, arguments);
  va_end(arguments);
  return length > 0 && length < PATH;
}

/* Where the device language is: in the source tree for tests, where it is installed for programs
   that are. */
static const char *home(void) {
  const char *own = getenv("GEMEL_SIM_HOME");
  return own != NULL && own[0] == '/' && is_plain(own) ? own : GEMEL__SIM_FOLDER;
}

/* Texts. */

static nvrtcResult enter(gemel__sim_entry kind) {
  cudaError_t error = gemel__sim_enter(kind);
  return error == cudaErrorMemoryAllocation                   ? NVRTC_ERROR_OUT_OF_MEMORY
         : error != cudaSuccess && error != gemel__sim_broken ? NVRTC_ERROR_INTERNAL_ERROR
                                                              : NVRTC_SUCCESS;
}

static nvrtcResult leave(nvrtcResult result) {
  cudaError_t error = gemel__sim_leave_apart();
  return result == NVRTC_SUCCESS && error != cudaSuccess ? NVRTC_ERROR_INTERNAL_ERROR : result;
}

nvrtcResult nvrtcVersion(int *major, int *minor) {
  if (major == NULL || minor == NULL)
    return NVRTC_ERROR_INVALID_INPUT;
  nvrtcResult entered = enter(GEMEL__SIM_ASKS);
  if (entered == NVRTC_SUCCESS) {
    *major = 12;
    *minor = 8;
  }
  return leave(entered);
}

static char *joined(const char *first, const char *second) {
  size_t a = strlen(first), b = strlen(second);
  char *both = malloc(a + b + 1);
  if (both != NULL) {
    memcpy(both, first, a);
    memcpy(both + a, second, b + 1);
  }
  return both;
}

static void add_to_log(nvrtcProgram program, const char *text) {
  char *log = joined(program->log != NULL ? program->log : "", text);
  if (log != NULL) {
    free(program->log);
    program->log = log;
  }
}

/* All of the file, and a zero; *BYTES without it. NULL if it can't be read. BEFORE bytes are left
   free in front. */
static char *read_file(const char *path, size_t before, size_t *bytes) {
  struct stat status;
  FILE *file = fopen(path, "rb");
  char *text = NULL;
  if (file == NULL)
    return NULL;
  if (fstat(fileno(file), &status) == 0) {
    *bytes = (size_t)status.st_size;
    text = malloc(before + *bytes + 1);
  }
  if (text != NULL && fread(text + before, 1, *bytes, file) != *bytes) {
    free(text);
    text = NULL;
  }
  fclose(file);
  if (text != NULL)
    text[before + *bytes] = '\0';
  return text;
}

static uint64_t hash_bytes(uint64_t hash, const char *data, size_t bytes) {
  for (size_t k = 0; k < bytes; k++)
    hash = (hash ^ (unsigned char)data[k]) * 0x100000001b3u; /* FNV-1a */
  return hash;
}

uint64_t gemel__sim_stamp(void) {
  static const char made_by[] = GEMEL__SIM_CXX GEMEL__SIM_CXXFLAGS;
  static const char *const files[] = {"device.h", "calls.h"};
  static uint64_t stamp;
  if (stamp != 0)
    return stamp;
  stamp = hash_bytes(0xcbf29ce484222325u, made_by, sizeof made_by - 1);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char path[PATH], *text = NULL;
    size_t bytes = 0;
    if (format_path(path, "%s/sim/%s", home(), files[i]))
      text = read_file(path, 0, &bytes);
    if (text != NULL)
      stamp = hash_bytes(stamp, text, bytes);
    free(text);
  }
  return stamp;
}

/* Programs. */

static void free_all(nvrtcProgram program) {
  for (int i = 0; i < program->headers; i++) {
    if (program->header_texts != NULL)
      free(program->header_texts[i]);
    if (program->header_names != NULL)
      free(program->header_names[i]);
  }
  free(program->header_texts);
  free(program->header_names);
  free(program->source);
  free(program->name);
  free(program->log);
  free(program->image);
  free(program);
}

static bool copy_headers(nvrtcProgram program, int headers, const char *const *texts,
                         const char *const *names) {
  bool ok = true;
  program->header_texts = calloc((size_t)headers + 1, sizeof(char *));
  program->header_names = calloc((size_t)headers + 1, sizeof(char *));
  if (program->header_texts == NULL || program->header_names == NULL)
    return false;
  program->headers = headers;
  for (int i = 0; i < headers; i++) {
    program->header_texts[i] = strdup(texts[i]);
    program->header_names[i] = strdup(names[i]);
    ok = ok && program->header_texts[i] != NULL && program->header_names[i] != NULL;
  }
  return ok;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name,
                               int headers, const char *const *header_texts,
                               const char *const *header_names) {
  if (program == NULL)
    return NVRTC_ERROR_INVALID_PROGRAM;
  if (source == NULL || headers < 0 ||
      (headers > 0 && (header_texts == NULL || header_names == NULL)))
    return NVRTC_ERROR_INVALID_INPUT;
  nvrtcResult entered = enter(GEMEL__SIM_MAKES);
  if (entered != NVRTC_SUCCESS)
    return leave(entered);
  nvrtcProgram made = calloc(1, sizeof *made);
  if (made == NULL)
    return leave(NVRTC_ERROR_OUT_OF_MEMORY);
  made->source = strdup(source);
  made->name = strdup(name != NULL ? name : "default_program");
  if (!copy_headers(made, headers, header_texts, header_names) || made->source == NULL ||
      made->name == NULL) {
    free_all(made);
    return leave(NVRTC_ERROR_OUT_OF_MEMORY);
  }
  gemel__sim_here.programs++;
  *program = made;
  return leave(NVRTC_SUCCESS);
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
  if (program == NULL || *program == NULL)
    return NVRTC_ERROR_INVALID_PROGRAM;
  gemel__sim_enter(GEMEL__SIM_FREES);
  free_all(*program);
  *program = NULL;
  gemel__sim_here.programs--;
  return leave(NVRTC_SUCCESS);
}

/* Options. */

static const char *value_of(const char *option, const char *name) {
  size_t length = strlen(name);
  return strncmp(option, name, length) == 0 ? option + length : NULL;
}

static const int all_architectures[] = {75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121};
static const int *architectures = all_architectures;
static int architecture_count = sizeof all_architectures / sizeof *all_architectures;

void gemel__sim_architectures(int count, const int *list) {
  int all = sizeof all_architectures / sizeof *all_architectures;
  architectures = list != NULL ? list : all_architectures;
  architecture_count = list != NULL ? count : all;
}

nvrtcResult nvrtcGetNumSupportedArchs(int *count) {
  if (count == NULL)
    return NVRTC_ERROR_INVALID_INPUT;
  nvrtcResult entered = enter(GEMEL__SIM_ASKS);
  if (entered == NVRTC_SUCCESS)
    *count = architecture_count;
  return leave(entered);
}

nvrtcResult nvrtcGetSupportedArchs(int *list) {
  if (list == NULL)
    return NVRTC_ERROR_INVALID_INPUT;
  nvrtcResult entered = enter(GEMEL__SIM_ASKS);
  for (int i = 0; i < architecture_count && entered == NVRTC_SUCCESS; i++)
    list[i] = architectures[i];
  return leave(entered);
}

static bool read_architecture(nvrtcProgram program, const char *option) {
  const char *value = value_of(option, "--gpu-architecture=");
  if (value == NULL)
    value = value_of(option, "-arch=");
  if (value == NULL)
    return false;
  program->portable = value_of(value, "compute_") != NULL;
  const char *digits = value_of(value, program->portable ? "compute_" : "sm_");
  program->architecture = digits != NULL ? atoi(digits) : 0;
  for (int i = 0; i < architecture_count; i++)
    if (architectures[i] == program->architecture)
      return true;
  return false;
}

/* Options that mean nothing to the other compiler, which never contracts. */
static bool has_no_effect(const char *option) {
  static const char *const names[] = {"-std=c++17", "--std=c++17",    "-fmad=",
                                      "--fmad=",    "-lineinfo",      "--generate-line-info",
                                      "-w",         "-default-device"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (value_of(option, names[i]) != NULL)
      return true;
  return false;
}

/* FLAGS: what the C++ compiler is to be given. */
static bool read_options(nvrtcProgram program, int options, const char *const *texts, char *flags,
                         size_t room) {
  size_t used = 0;
  flags[0] = '\0';
  program->architecture = 75; /* NVRTC's own choice */
  program->portable = true;
  for (int i = 0; i < options; i++) {
    const char *option = texts[i];
    bool definition = option[0] == '-' && option[1] != '\0' && strchr("DUI", option[1]) != NULL;
    if (definition && is_plain(option) && used + strlen(option) + 4 < room)
      used += (size_t)snprintf(flags + used, room - used, "'%s' ", option);
    else if (!has_no_effect(option) && !read_architecture(program, option)) {
      add_to_log(program, "unrecognized option ");
      add_to_log(program, option);
      return false;
    }
  }
  return true;
}

/* The text with a line for each kernel. */

static const char *skip_space(const char *text) {
  while (isspace((unsigned char)*text))
    text++;
  return text;
}

static size_t word_length(const char *text) {
  size_t length = 0;
  while (isalnum((unsigned char)text[length]) || text[length] == '_' ||
         (text[length] == '\'' && isdigit((unsigned char)*text))) /* 1'000 */
    length++;
  return length;
}

/* Behind the raw string whose quote TEXT begins with: "x(...)x". */
static const char *skip_raw(const char *text) {
  char close[20];
  int delimiter = (int)strcspn(text + 1, "(");
  snprintf(close, sizeof close, ")%.*s\"", delimiter, text + 1);
  const char *end = strstr(text, close);
  return end != NULL ? end + strlen(close) : text + strlen(text);
}

/* Behind a comment or literal, if TEXT begins with one. */
static const char *skip_literal(const char *text) {
  const char *end = text;
  if (strncmp(text, "/*", 2) == 0) {
    end = strstr(text + 2, "*/");
    return end != NULL ? end + 2 : text + strlen(text);
  }
  bool is_comment = strncmp(text, "//", 2) == 0;
  if (!is_comment && *text != '"' && *text != '\'')
    return text;
  for (end++; *end != '\0' && *end != '\n' && (is_comment || *end != *text); end++)
    end += *end == '\\' && end[1] != '\0';
  return end + (*end != '\0');
}

/* What comes next in TEXT: a literal, comment, word or another character. */
static const char *skip_token(const char *text) {
  size_t length = word_length(text);
  if (length > 0 && text[length] == '"' && text[length - 1] == 'R')
    return skip_raw(text + length);
  const char *end = skip_literal(text);
  return length > 0 ? text + length : end > text ? end : text + 1;
}

static const char *find_word(const char *text, const char *word) {
  size_t length = strlen(word);
  while (*text != '\0' && (word_length(text) != length || strncmp(text, word, length) != 0))
    text = skip_token(text);
  return *text != '\0' ? text : NULL;
}

/* From behind "__global__" to the kernel's name: the word in front of the first parentheses that
   don't belong to an attribute. */
static const char *find_name(const char *text, size_t *length) {
  static const char bounds[] = "__launch_bounds__";
  while (*text != '\0' && *text != ';' && *text != '{') {
    size_t word = word_length(text);
    const char *after = skip_space(text + word);
    if (word == sizeof bounds - 1 && strncmp(text, bounds, word) == 0)
      text = after + strcspn(after, ")") + (*after == '(');
    else if (word > 0 && *after == '(') {
      *length = word;
      return text;
    } else
      text = skip_token(text);
  }
  return NULL;
}

static bool write_source(const char *path, nvrtcProgram program) {
  FILE *file = fopen(path, "w");
  if (file == NULL)
    return false;
  fprintf(file, "#line 1 \"%s\"\n%s\n", program->name, program->source);
  const char *at = find_word(program->source, "GEMEL_KERNEL") == NULL ? program->source : "";
  while ((at = find_word(at, "__global__")) != NULL) {
    size_t length = 0;
    at += strlen("__global__");
    const char *name = find_name(at, &length);
    if (name != NULL)
      fprintf(file, "GEMEL_KERNEL(%.*s, %.*s)\n", (int)length, name, (int)length, name);
  }
  return fclose(file) == 0;
}

/* Compiling, in a folder that is removed then. */

/* A header may be called "folder/name". */
static bool write_header(const char *folder, const char *name, const char *text) {
  char path[PATH];
  if (name[0] == '/' || strstr(name, "..") != NULL || !format_path(path, "%s/%s", folder, name))
    return false;
  for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
    *slash = '\0';
    mkdir(path, 0700);
    *slash = '/';
  }
  FILE *file = fopen(path, "w");
  if (file == NULL)
    return false;
  bool ok = fputs(text, file) >= 0;
  return fclose(file) == 0 && ok;
}

static bool write_files(nvrtcProgram program, const char *folder) {
  char path[PATH];
  for (int i = 0; i < program->headers; i++)
    if (!write_header(folder, program->header_names[i], program->header_texts[i]))
      return false;
  return format_path(path, "%s/program.cu", folder) && write_source(path, program);
}

/* Where there is no device language or no compiler nothing can be compiled, whatever the text. */
static bool can_compile(const char *cxx) {
  char path[PATH], command[COMMAND];
  int length = snprintf(command, sizeof command, "%s --version >/dev/null 2>&1", cxx);
  return format_path(path, "%s/sim/device.h", home()) && access(path, R_OK) == 0 && length > 0 &&
         length < (int)sizeof command && system(command) == 0;
}

static nvrtcResult run_compiler(const char *folder, const char *flags) {
  char command[COMMAND];
  const char *own = getenv("GEMEL_SIM_CXX"), *cxx = own != NULL ? own : GEMEL__SIM_CXX;
  int length =
      snprintf(command, sizeof command,
               "cd '%s' && { %s %s -w -fPIC -fvisibility=hidden " GEMEL__SIM_UNIQUE
               " %s -I. -I'" GEMEL__SIM_PCH "' -I'%s' -I'%s/sim/include' -include sim/device.h "
               "-x c++ -c program.cu -o program.o && "
               "%s -shared program.o -o program.so; } >log 2>&1 </dev/null",
               folder, cxx, GEMEL__SIM_CXXFLAGS, flags, home(), home(), cxx);
  if (length < 0 || length >= (int)sizeof command)
    return NVRTC_ERROR_INVALID_INPUT;
  if (system(command) == 0)
    return NVRTC_SUCCESS;
  return can_compile(cxx) ? NVRTC_ERROR_COMPILATION : NVRTC_ERROR_BUILTIN_OPERATION_FAILURE;
}

static nvrtcResult take_image(nvrtcProgram program, const char *folder) {
  char path[PATH];
  size_t bytes = 0;
  gemel__sim_image *image = NULL;
  if (format_path(path, "%s/program.so", folder))
    image = (void *)read_file(path, sizeof *image, &bytes);
  if (image == NULL)
    return NVRTC_ERROR_OUT_OF_MEMORY;
  *image = (gemel__sim_image){.magic = GEMEL__SIM_MAGIC,
                              .stamp = gemel__sim_stamp(),
                              .bytes = bytes,
                              .architecture = program->architecture,
                              .portable = program->portable};
  program->image = image;
  return NVRTC_SUCCESS;
}

static void take_log(nvrtcProgram program, const char *folder) {
  char path[PATH];
  size_t bytes = 0;
  char *text = format_path(path, "%s/log", folder) ? read_file(path, 0, &bytes) : NULL;
  add_to_log(program, text != NULL ? text : "the C++ compiler could not be run");
  free(text);
}

static nvrtcResult compile_for_cpu(nvrtcProgram program, const char *flags) {
  char folder[PATH], command[PATH + 20];
  const char *temporary = getenv("TMPDIR");
  if (temporary == NULL || temporary[0] != '/' || !is_plain(temporary))
    temporary = "/tmp";
  if (!format_path(folder, "%s/gemel-sim-XXXXXX", temporary) || mkdtemp(folder) == NULL)
    return NVRTC_ERROR_OUT_OF_MEMORY;
  nvrtcResult result =
      write_files(program, folder) ? run_compiler(folder, flags) : NVRTC_ERROR_INVALID_INPUT;
  if (result == NVRTC_SUCCESS)
    result = take_image(program, folder);
  else
    take_log(program, folder);
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  if (system(command) != 0)
    add_to_log(program, "a temporary folder could not be removed");
  return result;
}

static nvrtcResult compile(nvrtcProgram program, int options, const char *const *texts) {
  char flags[1000], *log = NULL;
  free(program->image);
  program->image = NULL;
  if (!read_options(program, options, texts, flags, sizeof flags))
    return NVRTC_ERROR_INVALID_OPTION;
  nvrtcResult result = gemel__sim_real_nvrtc(
      program->source, program->name, program->headers, (const char *const *)program->header_texts,
      (const char *const *)program->header_names, options, texts, &log);
  if (result == NVRTC_SUCCESS)
    return compile_for_cpu(program, flags);
  add_to_log(program, log != NULL ? log : "");
  free(log);
  return result;
}

/* Other threads may use the device meanwhile; what they share is made first. */
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int options, const char *const *texts) {
  if (program == NULL)
    return NVRTC_ERROR_INVALID_PROGRAM;
  if (options < 0 || (options > 0 && texts == NULL))
    return options < 0 ? NVRTC_ERROR_INVALID_INPUT : NVRTC_ERROR_INVALID_OPTION;
  nvrtcResult entered = enter(GEMEL__SIM_MAKES);
  gemel__sim_stamp();
  gemel__sim_has_nvrtc();
  leave(NVRTC_SUCCESS);
  if (entered != NVRTC_SUCCESS)
    return entered;
  free(program->log);
  program->log = NULL;
  return compile(program, options, texts);
}

/* Results. Machine code is there for sm_XX, PTX for both. What isn't there is no bytes, or of PTX,
   a text, the 0 at its end. */

static nvrtcResult get(nvrtcProgram program, bool portable, size_t *bytes, char *to) {
  if (program == NULL)
    return NVRTC_ERROR_INVALID_PROGRAM;
  if (bytes == NULL && to == NULL)
    return NVRTC_ERROR_INVALID_INPUT;
  nvrtcResult entered = enter(GEMEL__SIM_ASKS);
  if (entered != NVRTC_SUCCESS)
    return leave(entered);
  bool there = program->image != NULL && (portable || !program->portable);
  size_t all = there ? sizeof *program->image + (size_t)program->image->bytes : portable;
  if (bytes != NULL)
    *bytes = all;
  if (to != NULL && there) {
    gemel__sim_image head = *program->image;
    head.portable = portable;
    memcpy(to, program->image, all);
    memcpy(to, &head, sizeof head);
  } else if (to != NULL && portable)
    to[0] = '\0';
  return leave(NVRTC_SUCCESS);
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *bytes) {
  return get(program, true, bytes, NULL);
}

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *ptx) {
  return get(program, true, NULL, ptx);
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes) {
  return get(program, false, bytes, NULL);
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin) {
  return get(program, false, NULL, cubin);
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *bytes) {
  if (program == NULL)
    return NVRTC_ERROR_INVALID_PROGRAM;
  if (bytes == NULL)
    return NVRTC_ERROR_INVALID_INPUT;
  *bytes = program->log != NULL ? strlen(program->log) + 1 : 1;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log) {
  if (program == NULL)
    return NVRTC_ERROR_INVALID_PROGRAM;
  if (log == NULL)
    return NVRTC_ERROR_INVALID_INPUT;
  strcpy(log, program->log != NULL ? program->log : "");
  return NVRTC_SUCCESS;
}
