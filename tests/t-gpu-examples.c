/* SPDX-License-Identifier: MIT
 *
 * The example for GPUs, on the sim: how many transfers and launches each of its three ways takes.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "ct.h"
#include "support/on-gpu.h"

int example_main(int argc, char **argv);
#define main example_main
#include "../examples/affine_gpu.c"
#undef main

/* What the example writes. */
static void run_example(char *text, size_t bytes) {
  char *arguments[] = {"affine_gpu", "8", "500", NULL};
  FILE *file = tmpfile();
  int kept = dup(1);
  CT_REQUIRE(file != NULL && kept >= 0);
  fflush(stdout);
  dup2(fileno(file), 1);
  int status = example_main(3, arguments);
  fflush(stdout);
  dup2(kept, 1);
  close(kept);
  rewind(file);
  text[fread(text, 1, bytes - 1, file)] = 0;
  fclose(file);
  CT_EQ_INT(status, 0);
}

static void affine(const void *data) {
  char text[1000];
  (void)data;
  run_example(text, sizeof text);
  CT_EQ_STR(text,
            "passed     1500 transfers to the GPU, 500 from it, 500 graphs and 0 kernels launched\n"
            "two shared 500 transfers to the GPU, 500 from it, 500 graphs and 0 kernels launched\n"
            "all shared 0 transfers to the GPU, 1 from it, 500 graphs and 0 kernels launched\n");
  CT_EQ_INT(sim_reports(), 0);
}

void ct_register(void) {
  static const ct_test tests[] = {CT_TEST("affine", affine, NULL)};
  need_gpu();
  ct_suite("gpu_examples", tests, CT_COUNT(tests));
}
