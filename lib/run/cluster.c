/* SPDX-License-Identifier: MIT
 *
 * Which elementwise nodes become one loop. Nodes are taken in order; each joins the open cluster of
 * its shape. A cluster must be computed before anything outside it reads one of its values, so at
 * that moment it is closed: emitted as a loop. Several clusters of different shapes are open at a
 * time; what closes one never adds to another, so the order of closing is an order of computation.
 * The number of members is bounded, and with it the work for a node.
 *
 * On a device that takes rows, a sum or maximum along the last axis joins the cluster of its
 * operand's shape, and so does what is elementwise of such results: a normalisation is one loop.
 */
#include "run/planner.h"

#include <string.h>
#include "core/dtype.h"
#include "core/error.h"

static int same_shape(const gemel__plan_layout *a, const gemel__plan_layout *b) {
  return a == b ||
         (a->rank == b->rank &&
          (a->rank == 0 || memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0));
}

/* Drops the uses that the loads of a closed cluster had. */
static gemel_status release_loads(gemel__planner *planner, gemel__cluster *cluster) {
  uint32_t k;
  for (k = 0; k < cluster->n_loads; k++) {
    GEMEL__TRY(gemel__buffer_use(planner, cluster->loads[k].buffer, cluster->loads[k].uses));
  }
  return GEMEL_OK;
}

/* A load whose memory a result may be made in: all of its uses are in the cluster, they read it
 * once, in place, in the order of the iteration, and none comes after member MEMBER. */
static int may_overwrite(const gemel__cluster *cluster, const gemel__cluster_load *load,
                         uint32_t member, const gemel__plan_layout *result) {
  uint32_t k, readers = 0, uses = 0;
  for (k = 0; k < cluster->n_loads; k++) {
    readers += cluster->loads[k].buffer == load->buffer;
    uses += cluster->loads[k].buffer == load->buffer ? cluster->loads[k].uses : 0;
  }
  return load->buffer->remaining == uses && readers == 1 && load->last <= member &&
         (load->layout->dense || load->layout->channels_last) &&
         load->layout->channels_last == result->channels_last && same_shape(load->layout, result) &&
         load->layout->offset == 0 && load->layout->bytes == result->bytes;
}

static gemel__run_buffer *take_over(gemel__planner *planner, gemel__cluster *cluster,
                                    uint32_t member, const gemel__plan_layout *result,
                                    uint32_t remaining, int *found) {
  uint32_t k;
  *found = 0;
  if (planner->f->plain || cluster->members[member].by_row ||
      gemel__run_program_output(&planner->f->program, cluster->members[member].value) <
          planner->f->program.n_outputs) {
    return NULL;
  }
  for (k = 0; k < cluster->n_loads; k++) {
    gemel__run_buffer *buffer = cluster->loads[k].buffer;
    if (buffer->kind == GEMEL__B_ARENA && buffer->bytes == result->bytes &&
        may_overwrite(cluster, &cluster->loads[k], member, result)) {
      *found = 1;
      return gemel__buffer_over(planner, buffer, remaining);
    }
  }
  return NULL;
}

/* Member MEMBER, laid out as RESULT, may be the next value of a state which the cluster reads as
 * above, or which nothing reads any more. */
static void place_update(gemel__planner *planner, const gemel__cluster *cluster, uint32_t member,
                         const gemel__plan_layout *result) {
  const gemel__run_program *p = &planner->f->program;
  uint32_t output = gemel__run_program_output(p, cluster->members[member].value), reads = 0, k;
  const gemel__run_buffer *state =
      cluster->members[member].by_row ? NULL : gemel__state_buffer(planner, output, result);
  for (k = 0; k < cluster->n_loads && state != NULL; k++) {
    if (cluster->loads[k].buffer == state) {
      reads =
          may_overwrite(cluster, &cluster->loads[k], member, result) ? cluster->loads[k].uses : 0;
    }
  }
  if (state != NULL) {
    gemel__update_placed(planner, output, result, reads);
  }
}

/* Views lie where their members do: of the same elements, both are row-major. */
static void place_views(gemel__planner *planner, const gemel__cluster *cluster) {
  for (uint32_t k = 0; k < cluster->n_views; k++) {
    gemel__plan_place *place = &planner->places[cluster->views[k].value];
    place->buffer = planner->places[cluster->members[cluster->views[k].member].value].buffer;
    place->cluster = 0;
  }
}

