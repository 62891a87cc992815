/* SPDX-License-Identifier: MIT
 *
 * Convolutions whose filters ONNX Runtime's optimiser has put in order for blocks of channels
 * (domain com.microsoft.nchwc; core/mlas/lib/reorder.cpp of ONNX Runtime has the order). A filter
 * [M, C, h, w] is stored as [M/b, C/b, h, w, b, b], blocks of input channels before those of output
 * channels; if an image has fewer channels than a block, or each channel its own filter, as
 * [M/b, C, h, w, b]. Its shape still says [M, C, h, w], with M and C filled up to whole blocks by
 * zeros, and nothing in the file says what b is: it is that of the machine where the optimiser ran.
 *
 * Here filters are put back in order, and images keep the channels that they add: ReorderOutput
 * takes those away.
 */
#include <string.h>

#include "core/isa.h"
#include "core/tensor.h"
#include "core/value.h"
#include "onnx/operators.h"

/* A convolution's filters. */
typedef struct blocked {
  const gemel_tensor *stored;
  int64_t m, c, h, w, block, groups;
  int is_wide; /* 1: input channels are in blocks, too */
} blocked;

static int refuse(gemel__onnx_call *c, const char *what) {
  gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "filters in blocks %s", what);
  return 0;
}

/* 1, or 0 and the error. */
static int read_filters(gemel__onnx_call *c, const gemel_tensor *stored, blocked *f) {
  f->stored = stored;
  f->groups = gemel__onnx_int(c, "group", 1);
  if (gemel_tensor_rank(stored) != 4 || gemel_tensor_dtype(stored) != GEMEL_F32 || f->groups < 1 ||
      gemel_tensor_data(stored) == NULL || gemel_tensor_elements(stored) == 0) {
    return refuse(c, "that aren't f32[M, C, h, w]");
  }
  const int64_t *sizes = gemel_tensor_shape(stored);
  f->m = sizes[0];
  f->c = sizes[1];
  f->h = sizes[2];
  f->w = sizes[3];
  f->block = f->m % 16 == 0 && gemel__isa_best() == GEMEL__ISA_AVX512 ? 16 : 8;
  f->is_wide = f->groups == 1 ? f->c >= f->block : f->c > 1;
  return (f->m % f->block == 0 && (!f->is_wide || f->c % f->block == 0)) ||
         refuse(c, "of neither 8 nor 16 channels");
}

/* The element of filter M for channel C at pixel P of the window. */
static float stored_at(const blocked *f, int64_t m, int64_t c, int64_t p) {
  const float *all = gemel_tensor_data(f->stored);
  int64_t b = f->block, pixels = f->h * f->w;
  if (!f->is_wide) {
    return all[((m / b * f->c + c) * pixels + p) * b + m % b];
  }
  return all[(((m / b * (f->c / b) + c / b) * pixels + p) * b + c % b) * b + m % b];
}

/* M filters in the usual order, for images of CHANNELS a group, as a constant. */
static gemel_value in_order(gemel__onnx_call *c, const blocked *f, int64_t m, int64_t channels) {
  int64_t shape[] = {m, channels, f->h, f->w};
  gemel_error error;
  gemel_tensor *usual = gemel_tensor_new(GEMEL_F32, 4, shape, &error);
  if (usual == NULL) {
    return gemel__onnx_refuse(c, error.status, "%s", error.text);
  }
  float *to = gemel_tensor_data(usual);
  for (int64_t i = 0; i < m; i++) {
    for (int64_t k = 0; k < channels; k++) {
      for (int64_t p = 0; p < f->h * f->w; p++) {
        *to++ = stored_at(f, i, k, p);
      }
    }
  }
  gemel_value value = gemel_constant_at(c->graph, usual, c->where);
  gemel_tensor_unref(usual);
  return value;
}

/* How many channels X has; unknown, those of filters that aren't filled up. -1, and the error. */
static int64_t channels_of(gemel__onnx_call *c, gemel_value x, const blocked *f) {
  int64_t channels = -1;
  if (!gemel_dim_is_constant(c->context, gemel__onnx_dims(x)[1], &channels)) {
    channels = f->groups == 1 && !f->is_wide ? f->c : -1;
  }
  if (channels < 0) {
    refuse(c, "for an unknown number of channels");
  }
  return channels;
}

/* The convolution of X by F. */
static gemel_value correlate(gemel__onnx_call *c, gemel_value x, blocked *f) {
  int64_t channels = channels_of(c, x, f), filters = f->m, each = f->c;
  if (channels < 0) {
    return gemel__no_value;
  }
  if (f->groups > 1 && f->c == 1) { /* a filter a channel: blocks are filled up by groups */
    f->groups = channels;
    filters = channels < f->m ? channels : f->m;
  } else if (f->groups == 1 && channels < f->c) {
    each = channels;
  }
  return gemel__onnx_correlate_groups(c, x, in_order(c, f, filters, each), f->groups);
}

gemel_value gemel__onnx_correlate_blocked(gemel__onnx_call *c, gemel_value x) {
  blocked f;
  gemel_value result = gemel__no_value;
  if (gemel_is_null(x)) {
    return x;
  }
  gemel_tensor *stored = gemel__onnx_known(c, 1);
  if (stored == NULL || gemel__onnx_rank(x) != 4) {
    refuse(c, "that aren't known, or for images that aren't");
  } else if (read_filters(c, stored, &f)) {
    result = correlate(c, x, &f);
  }
  gemel_tensor_unref(stored);
  return result;
}
