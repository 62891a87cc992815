/* SPDX-License-Identifier: MIT
 *
 * The devices that the command knows, by name, and graphs that are lifted to them. A device is a
 * line of the table: it is opened when it is asked for, as memory space 1. NAME:N is the one of
 * number N, from 0, where there are several; NAME,tf32 and NAME,bf16 multiply f32 less precisely.
 */
#include <gemel/cuda.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tool.h"

enum { SPACE = 1 };

/* CUDA is the sim's in gemel, and NVIDIA's in gemel-cuda. */
#if GEMEL__SIM || GEMEL__CUDA
static const gemel_device *open_cuda(int number, gemel_precision precision, gemel_error *error) {
  gemel_cuda *cuda = gemel_cuda_open(number, error);
  (void)gemel_cuda_set_precision(cuda, precision); /* there is such a precision */
  return gemel_cuda_device(cuda);
}
#endif

/* OPEN gives the record of the device of a number; NULL with *ERROR. */
static const struct {
  const char *name;
  const gemel_device *(*open)(int number, gemel_precision precision, gemel_error *error);
} devices[] = {
    {"host", NULL}, /* where graphs are in any case */
#if GEMEL__CUDA
    {"cuda", open_cuda},
#endif
#if GEMEL__SIM
    {"sim", open_cuda}, /* CUDA on this machine's CPU, with every access checked */
#endif
};
enum { N_DEVICES = sizeof devices / sizeof *devices };

/* Row K's device of NUMBER, the only one that a command asks for: opened once, and in use until the
 * command ends. */
static int open_device(size_t k, int number, gemel_precision precision, gemel_context *context) {
  static const gemel_device *opened;
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  if (opened == NULL) {
    opened = devices[k].open(number, precision, &error);
  }
  return opened != NULL && gemel_register_device(context, SPACE, opened, &error) == GEMEL_OK
             ? GEMEL__GOOD
             : gemel__complain_error(devices[k].name, &error);
}

/* The row of the device that TEXT names, and which of its kind it is; N_DEVICES if there is none.
 * The host is one. */
static size_t find_device(const char *text, int *number) {
  size_t length = strcspn(text, ":"), k = 0;
  const char *digits = text[length] == ':' ? text + length + 1 : "0";
  char *end = NULL;
  long n = digits[0] >= '0' && digits[0] <= '9' ? strtol(digits, &end, 10) : -1;
  while (k < N_DEVICES &&
         (strlen(devices[k].name) != length || strncmp(devices[k].name, text, length) != 0)) {
    k++;
  }
  *number = n >= 0 && n <= INT_MAX ? (int)n : 0;
  return n < 0 || n > INT_MAX || *end != '\0' ||
                 (k < N_DEVICES && devices[k].open == NULL && text[length] != '\0')
             ? N_DEVICES
             : k;
}

/* The program gemel-NAME beside this one knows that device: it starts in this one's place, with the
 * same arguments. Returns if there is none. */
static void hand_over(const char *name) {
  char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  if (n <= 0) {
    return;
  }
  path[n] = '\0';
  char *slash = strrchr(path, '/');
  size_t left = sizeof path - (size_t)(slash + 1 - path);
  if ((size_t)snprintf(slash + 1, left, "gemel-%s", name) < left) {
    execv(path, gemel__arguments);
  }
}

/* There is no device called NAME. */
static int complain_of(const char *name) {
  char known[200] = "";
  size_t used = 0;
  for (size_t k = 0; k < N_DEVICES && used < sizeof known; k++) {
    used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", k > 0 ? ", " : "",
                             devices[k].name);
  }
  return gemel__complain(
      "--device: there is no device '%s': this program knows %s, of which number N "
      "is NAME:N, and NAME,tf32 and NAME,bf16 multiply f32 so",
      name, known);
}

static int read_strategy(const char *text, gemel_lift_strategy *strategy) {
  int k = 0;
  while (k < GEMEL_LIFT_STRATEGY_COUNT &&
         strcmp(text, gemel_lift_strategy_name((gemel_lift_strategy)k)) != 0) {
    k++;
  }
  if (k == GEMEL_LIFT_STRATEGY_COUNT) {
    return gemel__complain("--lift: '%s' is neither aggressive nor cheapest", text);
  }
  *strategy = (gemel_lift_strategy)k;
  return GEMEL__GOOD;
}

