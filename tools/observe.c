/* SPDX-License-Identifier: MIT
 *
 * What gemel run tells of how it ran: the listing, the profile, the trace, and the guard against
 * NaNs and infinities.
 */
#include <string.h>
#include "tool.h"

static const struct {
  const char *name;
  unsigned bits;
} guards[] = {
    {"nan", GEMEL_GUARD_NAN}, {"inf", GEMEL_GUARD_INF}, {"all", GEMEL_GUARD_NAN | GEMEL_GUARD_INF}};
enum { GUARD_COUNT = sizeof guards / sizeof *guards };

int gemel__observe_read(const gemel__args *args, gemel_options *options) {
  const char *guard = gemel__arg(args, "guard");
  size_t k = 0;
  options->profile |=
      gemel__arg_set(args, "profile") || gemel__arg(args, "json") != NULL ? GEMEL_PROFILE_TIMES : 0;
  options->profile |= gemel__arg(args, "trace") != NULL ? GEMEL_PROFILE_TRACE : 0;
  while (guard != NULL && k < GUARD_COUNT && strcmp(guards[k].name, guard) != 0) {
    k++;
  }
  if (k == GUARD_COUNT) {
    return gemel__complain("--guard: '%s' is neither nan, inf nor all", guard);
  }
  options->guard |= guard != NULL ? guards[k].bits : 0;
  return GEMEL__GOOD;
}

typedef gemel_status (*profile_writer)(const gemel_call_profile *, gemel_write, void *,
                                       gemel_error *);

/* Writes PROFILE to the file that option NAME says, if it is given. */
static int write_to(const gemel__args *args, const char *name, const gemel_call_profile *profile,
                    profile_writer write) {
  const char *path = gemel__arg(args, name);
  gemel__output out;
  gemel_error error;
  if (path == NULL) {
    return GEMEL__GOOD;
  }
  if (gemel__output_open(&out, path) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  gemel_status status = write(profile, gemel__output_write, &out, &error);
  if (status != GEMEL_OK && status != GEMEL_IO) {
    gemel__output_close(&out, 0);
    return gemel__complain_error(path, &error);
  }
  return gemel__output_close(&out, 1);
}

static int report_profile(const gemel__args *args, const gemel_function *function) {
  gemel_error error;
  gemel_call_profile *profile = gemel_function_profile(function, &error);
  if (profile == NULL) {
    return gemel__complain_error(NULL, &error);
  }
  int status = write_to(args, "trace", profile, gemel_call_profile_trace);
  if (status == GEMEL__GOOD) {
    status = write_to(args, "json", profile, gemel_call_profile_json);
  }
  if (status == GEMEL__GOOD && gemel__arg_set(args, "profile") &&
      gemel_call_profile_print(profile, gemel__stream_write, stderr, &error) != GEMEL_OK) {
    status = gemel__complain_error(NULL, &error);
  }
  gemel_call_profile_free(profile);
  return status;
}

int gemel__observe_report(const gemel__args *args, const gemel_options *options,
                          const gemel_function *function) {
  gemel_error error;
  if (gemel__arg_set(args, "list") &&
      gemel_function_print(function, gemel__stream_write, stderr, &error) != GEMEL_OK) {
    return gemel__complain_error(NULL, &error);
  }
  return options->profile != 0 ? report_profile(args, function) : GEMEL__GOOD;
}
