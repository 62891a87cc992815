/*
 * A context with two devices whose memory the host can't touch, in the memory spaces 1 and 2.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_TWO_DEVICES_H
#define GEMEL_TESTS_TWO_DEVICES_H

#include "../ct.h"
#include <gemel/lift.h>
#include "guarded-device.h"

static guarded_device device, second;

static inline gemel_context *context_with_devices(void) {
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  CT_CHECK(context != NULL);
  CT_CHECK(guarded_open(&device, "guarded") == 0 && guarded_open(&second, "second") == 0);
  CT_EQ_INT(gemel_register_device(context, 1, &device.record, &error), GEMEL_OK);
  CT_EQ_INT(gemel_register_device(context, 2, &second.record, &error), GEMEL_OK);
  return context;
}

static inline void leave(gemel_context *context) {
  gemel_context_unref(context);
  CT_EQ_UINT(device.live, 0);
  CT_EQ_UINT(second.live, 0);
  guarded_close(&device);
  guarded_close(&second);
}

/* GRAPH lifted to memory space 1 by the other options. */
static inline gemel_graph *lift_with(const gemel_graph *graph, gemel_lift_options options) {
  options.size = sizeof options;
  options.space = options.space != 0 ? options.space : 1;
  gemel_error error = {0};
  gemel_graph *lifted = gemel_lift(graph, &options, &error);
  ct_context("%s", lifted != NULL ? "" : error.text);
  CT_CHECK(lifted != NULL);
  return lifted;
}

#define LIFT(graph, ...) lift_with(graph, (gemel_lift_options){__VA_ARGS__})

#endif
