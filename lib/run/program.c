/* SPDX-License-Identifier: MIT
 *
 * The program of a function: a compact copy of what the outputs of a graph need. Values, types and
 * operations are numbered anew, in the order of computation (schedule.c), so that what follows are
 * loops over arrays; the graph itself may change or go afterwards. Attributes, types and strings
 * belong to the context, which the program holds a reference to.
 */
#include "run/program.h"

#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/intern.h"
#include "run/schedule.h"

/* What the copy needs for its own time only. */
typedef struct copier {
  const gemel_graph *graph;
  gemel__run_program *p;
  unsigned char *live;
  uint32_t *order;       /* of the live nodes, as they are computed */
  uint32_t *node_of;     /* the place in ORDER of each live node */
  uint32_t *first_value; /* of each live node */
  gemel_type *types;     /* by their new numbers */
  size_t types_capacity;
  gemel__idtable type_numbers; /* new number + 1 of a type: a context may have many more types */
  gemel_type sought;
  uint32_t *op_of; /* new number + 1 of an operation */
  uint32_t n_op_ids;
  uint32_t device_of[256]; /* number + 1 of a memory space's device */
  gemel_error *error;
} copier;

static void copier_clear(copier *c) {
  size_t n = c->graph->n_nodes;
  gemel__free(c->live, n);
  gemel__free(c->order, n * sizeof *c->order);
  gemel__free(c->node_of, n * sizeof *c->node_of);
  gemel__free(c->first_value, n * sizeof *c->first_value);
  gemel__free(c->types, c->types_capacity * sizeof *c->types);
  gemel__idtable_clear(&c->type_numbers);
  gemel__free(c->op_of, c->n_op_ids * sizeof *c->op_of);
}

static gemel_status copier_start(copier *c) {
  size_t n = c->graph->n_nodes;
  c->n_op_ids = gemel__stable_count(&c->p->context->ops);
  c->live = gemel__alloc_array(n, 1);
  c->order = gemel__alloc_array(n, sizeof *c->order);
  c->node_of = gemel__alloc_array(n, sizeof *c->node_of);
  c->first_value = gemel__alloc_array(n, sizeof *c->first_value);
  c->op_of = gemel__alloc_array(c->n_op_ids, sizeof *c->op_of);
  if (c->live == NULL || c->order == NULL || c->node_of == NULL || c->first_value == NULL ||
      c->op_of == NULL) {
    return gemel__no_memory(c->error, "a function");
  }
  gemel__graph_live(c->graph, c->live);
  return GEMEL_OK;
}

/* ---- Counting and numbering ---- */

static gemel_status number_op(copier *c, uint32_t node) {
  const gemel__op *op = gemel__node_op(c->graph, node);
  const gemel_operation *r = &op->record;
  if (c->op_of[op->id] != 0) {
    return GEMEL_OK;
  }
  if ((r->kernels == NULL || r->kernels[0].name == NULL) && r->view == NULL &&
      !(r->flags & GEMEL_OP_SOURCE) && gemel__scalar_row_of(r) == NULL) {
    return gemel__fail(c->error, GEMEL_UNSUPPORTED, "operation %s has no kernel", r->name);
  }
  c->op_of[op->id] = ++c->p->n_ops;
  return GEMEL_OK;
}

/* Gives the device of memory space SPACE a number in the program. */
static gemel_status number_device(copier *c, uint32_t node, int space) {
  gemel__run_program *p = c->p;
  const gemel_device *device = gemel_device_of_space(p->context, space);
  if (device == NULL) {
    gemel__fail(c->error, GEMEL_UNSUPPORTED,
                "a result of %s lies in memory space %d, which has no device",
                gemel__node_op(c->graph, node)->record.name, space);
    gemel__error_place(c->error, gemel__node_where(c->graph, node));
    return GEMEL_UNSUPPORTED;
  }
  if (c->device_of[space] == 0) {
    p->devices[p->n_devices] = device;
    c->device_of[space] = ++p->n_devices;
  }
  return GEMEL_OK;
}

static int is_sought(const void *user, uint32_t id) {
  const copier *c = user;
  return gemel_type_equal(c->types[id - 1], c->sought);
}

