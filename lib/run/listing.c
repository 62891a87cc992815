/* SPDX-License-Identifier: MIT
 *
 * A plan as text. Instructions know where their operands are as pointers; a pointer that a patch
 * sets at each call belongs to an input or output, any other points into the arena. Values at one
 * address one after another share a place, so a map from addresses to the value stored there last
 * says whose place a result takes.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/intern.h"
#include "run/instr.h"
#include "text/print.h"

enum { LINE = 1024 };

#define INDENT "         "

typedef struct plan_lister {
  const gemel__run_program *p;
  const gemel__plan *plan;
  const gemel__segment *segment;
  gemel__writer *out;
  int depth;               /* in bodies */
  int in_line;             /* a line has begun */
  gemel__map patches;      /* number + 1 of the patch that sets the pointer at an address */
  gemel__map held;         /* number + 1 of the value stored last at an address */
  unsigned char *computed; /* of each node: an instruction computes it */
  size_t number;           /* of the next instruction */
  int plain;               /* the last kernel was chosen, others were not asked */
  int failed;              /* memory was out */
} plan_lister;

static void say(plan_lister *l, const char *format, ...) GEMEL__PRINTF(2, 3);

/* Lines of a body stand further right. */
static void say(plan_lister *l, const char *format, ...) {
  char text[LINE];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  for (const char *at = text, *end; *at != '\0'; at = end) {
    end = at + strcspn(at, "\n");
    end += *end == '\n';
    for (int k = 0; k < l->depth && !l->in_line; k++) {
      gemel__put_text(l->out, INDENT);
    }
    gemel__put(l->out, at, (size_t)(end - at));
    l->in_line = end[-1] != '\n';
  }
}

/* ---- Nodes ---- */

/* "add(%0, %3)" */
static void format_application(const plan_lister *l, uint32_t node, char *text, size_t bytes) {
  uint32_t count, k;
  const uint32_t *in = gemel__pnode_inputs(l->p, node, &count);
  size_t used =
      (size_t)snprintf(text, bytes, "%s(", l->p->ops[l->p->nodes[node].op].op->record.name);
  for (k = 0; k < count && used + 32 < bytes; k++) {
    used += (size_t)snprintf(text + used, bytes - used, "%s%%%u", k > 0 ? ", " : "", in[k]);
  }
  snprintf(text + used, bytes - used, k < count ? ", ...)" : ")");
}

static void format_type(const plan_lister *l, uint32_t value, char *text, size_t bytes) {
  gemel_type type = gemel__value_type(l->p, value);
  gemel__format_types(l->p->context, 1, &type, text, bytes);
}

/* The end of a line: the place in the user's program, if that is known. */
static void end_line(plan_lister *l, uint32_t node) {
  gemel_location where = gemel__pnode_where(l->p, node);
  if (where.file[0] != '\0') {
    say(l, "  # %.500s:%d", where.file, where.line);
  }
  say(l, "\n");
}

/* ---- Places ---- */

static const gemel__patch *patch_of(const plan_lister *l, const void *where) {
  uint32_t found = gemel__map_find(&l->patches, (uint64_t)(uintptr_t)where);
  return found > 0 ? &l->segment->patches[found - 1] : NULL;
}

static const gemel__device_block *block_of(const plan_lister *l, const char *data) {
  for (size_t k = l->segment->n_blocks; k > 0; k--) {
    const gemel__device_block *b = &l->segment->blocks[k - 1];
    if ((uintptr_t)data - (uintptr_t)b->data < b->bytes) {
      return b;
    }
  }
  return NULL;
}

static void say_place(plan_lister *l, const void *where, const char *data) {
  const gemel__patch *patch = patch_of(l, where);
  const gemel__device_block *block = patch == NULL ? block_of(l, data) : NULL;
  const char *device = block != NULL ? block->device->name : "";
  if (patch != NULL) {
    uint32_t output = patch->port - l->p->n_inputs;
    say(l, " -> output %.500s", l->p->outputs[output].name);
    if (l->plan->in_place[output]) {
      say(l, ", in place of %%%u", l->p->inputs[l->p->outputs[output].pair].value);
    }
  } else if (block != NULL) {
    say(l, " -> %s %s + %zu", device, block->kind == GEMEL__BLOCK_STAGING ? "staging" : "arena",
        (size_t)(data - (const char *)block->data));
  }
}

