/* SPDX-License-Identifier: MIT
 *
 * What an instruction is, in words and numbers.
 */
#include "run/instr.h"

#include <stdio.h>
#include <string.h>

const char *gemel__instr_kind_name(gemel__instr_kind kind) {
  static const char *const names[] = {
      [GEMEL__INSTR_LOOP] = "loop",         [GEMEL__INSTR_KERNEL] = "kernel",
      [GEMEL__INSTR_DYNAMIC] = "kernel",    [GEMEL__INSTR_CLUSTER] = "cluster",
      [GEMEL__INSTR_COPY] = "copy",         [GEMEL__INSTR_UPLOAD] = "upload",
      [GEMEL__INSTR_DOWNLOAD] = "download", [GEMEL__INSTR_FETCH] = "fetch",
      [GEMEL__INSTR_RESULT] = "result",     [GEMEL__INSTR_POISON] = "poison",
      [GEMEL__INSTR_NOTE] = "note"};
  return names[kind];
}

const gemel__cluster_record *gemel__instr_cluster_of(const gemel__instr *instr) {
  return instr->kind == GEMEL__INSTR_LOOP ? &instr->loop->cluster
         : gemel__instr_is_kernel(instr)  ? instr->kernel->cluster
                                          : NULL;
}

const uint32_t *gemel__instr_nodes(const gemel__run_program *p, const gemel__instr *instr,
                                   uint32_t *count) {
  const gemel__cluster_record *cluster = gemel__instr_cluster_of(instr);
  if (cluster != NULL) {
    *count = cluster->n_members;
    return cluster->members;
  }
  *count = instr->node < p->n_nodes;
  return &instr->node;
}

const char *gemel__instr_kernel_name(const gemel__instr *instr) {
  return gemel__instr_is_kernel(instr) && instr->kernel->chosen != NULL
             ? instr->kernel->chosen->name
             : "";
}

static const gemel__op *op_of(const gemel__run_program *p, uint32_t node) {
  return p->ops[p->nodes[node].op].op;
}

void gemel__instr_operation(const gemel__run_program *p, const gemel__instr *instr, char *text,
                            size_t bytes) {
  size_t used = 0;
  uint32_t count, k;
  const uint32_t *nodes = gemel__instr_nodes(p, instr, &count);
  if (gemel__instr_moves(instr)) {
    snprintf(text, bytes, "%s", gemel__instr_kind_name(instr->kind));
    return;
  }
  for (k = 0; k < count; k++) {
    const char *name = op_of(p, nodes[k])->record.name;
    if (used + strlen(name) + sizeof "+..." >= bytes) {
      snprintf(text + used, bytes - used, "...");
      return;
    }
    used += (size_t)snprintf(text + used, bytes - used, "%s%s", k > 0 ? "+" : "", name);
  }
}

const char *gemel__instr_class(const gemel__run_program *p, const gemel__instr *instr) {
  static const char *const names[] = {
#define FAMILY_NAME(name) #name,
      GEMEL__FAMILY_TABLE(FAMILY_NAME)
#undef FAMILY_NAME
  };
  if (gemel__instr_moves(instr)) {
    return "copy";
  }
  const struct gemel__row *row = op_of(p, instr->node)->row;
  return row != NULL ? names[row->family] : "other";
}

/* ---- Work ---- */

/* Elements that LOAD reads, each counted once however often it is broadcast. */
static double elements_read(const gemel__loop *loop, const gemel__load *load) {
  double count = 1;
  if (load->strides == NULL) {
    return load->kind == GEMEL__LOAD_FIXED ? 1 : (double)loop->elements;
  }
  for (int axis = 0; axis < loop->rank; axis++) {
    count *= load->strides[axis] != 0 ? (double)loop->sizes[axis] : 1;
  }
  return count;
}

static void loop_cost(const gemel__fused *fused, double *flops, double *bytes) {
  const gemel__loop *loop = &fused->loop;
  *flops = (double)fused->cluster.n_members * (double)loop->elements;
  *bytes = 0;
  for (uint32_t k = 0; k < loop->n_loads; k++) {
    *bytes += elements_read(loop, &loop->loads[k]) * loop->loads[k].element_bytes;
  }
  for (uint32_t k = 0; k < loop->n_stores; k++) {
    *bytes += (double)loop->elements * loop->stores[k].element_bytes;
  }
}

static double view_elements(const gemel_view *view) {
  double count = 1;
  for (int axis = 0; axis < view->rank; axis++) {
    count *= (double)view->shape[axis];
  }
  return count;
}

static void kernel_cost(const gemel_kernel_call *call, double *flops, double *bytes) {
  *flops = *bytes = 0;
  if (call->operation != NULL && call->operation->cost != NULL) {
    call->operation->cost(call, flops, bytes);
    return;
  }
  for (size_t k = 0; k < call->n_inputs; k++) {
    *bytes += view_elements(&call->inputs[k]) * (double)gemel_dtype_size(call->inputs[k].dtype);
  }
  for (size_t k = 0; k < call->n_outputs; k++) {
    if (call->unread != NULL && call->unread[k]) {
      continue;
    }
    double elements = view_elements(&call->outputs[k]);
    *flops += call->n_steps == 0 ? elements : 0;
    *bytes += elements * (double)gemel_dtype_size(call->outputs[k].dtype);
  }
  if (call->n_steps > 0) { /* inputs have the shape of what isn't BY_ROW */
    const gemel_view *view = call->n_inputs > 0 ? &call->inputs[0] : &call->outputs[0];
    *flops += (double)call->n_steps * view_elements(view);
  }
}

void gemel__instr_cost(const gemel__instr *instr, double *flops, double *bytes) {
  *flops = *bytes = 0;
  if (instr->kind == GEMEL__INSTR_LOOP) {
    loop_cost(instr->loop, flops, bytes);
  } else if (gemel__instr_moves(instr)) {
    const gemel__move *move = instr->move;
    *bytes = move->layout != NULL ? 2 * (double)move->layout->bytes
                                  : (double)move->bytes * (move->from != NULL ? 2 : 1);
  } else if (!instr->kernel->nested.calls) {
    kernel_cost(&instr->kernel->call, flops, bytes);
  }
}

gemel_location gemel__pnode_where(const gemel__run_program *p, uint32_t node) {
  gemel_location where = {p->files[p->nodes[node].file], (int)p->nodes[node].line};
  return where;
}