/* Gives a buffer to each member that is read outside the cluster. */
static gemel_status place_members(gemel__planner *planner, gemel__cluster *cluster) {
  uint32_t k;
  for (k = 0; k < cluster->n_members; k++) {
    const gemel__member *m = &cluster->members[k];
    gemel__plan_place *place = &planner->places[m->value];
    uint32_t remaining = m->uses - m->uses_inside;
    gemel_status status;
    int found;
    place->cluster = 0;
    place->buffer = NULL;
    status = remaining > 0 ? gemel__place_at_home(planner, m->value, 1, remaining) : GEMEL_OK;
    if (status == GEMEL_DECLINED) {
      place->buffer = take_over(planner, cluster, k, place->layout, remaining, &found);
      if (!found) {
        place_update(planner, cluster, k, place->layout);
        place->buffer = gemel__output_buffer(planner, m->value, place->layout, remaining, &status);
      }
      if (place->buffer == NULL) {
        return gemel__no_memory(planner->error, "a plan");
      }
    } else if (status != GEMEL_OK) {
      return status;
    }
  }
  place_views(planner, cluster);
  return GEMEL_OK;
}

/* ---- Transposed operands ---- */

enum { BIG_OPERAND = 256 << 10, FAR_APART = 64 };

/* 1 if rows of a big operand lie across the iteration's, which is that of SHAPE: each of its cache
 * lines would be brought for one element at a time. */
static int lies_across(const gemel__plan_layout *shape, const gemel__plan_layout *l) {
  int64_t inner = 0, least = INT64_MAX;
  int k;
  if (l->bytes < BIG_OPERAND) {
    return 0;
  }
  for (k = 0; k < l->rank; k++) {
    int axis = l->rank == shape->rank ? gemel__layout_axis(shape, k) : k;
    int64_t stride = l->strides[axis] < 0 ? -l->strides[axis] : l->strides[axis];
    if (l->shape[axis] > 1 && stride > 0) {
      least = stride < least ? stride : least;
      inner = stride;
    }
  }
  return inner >= FAR_APART && least < inner;
}

/* Copies such an operand, in blocks, to memory of its own in the right order. */
static gemel_status straighten(gemel__planner *planner, gemel__cluster *cluster,
                               gemel__cluster_load *load) {
  gemel__plan_layout *l = load->layout, *straight;
  gemel__run_buffer *buffer = gemel__buffer_new(planner, 0, l->bytes, load->uses);
  gemel__run_buffer *old = load->buffer;
  int64_t strides[GEMEL_MAX_RANK], elements, bytes;
  GEMEL__TRY(
      gemel__row_major(l->dtype, l->rank, l->shape, strides, &elements, &bytes, planner->error));
  straight = cluster->shape->channels_last && l->rank == cluster->shape->rank
                 ? gemel__layout_channels_last(planner->segment, l)
                 : gemel__layout_new(planner->segment, l->dtype, l->rank, l->shape, strides, 0);
  if (buffer == NULL || straight == NULL) {
    return gemel__no_memory(planner->error, "a plan");
  }
  GEMEL__TRY(gemel__plan_copy(planner, cluster->members[0].node, l, old,
                              &(gemel__plan_place){.layout = straight, .buffer = buffer}));
  load->layout = straight;
  load->buffer = buffer;
  return gemel__buffer_use(planner, old, load->uses);
}

static gemel_status straighten_loads(gemel__planner *planner, gemel__cluster *cluster) {
  uint32_t k;
  for (k = 0; k < cluster->n_loads; k++) {
    if (lies_across(cluster->shape, cluster->loads[k].layout)) {
      GEMEL__TRY(straighten(planner, cluster, &cluster->loads[k]));
    }
  }
  return GEMEL_OK;
}

/* ---- Channels last ---- */

/* 1 if at least half of what the cluster reads in its own shape has channels last, and it makes no
 * output of the function, which is row-major. */