/* Where the values lie that INSTR reads and writes. What a loop points to is patched at a call. */
static const char *operand_data(const gemel__instr *instr, uint32_t k) {
  return instr->kind == GEMEL__INSTR_LOOP ? instr->loop->loop.loads[k].data
                                          : instr->kernel->call.inputs[k].data;
}

static const char *const *result_data(const gemel__instr *instr, uint32_t k) {
  return instr->kind == GEMEL__INSTR_LOOP
             ? (const char *const *)&instr->loop->loop.stores[k].data
             : (const char *const *)&instr->kernel->call.outputs[k].data;
}

/* Who had the place of VALUE before: one of the operands (N of them, OPERANDS at DATA) of the same
 * instruction, or a value that nobody reads any more. */
static void say_former(plan_lister *l, const char *data, const gemel__instr *instr, uint32_t n,
                       const uint32_t *operands) {
  uint32_t former = gemel__map_find(&l->held, (uint64_t)(uintptr_t)data);
  for (uint32_t k = 0; k < n; k++) {
    if (operand_data(instr, k) == data) {
      say(l, ", in place of %%%u", operands[k]);
      return;
    }
  }
  if (former > 0) {
    say(l, ", where %%%u was", former - 1);
  }
}

/* Where VALUE, the K-th result of INSTR, lies, and which of INSTR's N OPERANDS lay there. */
static void say_stored(plan_lister *l, const gemel__instr *instr, uint32_t k, uint32_t value,
                       uint32_t n, const uint32_t *operands) {
  const char *const *where = result_data(instr, k);
  say_place(l, where, *where);
  if (patch_of(l, where) == NULL) {
    say_former(l, *where, instr, n, operands);
    l->failed |= gemel__map_put(&l->held, (uint64_t)(uintptr_t)*where, value + 1) != 0;
  }
}

/* ---- Instructions ---- */

static void list_execution(plan_lister *outer, const gemel__execution *e);

/* How the body of an instruction was called last. */
static void list_body(plan_lister *l, gemel_function *body) {
  gemel__execution *e = gemel__execution_take(body, NULL);
  if (e == NULL) {
    l->failed = 1;
    return;
  }
  say(l, "       whose body is%s\n", e->plans != NULL ? "" : " not called yet");
  if (e->plans != NULL) {
    list_execution(l, e);
  }
  gemel__execution_give(body, e, 0);
}

static void say_kernel(plan_lister *l, const gemel__instr *instr) {
  const gemel__invocation *inv = instr->kernel;
  const gemel_kernel *k = inv->candidates;
  say(l, "%4zu kernel %s", l->number, gemel__instr_kernel_name(instr));
  int declined = !l->plain && !inv->call.timed && k != NULL;
  for (const char *sep = "; declined: "; declined && k < inv->chosen; k++) {
    say(l, "%s%s", sep, k->name);
    sep = ", ";
  }
  if (inv->call.timed) {
    say(l, "; chosen by timing");
  }
  if (inv->call.scratch_bytes > 0) {
    say(l, "; %zu bytes of scratch", inv->call.scratch_bytes);
  }
  say(l, "\n");
}

static void list_kernel(plan_lister *l, const gemel__instr *instr) {
  const gemel__invocation *inv = instr->kernel;
  const gemel__pnode *n = &l->p->nodes[instr->node];
  char text[300], shape[300];
  uint32_t count;
  const uint32_t *in = gemel__pnode_inputs(l->p, instr->node, &count);
  say_kernel(l, instr);
  format_application(l, instr->node, text, sizeof text);
  for (uint32_t k = 0; k < n->n_outputs; k++) {
    const gemel_view *v = &inv->call.outputs[k];
    say(l, "       %%%u = %s%s: %s%s%s", n->value + k, k == 0 ? text : "output ",
        k == 0 ? "" : "of the same", gemel_dtype_name(v->dtype),
        gemel__format_shape(v->rank, v->shape, shape, sizeof shape),
        gemel__is_channels_last(gemel_dtype_size(v->dtype), v->rank, v->shape, v->strides)
            ? " channels last"
            : "");
    if (inv->call.unread != NULL && inv->call.unread[k]) {
      say(l, ", which nobody reads and has no memory");
    } else {
      say_stored(l, instr, k, n->value + k, count, in);
    }
    if (inv->nested.bias != NULL) {
      say(l, ", with %%%u added", inv->added);
    }
    end_line(l, instr->node);
  }
  if (inv->nested.body != NULL) {
    list_body(l, inv->nested.body);
  }
}