static uint64_t number_hash(const void *user, uint32_t id) {
  return gemel__mix(((const copier *)user)->types[id - 1].id);
}

/* The new number + 1 of TYPE; 0: it has none. */
static uint32_t number_of(copier *c, gemel_type type) {
  c->sought = type;
  return gemel__idtable_find(&c->type_numbers, gemel__mix(type.id), is_sought, c);
}

static gemel_status number_type(copier *c, gemel_type type) {
  uint32_t n = c->p->n_types;
  if (number_of(c, type) != 0) {
    return GEMEL_OK;
  }
  if (gemel__grow(&c->types, &c->types_capacity, n + 1u, sizeof *c->types) != 0) {
    return gemel__no_memory(c->error, "a function");
  }
  c->types[n] = type;
  if (gemel__idtable_add(&c->type_numbers, gemel__mix(type.id), n + 1, number_hash, c) != 0) {
    return gemel__no_memory(c->error, "a function");
  }
  c->p->n_types++;
  return GEMEL_OK;
}

/* Numbers the types of NODE's outputs, and the devices that they name. */
static gemel_status number_types(copier *c, uint32_t node) {
  const gemel__node *n = gemel__node_at(c->graph, node);
  for (uint32_t k = 0; k < n->n_outputs; k++) {
    gemel_type type = gemel__node_type(c->graph, node, k);
    GEMEL__TRY(number_device(c, node, gemel_type_space(c->p->context, type)));
    GEMEL__TRY(number_type(c, type));
  }
  return GEMEL_OK;
}

/* Counts what is live, and numbers the types and operations of it. */
static gemel_status number(copier *c) {
  gemel__run_program *p = c->p;
  uint32_t node, count;
  for (node = 0; node < c->graph->n_nodes; node++) {
    if (c->live[node]) {
      GEMEL__TRY(number_op(c, node));
      GEMEL__TRY(number_types(c, node));
      (void)gemel__node_inputs(c->graph, node, &count);
      p->n_nodes++;
      p->n_pool += count;
    }
  }
  for (uint32_t k = 0; k < p->n_nodes; k++) {
    c->node_of[c->order[k]] = k;
    c->first_value[c->order[k]] = p->n_values;
    p->n_values += gemel__node_at(c->graph, c->order[k])->n_outputs;
  }
  p->n_inputs = (uint32_t)c->graph->n_inputs;
  p->n_outputs = (uint32_t)c->graph->n_outputs;
  p->n_files = (uint32_t)c->graph->n_files;
  return GEMEL_OK;
}

/* ---- Copying ---- */

static gemel_status allocate(copier *c) {
  gemel__run_program *p = c->p;
  p->nodes = gemel__alloc_array(p->n_nodes + 1u, sizeof *p->nodes);
  p->pool = gemel__alloc_array(p->n_pool, sizeof *p->pool);
  p->value_types = gemel__alloc_array(p->n_values, sizeof *p->value_types);
  p->uses = gemel__alloc_array(p->n_values, sizeof *p->uses);
  p->read_here = gemel__alloc_array(p->n_values, sizeof *p->read_here);
  p->types = gemel__alloc_array(p->n_types, sizeof *p->types);
  p->ops = gemel__alloc_array(p->n_ops, sizeof *p->ops);
  p->files = gemel__alloc_array(p->n_files, sizeof *p->files);
  p->inputs = gemel__alloc_array(p->n_inputs, sizeof *p->inputs);
  p->outputs = gemel__alloc_array(p->n_outputs, sizeof *p->outputs);
  p->direct = gemel__alloc_array(p->n_outputs, sizeof *p->direct);
  p->original = gemel__alloc_array(p->n_nodes, sizeof *p->original);
  if (p->nodes == NULL || p->pool == NULL || p->value_types == NULL || p->uses == NULL ||
      p->read_here == NULL || p->types == NULL || p->ops == NULL || p->files == NULL ||
      p->inputs == NULL || p->outputs == NULL || p->direct == NULL || p->original == NULL) {
    return gemel__no_memory(c->error, "a function");
  }
  return GEMEL_OK;
}