static int wants_channels_last(const gemel__planner *planner, const gemel__cluster *cluster) {
  const gemel__run_program *p = &planner->f->program;
  int64_t last = 0, other = 0;
  for (uint32_t k = 0; k < cluster->n_loads; k++) {
    const gemel__plan_layout *l = cluster->loads[k].layout;
    if (same_shape(l, cluster->shape)) {
      *(gemel__layout_ends_with_channels(l) ? &last : &other) += l->bytes;
    }
  }
  if (last == 0 || last < other) {
    return 0;
  }
  for (uint32_t k = 0; k < cluster->n_members; k++) {
    if (gemel__run_program_output(p, cluster->members[k].value) < p->n_outputs) {
      return 0;
    }
  }
  return 1;
}

/* Chooses the order of the iteration, in which all results lie. */
static gemel_status choose_order(gemel__planner *planner, gemel__cluster *cluster) {
  if (!wants_channels_last(planner, cluster)) {
    return GEMEL_OK;
  }
  for (uint32_t k = 0; k < cluster->n_members; k++) {
    gemel__plan_place *place = &planner->places[cluster->members[k].value];
    place->layout = gemel__layout_channels_last(planner->segment, place->layout);
    if (place->layout == NULL) {
      return gemel__no_memory(planner->error, "a plan");
    }
    cluster->shape = place->layout;
  }
  return GEMEL_OK;
}

/* A reduction that nothing has joined. */
static gemel_status emit_alone(gemel__planner *planner, gemel__cluster *cluster) {
  const gemel__run_program *p = &planner->f->program;
  gemel__plan_place *place = &planner->places[cluster->members[0].value];
  place->cluster = 0;
  GEMEL__TRY(gemel__plan_alone(planner, cluster->members[0].node));
  for (uint32_t k = 0; k < cluster->n_views; k++) {
    place->buffer->remaining += p->uses[cluster->views[k].value];
  }
  place_views(planner, cluster);
  return gemel__buffer_use(planner, place->buffer, cluster->n_views);
}

static gemel_status emit_cluster(gemel__planner *planner, gemel__cluster *cluster) {
  int on_host = cluster->device == 0;
  if (cluster->n_members == 1 && cluster->members[0].by_row) {
    return emit_alone(planner, cluster);
  }
  if (on_host) {
    GEMEL__TRY(choose_order(planner, cluster));
    GEMEL__TRY(straighten_loads(planner, cluster));
  }
  GEMEL__TRY(place_members(planner, cluster));
  GEMEL__TRY(on_host ? gemel__cluster_build(planner, cluster)
                     : gemel__cluster_build_there(planner, cluster));
  return release_loads(planner, cluster);
}

static gemel_status close_cluster(gemel__planner *planner, gemel__cluster *cluster) {
  gemel_status status = emit_cluster(planner, cluster);
  cluster->number = 0;
  return status;
}

gemel_status gemel__cluster_settle(gemel__planner *planner, uint32_t value) {
  uint32_t number = planner->places[value].cluster, k;
  if (number == 0) {
    return GEMEL_OK;
  }
  for (k = 0; k < GEMEL__CLUSTERS; k++) {
    if (planner->clusters[k].number == number) {
      return close_cluster(planner, &planner->clusters[k]);
    }
  }
  return gemel__fail(planner->error, GEMEL_INTERNAL, "a value is in a cluster that is gone");
}

/* The open cluster with the smallest number, or NULL. */
static gemel__cluster *oldest(gemel__planner *planner) {
  gemel__cluster *found = NULL;
  uint32_t k;
  for (k = 0; k < GEMEL__CLUSTERS; k++) {
    gemel__cluster *g = &planner->clusters[k];
    if (g->number != 0 && (found == NULL || g->number < found->number)) {
      found = g;
    }
  }
  return found;
}

gemel_status gemel__cluster_settle_readers(gemel__planner *planner,
                                           const gemel__run_buffer *buffer) {
  gemel_status status = GEMEL_OK;
  for (uint32_t k = 0; k < GEMEL__CLUSTERS && status == GEMEL_OK; k++) {
    gemel__cluster *c = &planner->clusters[k];
    uint32_t j = 0;
    while (c->number != 0 && j < c->n_loads && c->loads[j].buffer != buffer) {
      j++;
    }
    if (c->number != 0 && j < c->n_loads) {
      status = close_cluster(planner, c);
    }
  }
  return status;
}

gemel_status gemel__cluster_settle_all(gemel__planner *planner) {
  gemel__cluster *g;
  while ((g = oldest(planner)) != NULL) {
    GEMEL__TRY(close_cluster(planner, g));
  }
  return GEMEL_OK;
}