int gemel__device_read(gemel_lift_options *lift, gemel_context *context, const gemel__args *args,
                       const gemel_rewrite_options *rewrite) {
  const char *name = gemel__arg(args, "device"), *strategy = gemel__arg(args, "lift");
  int fast_run = !rewrite->has_mode || rewrite->mode == GEMEL_MODE_FAST_RUN;
  *lift = (gemel_lift_options){.size = sizeof *lift,
                               .strategy = fast_run ? GEMEL_LIFT_CHEAPEST : GEMEL_LIFT_AGGRESSIVE};
  if (strategy != NULL && read_strategy(strategy, &lift->strategy) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  return gemel__device_open(context, name, &lift->space);
}

/* NAME without ",tf32" behind it or such, and that precision; GEMEL_PRECISION_COUNT: there is none
 * of that name. */
static gemel_precision cut_precision(char *name) {
  char *comma = strchr(name, ',');
  int k = 0;
  if (comma == NULL) {
    return GEMEL_PRECISION_IEEE;
  }
  *comma = '\0';
  while (k < GEMEL_PRECISION_COUNT &&
         strcmp(comma + 1, gemel_precision_name((gemel_precision)k)) != 0) {
    k++;
  }
  return (gemel_precision)k;
}

int gemel__device_open(gemel_context *context, const char *name, int *space) {
  int number;
  char plain[100];
  *space = GEMEL_SPACE_HOST;
  if (name == NULL) {
    return GEMEL__GOOD;
  }
  if ((size_t)snprintf(plain, sizeof plain, "%s", name) >= sizeof plain) {
    return complain_of(name);
  }
  gemel_precision precision = cut_precision(plain);
  size_t k = precision < GEMEL_PRECISION_COUNT ? find_device(plain, &number) : N_DEVICES;
  if (k == N_DEVICES) {
    if (strncmp(name, "cuda", 4) == 0 && strchr(":,", name[4]) != NULL) {
      hand_over("cuda");
    }
    return complain_of(name);
  }
  *space = devices[k].open != NULL ? SPACE : GEMEL_SPACE_HOST;
  return *space == GEMEL_SPACE_HOST ? GEMEL__GOOD : open_device(k, number, precision, context);
}

/* ---- What a lift did ---- */

static void print_counts(const gemel_lift_counts *c) {
  fprintf(stderr,
          "lifted %llu nodes, %llu stay on the host; a call transfers %llu values to the device "
          "and %llu from it, its plan %llu\n",
          (unsigned long long)c->lifted, (unsigned long long)c->stayed,
          (unsigned long long)c->uploads, (unsigned long long)c->downloads,
          (unsigned long long)c->once);
  if (c->seconds > 0) {
    fprintf(stderr, "by the model of the cheapest places a call takes %.3f us\n", c->seconds * 1e6);
  }
}

void gemel__lift_print(const gemel_lift_report *report) {
  fprintf(stderr, "%-14s %-32s %9s %9s %9s %9s\n", "lift", "operation", "ms", "applied", "",
          "created");
  for (size_t k = 0; k < gemel_lift_report_row_count(report); k++) {
    const gemel_lift_row *row = gemel_lift_report_row_at(report, k);
    fprintf(stderr, "%-14s %-32s %9.3f %9llu %9s %9llu\n", "lift", row->operation,
            row->seconds * 1e3, (unsigned long long)row->applied, "",
            (unsigned long long)row->created);
  }
  for (size_t k = 0; k < gemel_lift_report_stay_count(report); k++) {
    const gemel_lift_stay *stay = gemel_lift_report_stay_at(report, k);
    fprintf(stderr, "%s:%d: %s stays on the host: %s\n", stay->where.file, stay->where.line,
            stay->operation, gemel_lift_reason_meaning(stay->reason));
  }
  print_counts(gemel_lift_report_counts(report));
}
