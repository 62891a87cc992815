/* SPDX-License-Identifier: MIT
 *
 * Attributes of a node on one short line, for people: long lists are cut, tensors and graphs are
 * named by their type and size.
 */
#include <string.h>
#include "tool.h"

enum { MOST = 8 }; /* elements of a list that are shown */

typedef struct attr_line {
  char *text;
  size_t bytes, used;
} attr_line;

static void put(attr_line *l, const char *text) {
  size_t length = strlen(text);
  if (l->used + length < l->bytes) {
    memcpy(l->text + l->used, text, length + 1);
    l->used += length;
  }
}

static void put_tensor(attr_line *l, const gemel_tensor *tensor) {
  char text[40];
  put(l, gemel_dtype_name(gemel_tensor_dtype(tensor)));
  put(l, "[");
  for (int k = 0; k < gemel_tensor_rank(tensor); k++) {
    snprintf(text, sizeof text, "%s%lld", k > 0 ? ", " : "",
             (long long)gemel_tensor_shape(tensor)[k]);
    put(l, text);
  }
  put(l, "]");
}

static void put_graph(attr_line *l, const gemel_graph *graph) {
  char text[60];
  snprintf(text, sizeof text, "graph of %zu nodes", gemel_graph_node_count(graph));
  put(l, text);
}

/* Element K of a list, or the attribute itself. */
static void put_element(attr_line *l, gemel_context *context, const gemel_attr *a, size_t k) {
  int list = (a->kind & GEMEL_ATTR_LIST) != 0;
  char text[256] = "";
  switch (a->kind & ~GEMEL_ATTR_LIST) {
  case GEMEL_ATTR_INT:
    snprintf(text, sizeof text, "%lld", (long long)(list ? a->u.ints[k] : a->u.i));
    break;
  case GEMEL_ATTR_DIM:
    gemel_dim_format(context, list ? a->u.dims[k] : a->u.dim, text, sizeof text);
    break;
  case GEMEL_ATTR_FLOAT:
    snprintf(text, sizeof text, "%.9g", list ? a->u.floats[k] : a->u.f);
    break;
  case GEMEL_ATTR_DTYPE:
    put(l, gemel_dtype_name(list ? a->u.dtypes[k] : a->u.dtype));
    break;
  case GEMEL_ATTR_STRING:
    put(l, list ? a->u.texts[k] : a->u.text);
    break;
  case GEMEL_ATTR_TENSOR:
    put_tensor(l, list ? a->u.tensors[k] : a->u.tensor);
    break;
  case GEMEL_ATTR_GRAPH:
    put_graph(l, list ? a->u.graphs[k] : a->u.graph);
    break;
  }
  put(l, text);
}

static void put_attribute(attr_line *l, gemel_context *context, const char *name,
                          const gemel_attr *a) {
  size_t k;
  put(l, ", ");
  put(l, name);
  put(l, " = ");
  if (!(a->kind & GEMEL_ATTR_LIST)) {
    put_element(l, context, a, 0);
    return;
  }
  put(l, "[");
  for (k = 0; k < a->count && k < MOST; k++) {
    put(l, k > 0 ? ", " : "");
    put_element(l, context, a, k);
  }
  put(l, k < a->count ? ", ...]" : "]");
}

void gemel__print_attributes(gemel_value value, char *text, size_t bytes) {
  gemel_context *context = gemel_graph_context(value.graph);
  const gemel_operation *op = gemel_operation_find(context, gemel_value_operation(value));
  attr_line l = {text, bytes, 0};
  text[0] = '\0';
  for (size_t k = 0; op != NULL && op->attrs != NULL && op->attrs[k].name != NULL; k++) {
    gemel_attr a;
    if (gemel_value_attr(value, op->attrs[k].name, &a) == GEMEL_OK && a.kind != GEMEL_ATTR_NONE) {
      put_attribute(&l, context, op->attrs[k].name, &a);
    }
  }
}