/* The open cluster of SHAPE on DEVICE, new if there is none; the oldest makes room for it. */
static gemel_status open_cluster(gemel__planner *planner, uint8_t device,
                                 const gemel__plan_layout *shape, gemel__cluster **cluster) {
  gemel_status status = GEMEL_OK;
  uint32_t k, empty = GEMEL__CLUSTERS;
  for (k = 0; k < GEMEL__CLUSTERS; k++) {
    gemel__cluster *g = &planner->clusters[k];
    if (g->number != 0 && g->device == device && same_shape(g->shape, shape)) {
      *cluster = g;
      return GEMEL_OK;
    }
    empty = g->number == 0 ? k : empty;
  }
  if (empty == GEMEL__CLUSTERS) {
    *cluster = oldest(planner);
    status = close_cluster(planner, *cluster);
  } else {
    *cluster = &planner->clusters[empty];
  }
  (*cluster)->number = ++planner->next_cluster;
  (*cluster)->n_members = (*cluster)->n_loads = (*cluster)->n_views = 0;
  (*cluster)->shape = shape;
  (*cluster)->device = device;
  return status;
}

/* The load of the cluster that reads VALUE, which is at PLACE. */
static uint16_t add_load(gemel__cluster *cluster, uint32_t value, const gemel__plan_place *place,
                         int axis_left_out) {
  uint32_t k;
  for (k = 0; k < cluster->n_loads; k++) {
    if (cluster->loads[k].buffer == place->buffer && cluster->loads[k].layout == place->layout &&
        cluster->loads[k].axis_left_out == axis_left_out) {
      break;
    }
  }
  if (k == cluster->n_loads) {
    memset(&cluster->loads[k], 0, sizeof cluster->loads[k]);
    cluster->loads[k].buffer = place->buffer;
    cluster->loads[k].layout = place->layout;
    cluster->loads[k].value = value;
    cluster->loads[k].axis_left_out = (uint8_t)axis_left_out;
    cluster->n_loads++;
  }
  cluster->loads[k].uses++;
  cluster->loads[k].last = (uint16_t)cluster->n_members;
  return (uint16_t)(k | GEMEL__LOAD_REF);
}

/* Settles operands that are in other clusters than CLUSTER. */
static gemel_status settle_operands(gemel__planner *planner, const gemel__cluster *cluster,
                                    uint32_t count, const uint32_t *in) {
  for (uint32_t k = 0; k < count; k++) {
    if (planner->places[in[k]].cluster != cluster->number) {
      GEMEL__TRY(gemel__cluster_settle(planner, in[k]));
    }
  }
  return GEMEL_OK;
}

static void append(gemel__planner *planner, gemel__cluster *cluster, uint32_t node, uint32_t count,
                   const uint32_t *in, int by_row, int axis_left_out) {
  gemel__member *m = &cluster->members[cluster->n_members];
  gemel__plan_place *place;
  uint32_t k;
  memset(m, 0, sizeof *m);
  m->node = node;
  m->value = planner->f->program.nodes[node].value;
  m->uses = planner->f->program.uses[m->value];
  m->by_row = (uint8_t)by_row;
  m->n_in = (uint8_t)count;
  for (k = 0; k < count; k++) {
    place = &planner->places[in[k]];
    if (place->cluster == cluster->number) {
      cluster->members[place->member].uses_inside++;
      m->in[k] = (uint16_t)place->member;
    } else {
      m->in[k] = add_load(cluster, in[k], place, axis_left_out);
    }
  }
  place = &planner->places[m->value];
  place->cluster = cluster->number;
  place->member = cluster->n_members++;
}

/* 1 if NODE may be a member of clusters there. */
static int may_join(const gemel__run_program *p, uint32_t node, uint8_t device) {
  return device == 0 ? gemel__member_kernel(p, node) != NULL : p->devices[device]->clusters != NULL;
}

/* 1 if CLUSTER has room for a member with COUNT operands. */
static int has_room(const gemel__cluster *cluster, uint32_t count) {
  return cluster->n_members < GEMEL__CLUSTER_NODES &&
         cluster->n_loads + count <= GEMEL__CLUSTER_LOADS;
}

