/* SPDX-License-Identifier: MIT
 *
 * Reading graphs and writing files. A file is written as the library does (text/file.h): aside, in
 * the same folder, and renamed when every byte of it has reached the system; so a reader sees the
 * old one or the new one, and after an error neither a part nor a rest of it, nor after a signal
 * (signals.c). What is no regular file (a terminal, a pipe, /dev/full) is written directly.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "onnx.h"

/* ---- Memory ---- */

void *gemel__need(void *block, size_t bytes) {
  block = realloc(block, bytes > 0 ? bytes : 1);
  if (block == NULL) {
    exit(gemel__end_with(gemel__complain("out of memory")));
  }
  return block;
}

char *gemel__need_text(const char *format, ...) {
  va_list args;
  va_start(args, format);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *text = gemel__need(NULL, (size_t)length + 1);
  va_start(args, format);
  vsnprintf(text, (size_t)length + 1, format, args);
  va_end(args);
  return text;
}

/* In quotes; a quote within leaves them, and stands behind a backslash. */
char *gemel__shell_word(const char *text, size_t length) {
  static const char quote[] = "'\\''";
  char *word = gemel__need(NULL, length * (sizeof quote - 1) + 3), *end = word;
  *end++ = '\'';
  for (size_t k = 0; k < length; k++) {
    size_t n = text[k] == '\'' ? sizeof quote - 1 : 1;
    memcpy(end, text[k] == '\'' ? quote : &text[k], n);
    end += n;
  }
  memcpy(end, "'", 2);
  return word;
}

int gemel__ends_in(const char *path, const char *suffix) {
  size_t length = strlen(path), tail = strlen(suffix);
  return length >= tail && strcmp(path + length - tail, suffix) == 0;
}

/* ---- Named tensors ---- */

static int is_safetensors(const char *path) {
  return gemel__ends_in(path, ".safetensors");
}

int gemel__is_tensors_file(const char *path) {
  return gemel__ends_in(path, ".npz") || is_safetensors(path);
}

gemel_status gemel__tensors_load(const char *path, size_t *count, char ***names,
                                 gemel_tensor ***tensors, gemel_error *error) {
  return (is_safetensors(path) ? gemel_safetensors_load : gemel_npz_load)(path, count, names,
                                                                          tensors, error);
}

gemel_status gemel__tensors_save(size_t count, const char *const *names,
                                 gemel_tensor *const *tensors, const char *path,
                                 gemel_error *error) {
  return (is_safetensors(path) ? gemel_safetensors_save : gemel_npz_save)(count, names, tensors,
                                                                          path, error);
}

/* ---- Reading ---- */

gemel_context *gemel__context_need(void) {
  gemel_error error;
  gemel_context *context = gemel_context_new(&error);
  if (context == NULL) {
    gemel__complain_error(NULL, &error);
  }
  return context;
}

/* Defines what the file PATH has. */
static int define_operators(gemel_context *context, const char *path) {
  gemel_error error;
  if (!gemel__readable(path)) {
    return GEMEL__BAD;
  }
  return gemel_load_composites(context, path, &error) == GEMEL_OK
             ? GEMEL__GOOD
             : gemel__complain_error(NULL, &error);
}

gemel_context *gemel__context_for(const gemel__args *args) {
  gemel_context *context = gemel__context_need();
  for (int k = 0; context != NULL && k < args->n_given; k++) {
    if (strcmp(args->given[k].option->name, "operators") == 0 &&
        define_operators(context, args->given[k].value) != GEMEL__GOOD) {
      gemel_context_unref(context);
      return NULL;
    }
  }
  return context;
}

int gemel__readable(const char *path) {
  struct stat about;
  if (stat(path, &about) != 0) {
    gemel__complain("%s: %s", path, strerror(errno));
    return 0;
  }
  if (S_ISDIR(about.st_mode)) {
    gemel__complain("%s: is a folder, a file is needed", path);
    return 0;
  }
  if (access(path, R_OK) != 0) {
    gemel__complain("%s: %s", path, strerror(errno));
    return 0;
  }
  return 1;
}

/* 1 if ARGS give a size by --dim, and have no model whose it could be. */
static int is_size_idle(const gemel__args *args) {
  if (args == NULL || gemel__arg(args, "dim") == NULL) {
    return 0;
  }
  for (int k = 0; k < args->n_operands; k++) {
    if (gemel__is_model(args->operands[k])) {
      return 0;
    }
  }
  return 1;
}

/* 1 if the file PATH is a module of HLO, whatever it is called. */
static int is_module(const char *path) {
  static const char begin[] = "HloModule";
  char text[sizeof begin] = "";
  FILE *file = fopen(path, "r");
  size_t n = file != NULL ? fread(text, 1, sizeof begin - 1, file) : 0;
  if (file != NULL) {
    fclose(file);
  }
  return n == sizeof begin - 1 && strcmp(text, begin) == 0;
}

static gemel_graph *load_module(gemel_context *context, const char *path, char **name,
                                gemel_error *error) {
  gemel_hlo *module = gemel_hlo_load(path, error);
  gemel_graph *graph = module != NULL ? gemel_hlo_graph(module, context, name, error) : NULL;
  gemel_hlo_free(module);
  return graph;
}

