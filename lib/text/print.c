/* SPDX-License-Identifier: MIT
 *
 * Graphs as text, in one form: first the graphs that are attributes, then the graph itself, a line
 * for each node that an output needs, in the order of ids, each a call with positional inputs and
 * the attributes that differ from their fallbacks. Values are called n0, n1, … in that order (with
 * another prefix if an input has such a name). Nothing depends on how the graph came to be, so what
 * is parsed back prints the same.
 *
 * The text of attributes is remembered by their id, since most nodes share theirs with many.
 */
#include <stdio.h>
#include <string.h>
#include "text/define.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/registry.h"
#include "text/print.h"

enum { REMEMBERED = 1024, LONGEST_NAME = 1024 };

/* The text of attributes ATTRS; 0: none yet. */
typedef struct memory {
  uint32_t attrs;
  gemel__text_memory text;
} memory;

typedef struct graph_printer {
  gemel__writer out;
  gemel__naming naming;
  uint32_t op_input, op_constant;
  const gemel_graph *graph;
  uint32_t *numbers; /* by node: the number of its first value; of an input, its index + INPUT */
  memory *memories;
} graph_printer;

#define INPUT 0x80000000u

/* ---- Names ---- */

static int has_form(const char *name, const char *prefix) {
  size_t n = strlen(prefix);
  return strncmp(name, prefix, n) == 0 && name[n] != 0 &&
         strspn(name + n, "0123456789") == strlen(name + n);
}

/* A prefix of which no input has the form: n, n_, n__, … */
static gemel_status choose_prefix(gemel__naming *naming, gemel_error *error) {
  const gemel_graph *graph = naming->graph;
  strcpy(naming->prefix, "n");
  for (size_t length = 1;; length++) {
    size_t k = 0;
    while (k < graph->n_inputs && !has_form(graph->input_names[k], naming->prefix)) {
      k++;
    }
    if (k == graph->n_inputs) {
      naming->prefix_length = length;
      return GEMEL_OK;
    }
    if (length + 2 > sizeof naming->prefix) {
      return gemel__fail(error, GEMEL_UNSUPPORTED, "no name is free for the graph's values");
    }
    strcat(naming->prefix, "_");
  }
}

static gemel_status number_nodes(graph_printer *p, const unsigned char *live, gemel_error *error) {
  const gemel_graph *graph = p->graph;
  uint64_t next = 0;
  p->numbers = (uint32_t *)gemel__alloc(graph->n_nodes * sizeof *p->numbers);
  if (!p->numbers) {
    return gemel__no_memory(error, "names");
  }
  for (size_t k = 0; k < graph->n_nodes; k++) {
    if (live[k]) {
      p->numbers[k] = (uint32_t)next;
      next += graph->nodes[k].op == p->op_input ? 0 : graph->nodes[k].n_outputs;
    }
  }
  for (size_t k = 0; k < graph->n_inputs; k++) {
    p->numbers[graph->inputs[k].node] = INPUT + (uint32_t)k;
  }
  return next < INPUT ? GEMEL_OK
                      : gemel__fail(error, GEMEL_UNSUPPORTED, "the graph has too many values");
}

static inline void put_ref(graph_printer *p, gemel__ref ref) {
  uint32_t number = p->numbers[ref.node];
  if (number >= INPUT) {
    gemel__put_text(&p->out, p->graph->input_names[number - INPUT]);
    return;
  }
  gemel__put(&p->out, p->naming.prefix, p->naming.prefix_length);
  gemel__put_number(&p->out, (uint64_t)number + ref.output);
}

/* ---- Nodes ---- */

/* The text of attributes, made once while their place is not taken by others. */
static gemel_status remember(graph_printer *p, uint32_t attrs, const memory **text,
                             gemel_error *error) {
  memory *m = &p->memories[attrs % REMEMBERED];
  gemel__writer writer;
  *text = m;
  if (m->attrs == attrs) {
    return GEMEL_OK;
  }
  m->attrs = 0;
  m->text.count = 0;
  gemel_status status = gemel__writer_open(&writer, gemel__memory_write, &m->text, error);
  status = status ? status : gemel__print_attrs(&p->naming, attrs, &writer, error);
  if (gemel__writer_close(&writer, NULL) && !status) {
    status = gemel__no_memory(error, "text");
  }
  if (status) {
    m->text.count = 0;
    return status;
  }
  m->attrs = attrs;
  return GEMEL_OK;
}