/* The open cluster of SHAPE on DEVICE; a new one if that has no room for COUNT operands. */
static gemel_status roomy_cluster(gemel__planner *planner, uint8_t device,
                                  const gemel__plan_layout *shape, uint32_t count,
                                  gemel__cluster **cluster) {
  GEMEL__TRY(open_cluster(planner, device, shape, cluster));
  if (!has_room(*cluster, count)) {
    GEMEL__TRY(close_cluster(planner, *cluster));
    GEMEL__TRY(open_cluster(planner, device, shape, cluster));
  }
  return GEMEL_OK;
}

static gemel_status add(gemel__planner *planner, gemel__cluster *cluster, uint32_t node, int by_row,
                        int axis_left_out) {
  uint32_t count;
  const uint32_t *in = gemel__pnode_inputs(&planner->f->program, node, &count);
  GEMEL__TRY(settle_operands(planner, cluster, count, in));
  append(planner, cluster, node, count, in, by_row, axis_left_out);
  return GEMEL_OK;
}

/* ---- Rows ---- */

/* 1 if LAYOUT has one element for each row of SHAPE: with an axis of 1 in the place of the last one
 * if KEPT, or without it. */
static int is_of_rows(const gemel__plan_layout *shape, const gemel__plan_layout *layout, int kept) {
  int last = shape->rank - 1;
  return last >= 0 && shape->shape[last] > 1 && layout->rank == last + kept &&
         (!kept || layout->shape[last] == 1) &&
         (last == 0 ||
          memcmp(layout->shape, shape->shape, (size_t)last * sizeof *shape->shape) == 0);
}

/* 1 if NODE, elementwise with results laid out as LAYOUT, can be a member of CLUSTER by row: it
 * reads such members, all of them in that layout. */
static int goes_by_row(const gemel__planner *planner, const gemel__cluster *cluster,
                       const gemel__plan_layout *layout, uint32_t count, const uint32_t *in) {
  int some = 0;
  for (uint32_t k = 0; k < count; k++) {
    const gemel__plan_place *place = &planner->places[in[k]];
    if (place->cluster == cluster->number) {
      some = 1;
      if (!cluster->members[place->member].by_row || !same_shape(place->layout, layout)) {
        return 0;
      }
    }
  }
  return some && (is_of_rows(cluster->shape, layout, 0) || is_of_rows(cluster->shape, layout, 1));
}

/* The open cluster with room that it can be a member of by row; NULL: there is none. */
static gemel__cluster *cluster_of_rows(gemel__planner *planner, const gemel__plan_layout *layout,
                                       uint32_t count, const uint32_t *in) {
  for (uint32_t k = 0; k < GEMEL__CLUSTERS; k++) {
    gemel__cluster *g = &planner->clusters[k];
    if (g->number != 0 && has_room(g, count) && goes_by_row(planner, g, layout, count, in)) {
      return g;
    }
  }
  return NULL;
}

/* 1 if a node of CLUSTER's shape reads a member by row whose last axis is another: it was left out.
 */
static int reads_across(const gemel__planner *planner, const gemel__cluster *cluster,
                        uint32_t count, const uint32_t *in) {
  for (uint32_t k = 0; k < count; k++) {
    const gemel__plan_place *place = &planner->places[in[k]];
    if (place->cluster == cluster->number && cluster->members[place->member].by_row &&
        !is_of_rows(cluster->shape, place->layout, 1)) {
      return 1;
    }
  }
  return 0;
}

/* 1 if NODE is a sum or maximum of floats along the last one of RANK axes. */
static int reduces_rows(const gemel__run_program *p, uint32_t node, int rank) {
  const gemel_operation *record = &p->ops[p->nodes[node].op].op->record;
  const gemel_attr *attrs = gemel__attrs_at(p->context, p->nodes[node].attrs)->values;
  if (strcmp(record->name, "sum") != 0 && strcmp(record->name, "max") != 0) {
    return 0;
  }
  uint32_t count;
  const uint32_t *in = gemel__pnode_inputs(p, node, &count);
  int listed = attrs[0].kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_INT) && attrs[0].count == 1;
  int64_t axis = listed                            ? attrs[0].u.ints[0]
                 : attrs[0].kind == GEMEL_ATTR_INT ? attrs[0].u.i
                                                   : rank;
  return gemel__is_float(gemel_type_dtype(p->context, gemel__value_type(p, in[0]))) &&
         (axis == rank - 1 || axis == -1);
}

