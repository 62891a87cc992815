/* SPDX-License-Identifier: MIT
 *
 * Instructions of several devices. Each device has a queue, the host's is number 0, and within a
 * queue the order stays. Between queues there is no order but where one instruction needs another,
 * so the host does all it can before it turns to a device, and a device is asked for all it can do
 * before the host waits for it: values go up together, and come back together. What a device is
 * asked for in a row is a stretch, which it can record: a call that finds the same addresses as an
 * earlier one replays it.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "run/execution.h"

/* ---- Order ---- */

typedef struct merger {
  const gemel__instr *from; /* instructions of one region, in their old order */
  gemel__instr *to;
  uint32_t n, n_queues;
  uint32_t *next;   /* of each instruction: the next of its queue, or N */
  uint32_t *head;   /* of each queue */
  uint32_t *number; /* of each instruction, the new one; GEMEL__NO_INSTR: not yet placed */
  uint32_t placed;
} merger;

/* Links the instructions of each queue. */
static void link_queues(merger *m) {
  for (uint32_t q = 0; q < m->n_queues; q++) {
    m->head[q] = m->n;
  }
  for (uint32_t k = m->n; k-- > 0;) {
    m->next[k] = m->head[m->from[k].queue];
    m->head[m->from[k].queue] = k;
    m->number[k] = GEMEL__NO_INSTR;
  }
}

/* Places what queue Q can do; BASE: the number of the region's first instruction. */
static void drain(merger *m, uint32_t q, uint32_t base) {
  for (uint32_t k = m->head[q]; k < m->n; k = m->head[q]) {
    gemel__instr instr = m->from[k];
    if (instr.after != GEMEL__NO_INSTR) {
      uint32_t number = m->number[instr.after - base];
      if (number == GEMEL__NO_INSTR) {
        return;
      }
      instr.after = number + base;
    }
    m->number[k] = m->placed;
    m->to[m->placed++] = instr;
    m->head[q] = m->next[k];
  }
}

/* Orders instructions BEGIN to END, which hold none that is alone. */
static void order_region(merger *m, const gemel__instr *instrs, uint32_t begin, uint32_t end) {
  m->from = instrs + begin;
  m->n = end - begin;
  m->placed = 0;
  link_queues(m);
  while (m->placed < m->n) {
    for (uint32_t q = 0; q < m->n_queues; q++) {
      drain(m, q, begin);
    }
  }
}

static void order_all(merger *m, gemel__instr *instrs, uint32_t n) {
  for (uint32_t begin = 0, end; begin < n; begin = end + 1) {
    for (end = begin; end < n && !instrs[end].alone; end++) {
    }
    order_region(m, instrs, begin, end);
    memcpy(instrs + begin, m->to, (end - begin) * sizeof *instrs);
  }
}

static gemel_status order(uint32_t n_queues, gemel__segment *s) {
  merger m = {.n_queues = n_queues};
  size_t n = s->n_instrs;
  int failed;
  m.to = gemel__alloc_array(n, sizeof *m.to);
  m.next = gemel__alloc_array(n, sizeof *m.next);
  m.number = gemel__alloc_array(n, sizeof *m.number);
  m.head = gemel__alloc_array(n_queues, sizeof *m.head);
  failed = m.to == NULL || m.next == NULL || m.number == NULL || m.head == NULL;
  if (!failed) {
    order_all(&m, s->instrs, (uint32_t)n);
  }
  gemel__free(m.to, n * sizeof *m.to);
  gemel__free(m.next, n * sizeof *m.next);
  gemel__free(m.number, n * sizeof *m.number);
  gemel__free(m.head, n_queues * sizeof *m.head);
  return failed ? GEMEL_NO_MEMORY : GEMEL_OK;
}

/* ---- Stretches ---- */

/* The end of what follows BEGIN in one queue. */
static size_t stretch_end(const gemel__segment *s, size_t begin) {
  size_t end = begin;
  while (end < s->n_instrs && s->instrs[end].queue == s->instrs[begin].queue &&
         !s->instrs[end].alone) {
    end++;
  }
  return end;
}

/* Counts the stretches, and writes them down where there is ROOM for them. */
static size_t find_stretches(const gemel__run_program *p, const gemel__segment *s,
                             gemel__stretch *room) {
  size_t n = 0, end;
  for (size_t begin = 0; begin < s->n_instrs; begin = end) {
    uint8_t queue = s->instrs[begin].queue;
    end = stretch_end(s, begin);
    end = end == begin ? begin + 1 : end;
    if (queue != 0 && p->devices[queue]->begin != NULL && !s->instrs[begin].alone) {
      if (room != NULL) {
        room[n] = (gemel__stretch){.begin = begin, .end = end, .queue = queue};
      }
      n++;
    }
  }
  return n;
}

gemel_status gemel__queues_settle(const gemel__run_program *p, gemel__segment *s) {
  gemel_status status = p->n_devices > 1 ? order(p->n_devices, s) : GEMEL_OK;
  size_t n = p->n_devices > 1 && !p->inner ? find_stretches(p, s, NULL) : 0;
  if (status == GEMEL_OK && n > 0) {
    s->stretches = gemel__alloc_zeroed(n * sizeof *s->stretches);
    if (s->stretches == NULL) {
      return GEMEL_NO_MEMORY;
    }
    s->n_stretches = find_stretches(p, s, s->stretches);
  }
  return status;
}

