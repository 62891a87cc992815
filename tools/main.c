/*
 * The gemel command.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include <gemel/version.h>

int main(void) {
  printf("gemel %s\n", gemel_version());
  return 0;
}