static gemel_status put_call(graph_printer *p, const gemel__node *node, gemel_error *error) {
  const gemel_graph *graph = p->graph;
  const gemel__ref *inputs = graph->pool + node->in_begin;
  uint32_t n = node[1].in_begin - node->in_begin;
  const memory *attrs;
  gemel__put_text(&p->out, gemel__op_at(graph->context, node->op)->record.name);
  gemel__put(&p->out, "(", 1);
  for (uint32_t k = 0; k < n; k++) {
    gemel__put(&p->out, ", ", k ? 2 : 0);
    put_ref(p, inputs[k]);
  }
  if (node->attrs) {
    gemel_status status = remember(p, node->attrs, &attrs, error);
    if (status) {
      return status;
    }
    size_t skip = n == 0 && attrs->text.count > 0 ? 2 : 0; /* the comma */
    gemel__put(&p->out, attrs->text.bytes + skip, attrs->text.count - skip);
  }
  gemel__put(&p->out, ")\n", 2);
  return GEMEL_OK;
}

static gemel_status put_node(graph_printer *p, uint32_t id, gemel_error *error) {
  const gemel__node *node = gemel__node_at(p->graph, id);
  gemel__put(&p->out, "  ", 2);
  for (uint32_t k = 0; k < node->n_outputs; k++) {
    gemel__put(&p->out, ", ", k ? 2 : 0);
    put_ref(p, (gemel__ref){id, k});
  }
  gemel__put(&p->out, " = ", 3);
  if (node->op == p->op_constant) {
    gemel__print_tensor(gemel__attrs_at(p->graph->context, node->attrs)->values[0].u.tensor,
                        &p->out);
    gemel__put(&p->out, "\n", 1);
    return GEMEL_OK;
  }
  return put_call(p, node, error);
}

/* ---- Graphs ---- */

static void put_header(graph_printer *p, const char *name) {
  const gemel_graph *graph = p->graph;
  gemel__put_text(&p->out, "graph ");
  gemel__put_text(&p->out, name);
  gemel__put(&p->out, "(", 1);
  for (size_t k = 0; k < graph->n_inputs; k++) {
    gemel__put(&p->out, ", ", k ? 2 : 0);
    gemel__put_text(&p->out, gemel__input_marks(graph, k) & GEMEL__STATE ? "state " : "");
    gemel__put_text(&p->out, graph->input_names[k]);
    gemel__put(&p->out, ": ", 2);
    gemel__print_type(graph->context, gemel__node_type(graph, graph->inputs[k].node, 0), &p->out);
    gemel__print_facts(gemel__input_facts(graph, k), &p->out);
  }
  gemel__put_text(&p->out, ") {\n");
}

/* 1 if the value's own name is NAME. */
static int is_called(const graph_printer *p, gemel__ref ref, const char *name) {
  char own[128];
  uint32_t number = p->numbers[ref.node];
  if (number >= INPUT) {
    return strcmp(p->graph->input_names[number - INPUT], name) == 0;
  }
  snprintf(own, sizeof own, "%s%llu", p->naming.prefix, (unsigned long long)number + ref.output);
  return strcmp(own, name) == 0;
}

/* Updates that stand before all other outputs have lines of their own; returns how many. */
static size_t put_updates(graph_printer *p) {
  const gemel_graph *graph = p->graph;
  size_t k = 0;
  for (; k < graph->n_outputs && gemel__state_called(graph, graph->output_names[k]) >= 0; k++) {
    gemel__put_text(&p->out, "  update ");
    gemel__put_text(&p->out, graph->output_names[k]);
    gemel__put_text(&p->out, " = ");
    put_ref(p, graph->outputs[k]);
    gemel__put(&p->out, "\n", 1);
  }
  return k;
}

static void put_outputs(graph_printer *p) {
  const gemel_graph *graph = p->graph;
  size_t first = put_updates(p);
  for (size_t k = first; k < graph->n_outputs; k++) {
    gemel__put_text(&p->out, k > first ? ", " : "  return ");
    gemel__put_text(&p->out, graph->output_names[k]);
    if (!is_called(p, graph->outputs[k], graph->output_names[k])) {
      gemel__put(&p->out, " = ", 3);
      put_ref(p, graph->outputs[k]);
    }
  }
  gemel__put_text(&p->out, graph->n_outputs > first ? "\n}\n" : "}\n");
}