void gemel__stretches_free(const gemel__run_program *p, gemel__segment *s) {
  size_t ports = (size_t)p->n_inputs + p->n_outputs;
  for (size_t k = 0; k < s->n_stretches; k++) {
    const gemel_device *device = p->devices[s->stretches[k].queue];
    for (int i = 0; i < GEMEL__RECORDINGS; i++) {
      if (s->stretches[k].kept[i].recording != NULL) {
        device->forget(device->user, s->stretches[k].kept[i].recording);
      }
      gemel__free(s->stretches[k].kept[i].ports, ports * sizeof(char *));
    }
  }
  gemel__free(s->stretches, s->n_stretches * sizeof *s->stretches);
}

/* ---- Running ---- */

/* A stretch of more instructions than this, those of all steps of loops counted, isn't recorded: a
 * recording takes memory and time to make for each. */
enum { MOST_RECORDED = 20000 };

static const gemel_device *port_device(const gemel__run_program *p, uint32_t k) {
  return k < p->n_inputs ? p->inputs[k].device : p->outputs[k - p->n_inputs].device;
}

/* 1 if the inputs and outputs on devices lie where they lay at the call of PORTS. */
static int same_ports(const gemel__execution *e, char *const *ports) {
  const gemel__run_program *p = &e->f->program;
  for (uint32_t k = 0; k < p->n_inputs + p->n_outputs; k++) {
    if (ports[k] != e->ports[k] && port_device(p, k) != &gemel__host_device) {
      return 0;
    }
  }
  return 1;
}

/* Which recording is for this call's addresses; -1: none. */
static int find_kept(const gemel__execution *e, const gemel__stretch *t) {
  for (int k = 0; k < GEMEL__RECORDINGS; k++) {
    if (t->kept[k].ports != NULL && same_ports(e, t->kept[k].ports)) {
      return k;
    }
  }
  return -1;
}

/* Keeps this call's addresses in the place of those that weren't there for longest. */
static void keep_ports(gemel__execution *e, gemel__stretch *t) {
  const gemel__run_program *p = &e->f->program;
  size_t bytes = ((size_t)p->n_inputs + p->n_outputs) * sizeof(char *);
  const gemel_device *device = p->devices[t->queue];
  int oldest = 0;
  for (int k = 1; k < GEMEL__RECORDINGS; k++) {
    oldest = t->kept[k].used < t->kept[oldest].used ? k : oldest;
  }
  if (t->kept[oldest].recording != NULL) {
    device->forget(device->user, t->kept[oldest].recording);
    t->kept[oldest].recording = NULL;
  }
  if (t->kept[oldest].ports == NULL) {
    t->kept[oldest].ports = gemel__alloc(bytes);
  }
  if (t->kept[oldest].ports != NULL) {
    memcpy(t->kept[oldest].ports, e->ports, bytes);
    t->kept[oldest].used = e->calls;
  }
}

static gemel_status record(gemel__execution *e, const gemel__segment *s, gemel__stretch *t,
                           void **recording) {
  const gemel_device *device = e->f->program.devices[t->queue];
  gemel_error first;
  gemel_status status = gemel__told(&e->error, device->begin(device->user, &e->error)), ended;
  if (status != GEMEL_OK) {
    return status;
  }
  status = gemel__instrs_run(e, s, t->begin, t->end);
  e->done = t->begin; /* the device has recorded the instructions, not run them */
  first = e->error;
  ended = gemel__told(&e->error, device->end(device->user, recording, &e->error));
  if (status != GEMEL_OK) {
    if (ended == GEMEL_OK) {
      device->forget(device->user, *recording);
      *recording = NULL;
    }
    e->error = first;
  }
  return status != GEMEL_OK ? status : ended;
}

/* Does the instructions of T, and keeps this call's addresses, for which the next call records:
 * when all went well, as what is planned by the way mustn't be planned in a recording. */
static gemel_status run_first(gemel__execution *e, const gemel__segment *s, gemel__stretch *t) {
  size_t before = e->instrs;
  GEMEL__TRY(gemel__instrs_run(e, s, t->begin, t->end));
  if (e->instrs - before <= MOST_RECORDED) {
    keep_ports(e, t);
  }
  return GEMEL_OK;
}

gemel_status gemel__stretch_run(gemel__execution *e, const gemel__segment *s, gemel__stretch *t) {
  const gemel_device *device = e->f->program.devices[t->queue];
  gemel_status status = GEMEL_OK;
  int k = find_kept(e, t);
  if (k < 0) {
    return run_first(e, s, t);
  }
  if (t->kept[k].recording == NULL) {
    status = record(e, s, t, &t->kept[k].recording);
  }
  t->kept[k].used = e->calls;
  e->asked |= s->uploads + s->downloads > 0;
  if (status == GEMEL_OK) {
    status = gemel__told(&e->error, device->replay(device->user, t->kept[k].recording, &e->error));
  }
  e->done = status == GEMEL_OK ? t->end : e->done;
  return status;
}