/* The members of a cluster, and where those lie that it stores. */
static void list_members(plan_lister *l, const gemel__instr *instr,
                         const gemel__cluster_record *cluster) {
  char text[300], shape[300];
  uint32_t store = 0;
  gemel__format_shape(cluster->shape->rank, cluster->shape->shape, shape, sizeof shape);
  for (uint32_t k = 0; k < cluster->n_members; k++) {
    uint32_t node = cluster->members[k], value = l->p->nodes[node].value;
    format_application(l, node, text, sizeof text);
    say(l, "       %%%u = %s", value, text);
    if (store < cluster->n_stores && cluster->stores[store] == value) {
      say(l, ": %s%s",
          gemel_dtype_name(gemel_type_dtype(l->p->context, gemel__value_type(l->p, value))), shape);
      say_stored(l, instr, store++, value, cluster->n_loads, cluster->loads);
    }
    end_line(l, node);
  }
}

static void list_loop(plan_lister *l, const gemel__instr *instr) {
  const gemel__fused *fused = instr->loop;
  const gemel__plan_layout *s = fused->cluster.shape;
  char shape[300];
  gemel__format_shape(s->rank, s->shape, shape, sizeof shape);
  say(l, "%4zu loop of %u over %s%s, %d thread%s\n", l->number, fused->cluster.n_members, shape,
      s->channels_last ? " channels last" : "", fused->loop.threads,
      fused->loop.threads == 1 ? "" : "s");
  list_members(l, instr, &fused->cluster);
}

static void list_move(plan_lister *l, const gemel__instr *instr) {
  const gemel__move *move = instr->move;
  double flops, bytes;
  gemel__instr_cost(instr, &flops, &bytes);
  say(l, "%4zu %s of %.0f bytes", l->number, gemel__instr_kind_name(instr->kind), bytes / 2);
  if (instr->kind == GEMEL__INSTR_RESULT) {
    const gemel__port *port = &l->p->outputs[move->output];
    say(l, "\n       %%%u -> output %.500s\n", port->value, port->name);
    return;
  }
  say(l, "\n       for %%%u", l->p->nodes[instr->node].value);
  say_place(l, &move->to, move->to);
  end_line(l, instr->node);
}

static void list_instruction(plan_lister *l, const gemel__instr *instr) {
  switch (instr->kind) {
  case GEMEL__INSTR_LOOP:
    list_loop(l, instr);
    break;
  case GEMEL__INSTR_CLUSTER:
    say_kernel(l, instr);
    list_members(l, instr, instr->kernel->cluster);
    break;
  case GEMEL__INSTR_KERNEL:
  case GEMEL__INSTR_DYNAMIC:
    list_kernel(l, instr);
    break;
  default:
    list_move(l, instr);
  }
  l->number++;
}

/* ---- Values without work ---- */

static void mark_computed(plan_lister *l, const gemel__segment *s) {
  for (size_t k = 0; k < s->n_instrs; k++) {
    uint32_t count, j;
    const uint32_t *nodes = gemel__instr_nodes(l->p, &s->instrs[k], &count);
    for (j = 0; j < count && gemel__instr_computes(s->instrs[k].kind); j++) {
      l->computed[nodes[j]] = 1;
    }
  }
}

static void list_ports(plan_lister *l) {
  char type[300];
  say(l, "inputs:\n");
  for (uint32_t k = 0; k < l->p->n_inputs; k++) {
    format_type(l, l->p->inputs[k].value, type, sizeof type);
    say(l, "       %%%u = %.500s: %s\n", l->p->inputs[k].value, l->p->inputs[k].name, type);
  }
}

static void say_idle(plan_lister *l, uint32_t node) {
  char text[300], type[300];
  const gemel_attr *attrs = gemel__attrs_at(l->p->context, l->p->nodes[node].attrs)->values;
  if (l->p->ops[l->p->nodes[node].op].kind == GEMEL__P_CONSTANT && attrs[0].u.tensor->rank == 0) {
    gemel__print_tensor(attrs[0].u.tensor, l->out);
    return;
  }
  format_application(l, node, text, sizeof text);
  format_type(l, l->p->nodes[node].value, type, sizeof type);
  say(l, "%s: %s", text, type);
}