static void copy_type(copier *c, uint32_t number) {
  gemel_context *context = c->p->context;
  gemel__ptype *t = &c->p->types[number];
  gemel_type type = c->types[number];
  const gemel_dim *dims = gemel_type_dims(context, type);
  int rank = gemel_type_rank(context, type), k;
  int64_t size;
  t->type = type;
  t->device = (uint8_t)(c->device_of[gemel_type_space(context, type)] - 1);
  t->constant = 1;
  t->has_runtime = gemel__type_at(context, type)->has_runtime;
  for (k = 0; k < rank; k++) {
    t->constant = (uint8_t)(t->constant && gemel_dim_is_constant(context, dims[k], &size));
  }
}

static void copy_op(copier *c, uint32_t node) {
  const gemel__op *op = gemel__node_op(c->graph, node);
  gemel__pop *to = &c->p->ops[c->op_of[op->id] - 1];
  to->op = op;
  to->row = gemel__scalar_row_of(&op->record);
  to->kind = to->row != NULL                ? GEMEL__P_SCALAR
             : op->id == GEMEL__OP_input    ? GEMEL__P_INPUT
             : op->id == GEMEL__OP_constant ? GEMEL__P_CONSTANT
             : op->id == GEMEL__OP_transfer ? GEMEL__P_TRANSFER
                                            : GEMEL__P_KERNEL;
}

static void copy_node(copier *c, uint32_t node, uint32_t to, uint32_t *pool_used) {
  const gemel__node *n = gemel__node_at(c->graph, node);
  gemel__run_program *p = c->p;
  gemel__pnode *made = &p->nodes[to];
  uint32_t count, k;
  const gemel__ref *in = gemel__node_inputs(c->graph, node, &count);
  copy_op(c, node);
  made->op = (uint16_t)(c->op_of[gemel__node_op(c->graph, node)->id] - 1);
  made->n_outputs = n->n_outputs;
  made->attrs = n->attrs;
  made->in_begin = *pool_used;
  made->value = c->first_value[node];
  made->line = n->line;
  made->file = n->file;
  for (k = 0; k < count; k++) {
    uint32_t value = c->first_value[in[k].node] + in[k].output;
    p->pool[(*pool_used)++] = value;
    p->uses[value]++;
    p->read_here[value] |= p->ops[made->op].kind != GEMEL__P_TRANSFER;
  }
  for (k = 0; k < n->n_outputs; k++) {
    p->value_types[made->value + k] = number_of(c, gemel__node_type(c->graph, node, k)) - 1;
  }
}