gemel_status gemel__cluster_add_reduction(gemel__planner *planner, uint32_t node) {
  const gemel__run_program *p = &planner->f->program;
  uint8_t device = gemel__value_device(p, p->nodes[node].value);
  gemel__plan_layout *layout;
  gemel__cluster *cluster;
  uint32_t count;
  const uint32_t *in = gemel__pnode_inputs(p, node, &count);
  if (count != 1) {
    return GEMEL_DECLINED;
  }
  GEMEL__TRY(gemel__plan_row_major(planner, p->value_types[in[0]], &layout));
  int64_t length = layout->rank > 0 ? layout->shape[layout->rank - 1] : 0;
  if (length < 2 || length > p->devices[device]->longest_row || layout->elements == 0 ||
      !reduces_rows(p, node, layout->rank)) {
    return GEMEL_DECLINED;
  }
  GEMEL__TRY(
      gemel__check_node(planner, node, gemel__attrs_at(p->context, p->nodes[node].attrs)->values));
  GEMEL__TRY(roomy_cluster(planner, device, layout, count, &cluster));
  return add(planner, cluster, node, 1, 0);
}

/* 1 if NODE is a dimshuffle of its operand's axes in their order, from the first on; a -1 behind
 * them is an axis of 1. */
static int keeps_order(const gemel__run_program *p, uint32_t node) {
  const gemel_attr *order = gemel__attrs_at(p->context, p->nodes[node].attrs)->values;
  int in_order = strcmp(p->ops[p->nodes[node].op].op->record.name, "dimshuffle") == 0 &&
                 order[0].kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_INT);
  for (size_t k = 0; in_order && k < order[0].count; k++) {
    int64_t axis = order[0].u.ints[k];
    in_order = axis == (int64_t)k || (axis == -1 && k + 1 == order[0].count);
  }
  return in_order;
}

gemel_status gemel__cluster_add_view(gemel__planner *planner, uint32_t node) {
  const gemel__run_program *p = &planner->f->program;
  gemel__plan_place *place = &planner->places[p->nodes[node].value];
  uint32_t count;
  const uint32_t *in = gemel__pnode_inputs(p, node, &count);
  if (count != 1 || planner->places[in[0]].cluster == 0 || !keeps_order(p, node)) {
    return GEMEL_DECLINED;
  }
  const gemel__plan_place *from = &planner->places[in[0]];
  for (uint32_t k = 0; k < GEMEL__CLUSTERS; k++) {
    gemel__cluster *g = &planner->clusters[k];
    if (g->number == from->cluster && g->members[from->member].by_row &&
        g->n_views < GEMEL__CLUSTER_LOADS &&
        (is_of_rows(g->shape, place->layout, 0) || is_of_rows(g->shape, place->layout, 1))) {
      g->members[from->member].uses_inside++;
      g->members[from->member].uses += p->uses[p->nodes[node].value];
      g->views[g->n_views++] = (gemel__cluster_view){p->nodes[node].value, from->member};
      place->cluster = from->cluster;
      place->member = from->member;
      return GEMEL_OK;
    }
  }
  return GEMEL_DECLINED;
}

gemel_status gemel__cluster_add(gemel__planner *planner, uint32_t node,
                                gemel__plan_layout *layout) {
  const gemel__run_program *p = &planner->f->program;
  gemel__cluster *cluster = NULL;
  uint32_t count;
  const uint32_t *in = gemel__pnode_inputs(p, node, &count);
  uint8_t device = gemel__value_device(p, p->nodes[node].value);
  if (count > 3 || !may_join(p, node, device)) {
    return GEMEL_DECLINED;
  }
  cluster = cluster_of_rows(planner, layout, count, in);
  if (cluster != NULL) {
    return add(planner, cluster, node, 1, layout->rank < cluster->shape->rank);
  }
  GEMEL__TRY(roomy_cluster(planner, device, layout, count, &cluster));
  if (reads_across(planner, cluster, count, in)) {
    GEMEL__TRY(close_cluster(planner, cluster));
    GEMEL__TRY(open_cluster(planner, device, layout, &cluster));
  }
  return add(planner, cluster, node, 0, 0);
}