int gemel__graph_read(gemel_context *context, const char *path, gemel_graph **graph, char **name,
                      const gemel__args *args) {
  gemel_error error;
  *graph = NULL;
  if (gemel__is_model(path)) {
    return gemel__model_read(context, path, graph, name, args);
  }
  if (is_size_idle(args)) {
    return gemel__complain("--dim is for a model of ONNX, which %s is not", path);
  }
  if (!gemel__readable(path)) {
    return GEMEL__BAD;
  }
  *graph = is_module(path) ? load_module(context, path, name, &error)
                           : gemel_load(context, path, name, &error);
  return *graph != NULL ? GEMEL__GOOD : gemel__complain_unread(path, &error);
}

/* ---- Writing ---- */

void gemel__stream_to_null(int descriptor) {
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0 && null != descriptor) {
    dup2(null, descriptor);
    close(null);
  }
}

/* The folder that the command has made; a command makes one at most. */
static const char *made;

int gemel__folder_make(const char *path) {
  struct stat about;
  if (mkdir(path, 0777) == 0) {
    made = path;
  } else if (errno != EEXIST) {
    return gemel__complain("%s: %s", path, strerror(errno));
  }
  if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode)) {
    return gemel__complain("%s: is no folder", path);
  }
  return GEMEL__GOOD;
}

int gemel__folder_writable(const char *path) {
  int status = gemel__folder_make(path);
  return status != GEMEL__GOOD || access(path, W_OK | X_OK) == 0
             ? status
             : gemel__complain("%s: %s", path, strerror(errno));
}

void gemel__folder_unmake(void) {
  if (made != NULL) {
    rmdir(made); /* which fails, and may, if something is in it */
  }
}

int gemel__output_open(gemel__output *output, const char *path) {
  gemel_error error;
  memset(output, 0, sizeof *output);
  if (strcmp(path, "-") == 0) {
    output->file = stdout;
    return GEMEL__GOOD;
  }
  if (gemel__file_create(&output->target, path, &error) != GEMEL_OK) {
    return gemel__complain_error(NULL, &error);
  }
  output->file = output->target.stream;
  if (output->target.aside != NULL) {
    output->aside = gemel__need_text("%s", output->target.aside);
    gemel__signals_aside(output->aside);
  }
  return GEMEL__GOOD;
}

int gemel__stream_write(void *stream, const void *bytes, size_t count) {
  return fwrite(bytes, 1, count, stream) != count;
}

int gemel__output_write(void *output, const void *bytes, size_t count) {
  return gemel__stream_write(((gemel__output *)output)->file, bytes, count);
}

static int close_stdout(int keep) {
  if ((fflush(stdout) == 0 && !ferror(stdout)) || !keep) {
    return GEMEL__GOOD;
  }
  int status = gemel__complain("standard output: %s", strerror(errno));
  clearerr(stdout); /* said already */
  return status;
}

int gemel__output_close(gemel__output *output, int keep) {
  gemel_error error;
  if (output->file == stdout) {
    return close_stdout(keep);
  }
  gemel_status status = gemel__file_commit(&output->target, keep ? GEMEL_OK : GEMEL_IO, &error);
  if (output->aside != NULL) {
    gemel__signals_kept(output->aside);
    free(output->aside);
  }
  return keep && status != GEMEL_OK ? gemel__complain_error(NULL, &error) : GEMEL__GOOD;
}

int gemel__graph_write(const gemel_graph *graph, const char *name, const char *path) {
  gemel__output output;
  gemel_error error;
  if (gemel__output_open(&output, path) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  gemel_status status = gemel__ends_in(path, ".gemel")
                            ? gemel_serialize(graph, name, gemel__output_write, &output, &error)
                            : gemel_print(graph, name, gemel__output_write, &output, &error);
  if (status != GEMEL_OK && status != GEMEL_IO) {
    gemel__output_close(&output, 0);
    return gemel__complain_error(path, &error);
  }
  return gemel__output_close(&output, 1);
}

gemel_status gemel__rules_choose(gemel_context *context, const char **rules, gemel_rules **set,
                                 gemel_error *error) {
  *set = NULL;
  if (*rules == NULL || strpbrk(*rules, "./") == NULL) {
    return GEMEL_OK;
  }
  *set = gemel_rules_load(context, *rules, error);
  if (*set != NULL && gemel_rules_count(*set) == 0) {
    snprintf(error->text, sizeof error->text, "%s holds no rule", *rules);
    return error->status = GEMEL_NOT_FOUND;
  }
  *rules = NULL;
  return *set != NULL ? GEMEL_OK : error->status;
}

gemel_status gemel__define_from(gemel_context *context, const char *path, gemel_error *error) {
  enum { MOST_BYTES = 1 << 20 };
  FILE *file = fopen(path, "r");
  char *text = file != NULL ? malloc(MOST_BYTES) : NULL;
  size_t length = text != NULL ? fread(text, 1, MOST_BYTES, file) : 0;
  gemel_status status;
  memset(error, 0, sizeof *error);
  if (text == NULL || length == MOST_BYTES || ferror(file)) {
    snprintf(error->text, sizeof error->text, "%s: %s", path,
             length == MOST_BYTES ? "more than 1 MiB" : strerror(errno));
    status = error->status = GEMEL_IO;
  } else {
    status = gemel_define_operations(context, text, length, path, error);
  }
  if (file != NULL) {
    fclose(file);
  }
  free(text);
  return status;
}