static int by_value(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void copy_ports(copier *c) {
  gemel__run_program *p = c->p;
  uint32_t k;
  for (k = 0; k < p->n_inputs; k++) {
    gemel__ref ref = c->graph->inputs[k];
    p->inputs[k].name = c->graph->input_names[k];
    p->inputs[k].value = c->first_value[ref.node] + ref.output;
    p->inputs[k].device = p->devices[gemel__value_device(p, p->inputs[k].value)];
    p->inputs[k].pair = GEMEL__NO_VALUE;
    p->nodes[gemel__node_of(p, ref.node)].attrs = k;
  }
  for (k = 0; k < p->n_outputs; k++) {
    gemel__ref ref = c->graph->outputs[k];
    long state = gemel__state_called(c->graph, c->graph->output_names[k]);
    p->outputs[k].pair = state < 0 ? GEMEL__NO_VALUE : (uint32_t)state;
    if (state >= 0) {
      p->inputs[state].pair = k;
    }
    p->outputs[k].name = c->graph->output_names[k];
    p->outputs[k].value = c->first_value[ref.node] + ref.output;
    p->outputs[k].device = p->devices[gemel__value_device(p, p->outputs[k].value)];
    p->uses[p->outputs[k].value]++;
    p->read_here[p->outputs[k].value] = 1;
    p->direct[k] = (uint64_t)p->outputs[k].value << 32 | k;
  }
  qsort(p->direct, p->n_outputs, sizeof *p->direct, by_value);
}

static void copy(copier *c) {
  gemel__run_program *p = c->p;
  uint32_t to, pool_used = 0, k;
  for (k = 0; k < p->n_types; k++) {
    copy_type(c, k);
  }
  for (to = 0; to < p->n_nodes; to++) {
    copy_node(c, c->order[to], to, &pool_used);
  }
  for (uint32_t node = 0, at = 0; node < c->graph->n_nodes; node++) {
    if (c->live[node]) {
      p->original[at++] = (uint64_t)node << 32 | c->node_of[node];
    }
  }
  p->nodes[to].in_begin = pool_used;
  p->nodes[to].value = p->n_values;
  for (k = 0; k < p->n_files; k++) {
    p->files[k] = c->graph->files[k];
  }
  copy_ports(c);
}

gemel_status gemel__run_program_make(gemel__run_program *program, const gemel_graph *graph,
                                     gemel_error *error) {
  copier c = {0};
  gemel_status status;
  memset(program, 0, sizeof *program);
  program->context = gemel_context_ref(graph->context);
  c.graph = graph;
  c.p = program;
  c.error = error;
  program->devices[0] = &gemel__host_device;
  program->n_devices = c.device_of[GEMEL_SPACE_HOST] = 1;
  status = copier_start(&c);
  if (status == GEMEL_OK) {
    status = gemel__schedule(graph, c.live, c.order, NULL, error);
  }
  if (status == GEMEL_OK) {
    status = number(&c);
  }
  if (status == GEMEL_OK) {
    status = allocate(&c);
  }
  if (status == GEMEL_OK) {
    copy(&c);
  }
  copier_clear(&c);
  if (status != GEMEL_OK) {
    gemel__run_program_release(program);
  }
  return status;
}

void gemel__run_program_release(gemel__run_program *p) {
  gemel__free(p->nodes, (p->n_nodes + 1u) * sizeof *p->nodes);
  gemel__free(p->pool, p->n_pool * sizeof *p->pool);
  gemel__free(p->value_types, p->n_values * sizeof *p->value_types);
  gemel__free(p->uses, p->n_values * sizeof *p->uses);
  gemel__free(p->read_here, p->n_values * sizeof *p->read_here);
  gemel__free(p->types, p->n_types * sizeof *p->types);
  gemel__free(p->ops, p->n_ops * sizeof *p->ops);
  gemel__free(p->files, p->n_files * sizeof *p->files);
  gemel__free(p->inputs, p->n_inputs * sizeof *p->inputs);
  gemel__free(p->outputs, p->n_outputs * sizeof *p->outputs);
  gemel__free(p->direct, p->n_outputs * sizeof *p->direct);
  gemel__free(p->original, p->n_nodes * sizeof *p->original);
  gemel_context_unref(p->context);
  memset(p, 0, sizeof *p);
}

uint32_t gemel__node_of(const gemel__run_program *p, uint32_t original) {
  uint32_t low = 0, high = p->n_nodes;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (p->original[middle] >> 32 < original) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < p->n_nodes && p->original[low] >> 32 == original ? (uint32_t)p->original[low]
                                                                : p->n_nodes;
}

uint32_t gemel__run_program_output(const gemel__run_program *p, uint32_t value) {
  uint32_t low = 0, high = p->n_outputs;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (p->direct[middle] >> 32 < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < p->n_outputs && p->direct[low] >> 32 == value ? (uint32_t)p->direct[low]
                                                             : p->n_outputs;
}

void gemel__blame(const gemel__run_program *p, uint32_t node, gemel_error *error) {
  const gemel__pnode *n = &p->nodes[node];
  uint32_t count, k;
  const uint32_t *in = gemel__pnode_inputs(p, node, &count);
  gemel_type types[8] = {0};
  char text[300];
  for (k = 0; k < count && k < 8; k++) {
    types[k] = gemel__value_type(p, in[k]);
  }
  gemel__format_types(p->context, k, types, text, sizeof text);
  gemel__error_prefix(error, "%s(%s%s)", p->ops[n->op].op->record.name, text,
                      count > 8 ? ", ..." : "");
  if (p->files[n->file][0] != '\0') {
    gemel__error_prefix(error, "%s:%u", p->files[n->file], n->line);
  }
}