/* Constants, views, and what has no elements. */
static void list_idle(plan_lister *l, uint32_t end) {
  say(l, "constants and views, which need no work:\n");
  for (uint32_t node = 0; node < end; node++) {
    if (!l->computed[node] && l->p->ops[l->p->nodes[node].op].kind != GEMEL__P_INPUT) {
      say(l, "       %%%u = ", l->p->nodes[node].value);
      say_idle(l, node);
      end_line(l, node);
    }
  }
}

/* ---- The plan ---- */

static void list_segment(plan_lister *l, const gemel__segment *s) {
  gemel__map_clear(&l->patches);
  gemel__map_clear(&l->held);
  l->segment = s;
  for (size_t k = 0; k < s->n_patches; k++) {
    l->failed |=
        gemel__map_put(&l->patches, (uint64_t)(uintptr_t)s->patches[k].where, (uint32_t)k + 1) != 0;
  }
  if (s->parent != NULL) {
    say(l,
        "planned for %%%u being %lld, %zu bytes of intermediate results (%zu if none shared a "
        "place):\n",
        s->parent->wanted, (long long)s->size, s->block_bytes, s->unshared_bytes);
  } else {
    say(l, "instructions, %zu bytes of intermediate results (%zu if none shared a place):\n",
        s->block_bytes, s->unshared_bytes);
  }
  for (size_t k = 0; k < s->n_instrs && !l->failed; k++) {
    if (gemel__instr_computes(s->instrs[k].kind)) {
      list_instruction(l, &s->instrs[k]);
    }
  }
}

/* The segments that the plan's last call ran stand in front among their siblings. */
static void list_plan(plan_lister *l, const gemel__plan *plan) {
  const gemel__segment *s, *last = plan->root;
  for (s = plan->root; s != NULL; s = s->wanted != GEMEL__NO_VALUE ? s->children : NULL) {
    mark_computed(l, s);
    last = s;
  }
  list_ports(l);
  list_idle(l, last->end);
  for (s = plan->root; s != NULL; s = s->wanted != GEMEL__NO_VALUE ? s->children : NULL) {
    list_segment(l, s);
  }
}

/* Lists the plan of E, one level deeper than OUTER. */
static void list_execution(plan_lister *outer, const gemel__execution *e) {
  plan_lister l = {.p = &e->f->program,
                   .plan = e->plans,
                   .out = outer->out,
                   .depth = outer->depth + 1,
                   .plain = e->f->plain};
  l.computed = gemel__alloc_array(l.p->n_nodes, 1);
  l.failed = l.computed == NULL;
  if (!l.failed) {
    list_plan(&l, e->plans);
  }
  gemel__map_clear(&l.patches);
  gemel__map_clear(&l.held);
  gemel__free(l.computed, l.p->n_nodes);
  outer->failed |= l.failed;
}

/* Lists the plan of E into WRITE. */
static gemel_status write_listing(const gemel__execution *e, gemel_write write, void *user,
                                  gemel_error *error) {
  gemel__writer out;
  plan_lister outermost = {.out = &out, .depth = -1};
  gemel_status status = gemel__writer_open(&out, write, user, error);
  if (status == GEMEL_OK) {
    list_execution(&outermost, e);
  }
  gemel_status closed = gemel__writer_close(&out, error);
  return outermost.failed     ? gemel__no_memory(error, "a listing")
         : status != GEMEL_OK ? status
                              : closed;
}

gemel_status gemel_function_print(const gemel_function *function, gemel_write write, void *user,
                                  gemel_error *error) {
  gemel_function *f = (gemel_function *)function;
  if (f == NULL || write == NULL) {
    return gemel__null(error, f == NULL ? "the function" : "the sink");
  }
  gemel__execution *e = gemel__execution_take(f, error);
  if (e == NULL) {
    return GEMEL_NO_MEMORY;
  }
  if (e->plans == NULL) {
    gemel__execution_free(e);
    return gemel__fail(error, GEMEL_NOT_FOUND, "no call of the function has ended yet");
  }
  gemel_status status = write_listing(e, write, user, error);
  gemel__execution_give(f, e, 0);
  return status;
}
