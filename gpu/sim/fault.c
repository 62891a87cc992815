/* SPDX-License-Identifier: MIT
 *
 * Faults: the host touches device memory or a buffer that a copy may still use, or a kernel touches
 * what no memory is at. The signal's handler says which, and leaves the kernel or, in a test that
 * waits for this, the function; else the program ends. Other faults are none of the sim's.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "sim/inside.h"

enum { STACK = 64 << 10, STATUS = 97 };

static _Thread_local sigjmp_buf *catcher;
static struct sigaction before_segv, before_bus, before_fpe;

static bool say(uintptr_t address) {
  const void *pointer = (const void *)address;
  const gemel__sim_place nowhere = {NULL, NULL, 0};
  if (gemel__sim_me() != NULL && gemel__sim_owner_of_stack(address) == gemel__sim_self) {
    gemel__sim_say(GEMEL__SIM_BOUNDS, nowhere,
                   "thread %d of block %u overflows its stack of %d KiB", gemel__sim_self->id,
                   gemel__sim_block_now.number, GEMEL__SIM_STACK_BYTES >> 10);
  } else if (gemel__sim_me() != NULL) {
    gemel__sim_say(GEMEL__SIM_BOUNDS, nowhere, "thread %d of block %u touches %p, where nothing is",
                   gemel__sim_self->id, gemel__sim_block_now.number, pointer);
  } else if (gemel__sim_is_device(pointer)) {
    char text[160];
    gemel__sim_describe(address, text, sizeof text);
    gemel__sim_say(GEMEL__SIM_DEVICE_MEMORY, nowhere, "the host touches %s", text);
  } else if (gemel__sim_pinned_at(pointer) != NULL) {
    gemel__sim_say(GEMEL__SIM_DEVICE_MEMORY, nowhere,
                   "the host touches a pinned buffer while cudaMemcpyAsync may use it");
  } else
    return false;
  return true;
}

static void on_fault(int signal, siginfo_t *info, void *context) {
  (void)context;
  if (!say((uintptr_t)info->si_addr)) { /* happens once more when this returns */
    sigaction(SIGSEGV, &before_segv, NULL);
    sigaction(SIGBUS, &before_bus, NULL);
    return;
  }
  if (gemel__sim_me() != NULL)
    gemel__sim_end_kernel(cudaErrorIllegalAddress);
  if (catcher != NULL)
    siglongjmp(*catcher, signal);
  fflush(NULL);
  _exit(STATUS);
}

/* Where the compiler's check of divisors is off. */
static void on_division(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)context;
  if (gemel__sim_self == NULL) {
    sigaction(SIGFPE, &before_fpe, NULL);
    return;
  }
  gemel__sim_say(GEMEL__SIM_UNDEFINED, (gemel__sim_place){info->si_addr, NULL, 0},
                 "thread %d of block %u: division by zero, or overflow", gemel__sim_self->id,
                 gemel__sim_block_now.number);
  gemel__sim_end_kernel(cudaErrorLaunchFailure);
}

/* Each CPU thread that runs kernels needs a stack for the handler, as theirs may be full. */
static void give_stack(void) {
  static _Thread_local bool given;
  static _Thread_local char stack[STACK];
  if (given)
    return;
  sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = STACK}, NULL);
  given = true;
}

void gemel__sim_fault_start(void) {
  static bool done;
  give_stack();
  if (done)
    return;
  struct sigaction action = {.sa_sigaction = on_fault,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
  sigaction(SIGSEGV, &action, &before_segv);
  sigaction(SIGBUS, &action, &before_bus);
  action.sa_sigaction = on_division;
  sigaction(SIGFPE, &action, &before_fpe);
  done = true;
}

bool gemel__sim_caught(void (*fn)(void *data), void *data) {
  sigjmp_buf jump, *outer = catcher;
  bool caught = sigsetjmp(jump, 1) != 0;
  gemel__sim_fault_start();
  catcher = &jump;
  if (!caught)
    fn(data);
  catcher = outer;
  return caught;
}
