/*
 * The version, said once in configure.ac and handed on here.
 *
 * SPDX-License-Identifier: MIT
 */
#include <gemel/version.h>

const char *gemel_version(void) {
  return PACKAGE_VERSION;
}