static gemel_status put_nodes(graph_printer *p, const unsigned char *live, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < p->graph->n_nodes && !status && !p->out.failed; k++) {
    if (live[k] && p->graph->nodes[k].op != p->op_input) {
      status = put_node(p, (uint32_t)k, error);
    }
  }
  return status;
}

static void forget(graph_printer *p) {
  for (size_t k = 0; k < REMEMBERED; k++) {
    p->memories[k].attrs = 0;
    p->memories[k].text.count = 0;
  }
}

static gemel_status put_graph(graph_printer *p, const gemel_graph *graph, const char *name,
                              gemel_error *error) {
  p->graph = p->naming.graph = graph;
  p->numbers = NULL;
  forget(p); /* a symbol may need its $ in one graph and not in another */
  unsigned char *live = gemel__live_nodes(graph, error);
  if (!live) {
    return GEMEL_NO_MEMORY;
  }
  gemel_status status = choose_prefix(&p->naming, error);
  status = status ? status : number_nodes(p, live, error);
  if (!status) {
    put_header(p, name);
    status = put_nodes(p, live, error);
    put_outputs(p);
  }
  gemel__free(p->numbers, graph->n_nodes * sizeof *p->numbers);
  gemel__free(live, graph->n_nodes);
  return status;
}

static void put_definition(void *user, const char *text) {
  graph_printer *p = user;
  gemel__put_text(&p->out, text);
  gemel__put(&p->out, "\n", 1);
}

static gemel_status put_all(graph_printer *p, const gemel_graph *graph, const char *name,
                            gemel_error *error) {
  char body[128];
  gemel_status status = gemel__definitions_of(&graph, 1, put_definition, p, error);
  if (!status && p->naming.bodies->count > 0) {
    status = gemel__definitions_of(p->naming.bodies->graphs, p->naming.bodies->count,
                                   put_definition, p, error);
  }
  strcpy(p->naming.body_prefix, has_form(name, "body") ? "body_" : "body");
  for (size_t k = 0; k < p->naming.bodies->count && !status; k++) {
    snprintf(body, sizeof body, "%s%zu", p->naming.body_prefix, k + 1);
    status = put_graph(p, p->naming.bodies->graphs[k], body, error);
    gemel__put(&p->out, "\n", 1);
  }
  return status ? status : put_graph(p, graph, name, error);
}

gemel_status gemel_print(const gemel_graph *graph, const char *name, gemel_write write, void *user,
                         gemel_error *error) {
  graph_printer p;
  gemel__text_bodies bodies;
  if (!graph || !write) {
    return gemel__null(error, !graph ? "the graph" : "the function that writes");
  }
  name = name ? name : "main";
  if (!gemel__is_name(name)) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "malformed name of a graph: %s", name);
  }
  gemel_status status = gemel__bodies_collect(graph, &bodies, error);
  if (status) {
    return status;
  }
  memset(&p, 0, sizeof p);
  p.naming.bodies = &bodies;
  p.op_input = gemel__op_find(graph->context, "input");
  p.op_constant = gemel__op_find(graph->context, "constant");
  p.memories = (memory *)gemel__alloc_array(REMEMBERED, sizeof *p.memories);
  status =
      p.memories ? gemel__writer_open(&p.out, write, user, error) : gemel__no_memory(error, "text");
  if (!status) {
    status = put_all(&p, graph, name, error);
    gemel_status closed = gemel__writer_close(&p.out, status ? NULL : error);
    status = status ? status : closed;
  }
  for (size_t k = 0; p.memories && k < REMEMBERED; k++) {
    gemel__free(p.memories[k].text.bytes, p.memories[k].text.capacity);
  }
  gemel__free(p.memories, REMEMBERED * sizeof *p.memories);
  gemel__bodies_clear(&bodies);
  return status;
}

char *gemel_print_string(const gemel_graph *graph, const char *name, gemel_error *error) {
  gemel__text_memory all = {NULL, 0, 0};
  gemel_status status = gemel_print(graph, name, gemel__memory_write, &all, error);
  if (status == GEMEL_IO || (!status && gemel__memory_write(&all, "", 1))) {
    status = gemel__no_memory(error, "text");
  }
  char *text = status ? NULL : (char *)gemel__realloc(all.bytes, all.capacity, all.count);
  if (!text) {
    if (!status) {
      gemel__no_memory(error, "text");
    }
    gemel__free(all.bytes, all.capacity);
  } else {
    text[all.count - 1] = 0;
  }
  return text;
}
