/* SPDX-License-Identifier: MIT
 *
 * Proposals for dot. Pairs of axes of the two operands are batch axes or contracted. Mostly one
 * operand leads: its axes get roles by a familiar form (product of matrices, of batches of them,
 * matrix and vector, outer product, several contracted axes) or at random, and the other operand
 * follows with sizes that fit. If both are known, axes of equal size are paired.
 *
 * dot_add has a third operand of the product's shape. If that is known, all ways of giving roles to
 * the axes of a known operand are tried.
 */
#include <string.h>
#include "sample/draft.h"

enum { CONTRACT, BATCH };
enum { MATRICES, BATCHES, OUTER, SEVERAL, ANY, FORMS };

struct dot {
  gemel__draft *d;
  int form;
  int ordered;             /* 1: axes are in the order of a product of matrices, perhaps
                            * transposed */
  int from_end[2];         /* if ordered, by side: 1: the last axes are contracted, 0: the first */
  int n[2];                /* number of contracted and of batch pairs */
  gemel__list *list[2][2]; /* by side, by role */
};

static unsigned used_axes(const struct dot *p, int side) {
  unsigned used = 0;
  for (int role = 0; role < 2; role++) {
    const gemel__list *list = p->list[side][role];
    for (int k = 0; list->known && k < list->count; k++) {
      used |= 1u << (list->at[k] & 31);
    }
  }
  return used;
}

/* An axis that isn't in USED: the first, or with LAST the last; any, if not ordered. −1: none is
 * left. */
static int free_axis(struct dot *p, unsigned used, int rank, int last) {
  int axes[GEMEL_MAX_RANK], count = 0;
  for (int k = 0; k < rank; k++) {
    if ((used >> k & 1u) == 0) {
      axes[count++] = k;
    }
  }
  if (count == 0) {
    return -1;
  }
  return !p->ordered ? axes[gemel__draw(p->d, 0, count - 1)] : last ? axes[count - 1] : axes[0];
}

/* Gives roles to free axes of operand SIDE; 0 if it has too few. Batch axes are chosen first, as
 * they lead in the familiar forms. */
static int choose_roles(struct dot *p, int side, int rank) {
  unsigned used = used_axes(p, side);
  for (int role = BATCH; role >= CONTRACT; role--) {
    gemel__list *list = p->list[side][role];
    if (list->known) {
      continue;
    }
    list->count = p->n[role];
    for (int k = 0; k < list->count; k++) {
      int from_end = role == CONTRACT && p->from_end[side];
      int axis = free_axis(p, used, rank, from_end);
      if (axis < 0) {
        return 0;
      }
      list->at[from_end && p->ordered ? list->count - 1 - k : k] = axis;
      used |= 1u << axis;
    }
  }
  return 1;
}

/* Chooses the number of pairs: that of known lists, else by form. */
static void choose_counts(struct dot *p, int room) {
  static const int least[FORMS][2] = {{1, 0}, {1, 1}, {0, 0}, {2, 0}, {0, 0}};
  for (int role = BATCH; role >= CONTRACT; role--) {
    int count = least[p->form][role];
    if (p->form == ANY) {
      count = (int)gemel__draw(p->d, 0, role == BATCH ? 1 : 2);
    } else if (p->form == BATCHES && role == BATCH && gemel__one_in(p->d, 4)) {
      count = 2;
    }
    count = count > room ? room : count;
    for (int side = 0; side < 2; side++) {
      if (p->list[side][role]->known) {
        count = p->list[side][role]->count;
      }
    }
    p->n[role] = count;
    room -= count;
  }
}

static int least_rank(const struct dot *p, int side) {
  int pairs = p->n[0] + p->n[1];
  for (int role = 0; role < 2; role++) {
    if (p->list[side][role]->known) {
      int top = gemel__list_top(p->list[side][role]);
      pairs = top > pairs ? top : pairs;
    }
  }
  return pairs < GEMEL_MAX_RANK ? pairs : GEMEL_MAX_RANK;
}

/* Chooses a rank: one axis more than are paired, as in a matrix, or none, as in a vector, or
 * two. */
static int choose_rank(struct dot *p, int side) {
  int free = gemel__one_in(p->d, 4) ? 0 : 1 + gemel__one_in(p->d, 6);
  int rank = least_rank(p, side);
  int paired = p->n[0] + p->n[1];
  if (rank == paired) {
    rank += free;
  }
  return rank < GEMEL_MAX_RANK ? rank : GEMEL_MAX_RANK;
}

/* Sets the sizes of FOLLOWER's paired axes to those of the other side. */
static int follow_sizes(struct dot *p, int follower) {
  const gemel__shape *from = &p->d->in[!follower];
  gemel__shape *to = &p->d->in[follower];
  unsigned paired = 0;
  for (int role = 0; role < 2; role++) {
    const gemel__list *theirs = p->list[!follower][role], *own = p->list[follower][role];
    if (theirs->count != own->count) {
      return 0;
    }
    for (int k = 0; k < own->count; k++) {
      int64_t i = own->at[k], j = theirs->at[k];
      if (i < 0 || i >= to->rank || j < 0 || j >= from->rank) {
        return 0;
      }
      to->dims[i] = from->dims[j];
      paired |= 1u << i;
    }
  }
  gemel__limit_shape(p->d, to, paired);
  return 1;
}

static gemel_status lead_and_follow(struct dot *p, int leader) {
  gemel__shape *in = p->d->in;
  if (in[leader].known) {
    choose_counts(p, in[leader].rank);
  } else {
    choose_counts(p, GEMEL_MAX_RANK);
    gemel__draw_shape_of(p->d, &in[leader], choose_rank(p, leader));
    in[leader].dtype = gemel__known_dtype(p->d, 2);
  }
  if (!choose_roles(p, leader, in[leader].rank)) {
    return GEMEL_DECLINED;
  }
  gemel__draw_shape_of(p->d, &in[!leader], choose_rank(p, !leader));
  in[!leader].dtype = in[leader].dtype;
  if (!choose_roles(p, !leader, in[!leader].rank) || !follow_sizes(p, !leader)) {
    return GEMEL_DECLINED;
  }
  return GEMEL_OK;
}

/* ---- Both known ---- */

static int fits(const struct dot *p, int i, int j) {
  return p->d->in[0].dims[i] == p->d->in[1].dims[j];
}

/* Makes it a product of matrices. 0: the sizes don't allow it. */
static int take_product(struct dot *p) {
  int x = p->d->in[0].rank, y = p->d->in[1].rank, batch = x > 2 ? x - 2 : 0, fit = 1;
  if (x == 0 || y == 0 || ((x > 2 || y > 2) && x != y)) {
    return 0;
  }
  for (int k = 0; k < batch; k++) {
    fit &= fits(p, k, k);
  }
  if (!fit || !fits(p, x - 1, y == 1 ? 0 : y - 2)) {
    return 0;
  }
  for (int side = 0; side < 2; side++) {
    for (int k = 0; k < batch; k++) {
      p->list[side][BATCH]->at[k] = k;
    }
    p->list[side][BATCH]->count = batch;
    p->list[side][CONTRACT]->count = 1;
  }
  p->list[0][CONTRACT]->at[0] = x - 1;
  p->list[1][CONTRACT]->at[0] = y == 1 ? 0 : y - 2;
  return 1;
}

/* Pairs axis I of x with a free axis of y of the same size; 0 if there is none. */
static int pair_axis(struct dot *p, int role, int i, unsigned *used) {
  int rank = p->d->in[1].rank, from = (int)gemel__draw(p->d, 0, rank - 1);
  for (int k = 0; k < rank; k++) {
    int j = (from + k) % rank;
    if ((*used >> j & 1u) == 0 && fits(p, i, j)) {
      *used |= 1u << j;
      p->list[0][role]->at[p->list[0][role]->count++] = i;
      p->list[1][role]->at[p->list[1][role]->count++] = j;
      return 1;
    }
  }
  return 0;
}

static void pair_some(struct dot *p) {
  size_t order[GEMEL_MAX_RANK];
  int x = p->d->in[0].rank, batch = gemel__one_in(p->d, 3), sum = (int)gemel__draw(p->d, 0, 2);
  unsigned used = 0;
  gemel__random_permutation(p->d->random, (size_t)x, order);
  for (int k = 0; k < x && batch + sum > 0; k++) {
    int role = batch > 0 ? BATCH : CONTRACT;
    if (pair_axis(p, role, (int)order[k], &used)) {
      *(role == BATCH ? &batch : &sum) -= 1;
    }
  }
}

/* Chooses the axes of SIDE for pairs whose other axis is known. 0: none fits. */
static int pair_known(struct dot *p, int side) {
  unsigned used = used_axes(p, side);
  for (int role = 0; role < 2; role++) {
    gemel__list *own = p->list[side][role];
    const gemel__list *theirs = p->list[!side][role];
    for (own->count = own->known ? own->count : 0; !own->known && own->count < theirs->count;) {
      int rank = p->d->in[side].rank, from = (int)gemel__draw(p->d, 0, rank - 1), k = 0, axis = 0;
      int64_t partner = theirs->at[own->count];
      for (; k < rank; k++) {
        axis = (from + k) % rank;
        if ((used >> axis & 1u) == 0 && partner >= 0 && partner < p->d->in[!side].rank &&
            p->d->in[side].dims[axis] == p->d->in[!side].dims[partner]) {
          break;
        }
      }
      if (k == rank) {
        return 0;
      }
      used |= 1u << axis;
      own->at[own->count++] = axis;
    }
  }
  return 1;
}

static gemel_status pair_both(struct dot *p) {
  int any = 0;
  for (int k = 0; k < 4; k++) {
    any |= p->d->attrs[k].known;
  }
  if (!any) {
    if (p->form == ANY || !take_product(p)) {
      for (int k = 0; k < 4; k++) {
        p->d->attrs[k].count = 0;
      }
      pair_some(p);
    }
    return GEMEL_OK;
  }
  /* a list that is known on neither side stays empty */
  return pair_known(p, 0) && pair_known(p, 1) ? GEMEL_OK : GEMEL_DECLINED;
}

/* If all attributes are left out, it is a product of matrices, whatever the form was. */
static void leave_out(struct dot *p) {
  int absent = 0, known = 0;
  for (int k = 0; k < 4; k++) {
    absent += p->d->attrs[k].absent;
    known |= p->d->attrs[k].known;
  }
  if (absent == 4) {
    p->form = p->form == BATCHES ? BATCHES : MATRICES;
    p->ordered = p->from_end[0] = 1;
    p->from_end[1] = 0;
  } else if (absent > 0 && known) {
    for (int k = 0; k < 4; k++) {
      p->d->attrs[k].known |= p->d->attrs[k].absent;
    }
  }
}

static gemel_status propose_product(struct dot *p) {
  gemel__draft *d = p->d;
  leave_out(p);
  if (d->in[0].known && d->in[1].known) {
    return pair_both(p);
  }
  int leader = d->in[0].known ? 0 : d->in[1].known ? 1 : (int)gemel__draw(d, 0, 1);
  return lead_and_follow(p, leader);
}

static struct dot start(gemel__draft *d) {
  struct dot p = {.d = d,
                  .form = (int)gemel__draw(d, -1, FORMS - 1),
                  .ordered = !gemel__one_in(d, 4),
                  .from_end = {!gemel__one_in(d, 4), gemel__one_in(d, 4)},
                  .list = {{&d->attrs[0], &d->attrs[2]}, {&d->attrs[1], &d->attrs[3]}}};
  p.form = p.form < 0 ? MATRICES : p.form; /* the commonest */
  return p;
}

gemel_status gemel__propose_dot(gemel__draft *d) {
  struct dot p = start(d);
  return d->n_inputs == 2 ? propose_product(&p) : GEMEL_DECLINED;
}

/* ---- A product of known shape ---- */

/* A further role: axes that aren't paired. */
enum { FREE = 2, ROLES };

struct roles {
  int n[ROLES];
  int64_t at[ROLES][GEMEL_MAX_RANK];
};

/* The roles of SIDE's axes numbered CODE of 3^rank. 0: the known lists say otherwise. */
static int numbered_roles(const struct dot *p, int side, int code, struct roles *r) {
  memset(r, 0, sizeof *r);
  for (int axis = 0; axis < p->d->in[side].rank; axis++, code /= ROLES) {
    r->at[code % ROLES][r->n[code % ROLES]++] = axis;
  }
  for (int role = 0; role < FREE; role++) {
    const gemel__list *list = p->list[side][role];
    unsigned mine = 0, theirs = 0;
    for (int k = 0; k < r->n[role]; k++) {
      mine |= 1u << r->at[role][k];
    }
    for (int k = 0; list->known && k < list->count; k++) {
      theirs |= 1u << (list->at[k] & 31);
      r->at[role][k % GEMEL_MAX_RANK] = list->at[k];
    }
    if (list->known && (list->count != r->n[role] || mine != theirs)) {
      return 0;
    }
  }
  return 1;
}

/* The axes of SIDE that have a role once all lists are filled in. */
static unsigned paired_axes(const struct dot *p, int side) {
  unsigned paired = 0;
  for (int role = 0; role < FREE; role++) {
    for (int k = 0; k < p->list[side][role]->count; k++) {
      paired |= 1u << (p->list[side][role]->at[k] & 31);
    }
  }
  return paired;
}

/* Draws roles for a new operand with N axes of each. */
static int new_roles(struct dot *p, int side, const int *n, struct roles *r) {
  int rank = n[CONTRACT] + n[BATCH] + n[FREE];
  memcpy(p->n, n, sizeof p->n);
  p->d->in[side].rank = rank;
  if (rank > GEMEL_MAX_RANK || !choose_roles(p, side, rank)) {
    return 0;
  }
  memset(r, 0, sizeof *r);
  for (int role = 0; role < FREE; role++) {
    r->n[role] = p->list[side][role]->count;
    memcpy(r->at[role], p->list[side][role]->at, (size_t)r->n[role] * sizeof *r->at[role]);
  }
  for (int axis = 0; axis < rank; axis++) {
    if ((paired_axes(p, side) >> axis & 1u) == 0) {
      r->at[FREE][r->n[FREE]++] = axis;
    }
  }
  return r->n[FREE] == n[FREE];
}

/* 1 if the sizes of SIDE's batch and free axes are those of the result. WRITE: sets them
 * instead. */
static int meets_result(struct dot *p, int side, const struct roles *r, int write) {
  const gemel__shape *z = &p->d->in[2];
  gemel__shape *own = &p->d->in[side];
  int first = side == 0 ? r->n[BATCH] : z->rank - r->n[FREE], same = 1;
  for (int role = BATCH; role <= FREE; role++) {
    for (int k = 0; k < r->n[role]; k++) {
      int64_t size = z->dims[role == BATCH ? k : first + k];
      int64_t *mine = &own->dims[r->at[role][k]];
      *mine = write ? size : *mine;
      same &= *mine == size;
    }
  }
  return same;
}

/* The same for the contracted axes of SIDE and of the other side; two pairs may be swapped. */
static int meets_other(struct dot *p, int side, struct roles *r, const struct roles *other,
                       int write) {
  int same = 1, n = r->n[CONTRACT], crossed = 0;
  for (int turn = 0; turn < 2; turn++, crossed = !p->list[side][CONTRACT]->known) {
    same = 1;
    for (int k = 0; k < n; k++) {
      int64_t size = p->d->in[!side].dims[other->at[CONTRACT][crossed ? n - 1 - k : k]];
      int64_t *mine = &p->d->in[side].dims[r->at[CONTRACT][k]];
      *mine = write ? size : *mine;
      same &= *mine == size;
    }
    if (same) {
      break;
    }
  }
  for (int k = 0; crossed && k < n / 2; k++) {
    int64_t axis = r->at[CONTRACT][k];
    r->at[CONTRACT][k] = r->at[CONTRACT][n - 1 - k];
    r->at[CONTRACT][n - 1 - k] = axis;
  }
  return same;
}

static void write_lists(struct dot *p, int side, const struct roles *r) {
  for (int role = 0; role < FREE; role++) {
    p->list[side][role]->count = r->n[role];
    memcpy(p->list[side][role]->at, r->at[role], (size_t)r->n[role] * sizeof *r->at[role]);
  }
}

static int ways_of(const struct dot *p, int side) {
  int ways = 1;
  for (int k = 0; p->d->in[side].known && k < p->d->in[side].rank; k++) {
    ways *= ROLES;
  }
  return ways;
}

/* Chooses the other operand than LEADER, whose roles are LED. 0: none fits. */
static int follow_result(struct dot *p, int leader, const struct roles *led) {
  int side = !leader, ways = ways_of(p, side);
  int n[ROLES] = {led->n[CONTRACT], led->n[BATCH], p->d->in[2].rank - led->n[BATCH] - led->n[FREE]};
  struct roles r;
  if (!p->d->in[side].known) {
    p->d->in[side].dtype = p->d->in[2].dtype;
    return new_roles(p, side, n, &r) && meets_result(p, side, &r, 1) &&
           meets_other(p, side, &r, led, 1);
  }
  for (int code = 0; code < ways; code++) {
    if (numbered_roles(p, side, code, &r) && memcmp(r.n, n, sizeof n) == 0 &&
        meets_result(p, side, &r, 0) && meets_other(p, side, &r, led, 0)) {
      write_lists(p, side, &r);
      return 1;
    }
  }
  return 0;
}

/* Draws a new leading operand, with as many axes of each role as known lists have, or any. */
static int lead_result(struct dot *p, struct roles *r) {
  gemel__shape *x = &p->d->in[0];
  int rank = p->d->in[2].rank, n[ROLES], least, most;
  choose_counts(p, rank);
  memcpy(n, p->n, sizeof p->n);
  least = least_rank(p, 0) - n[BATCH] - n[CONTRACT];
  most = rank + n[CONTRACT] - least_rank(p, 1);
  n[FREE] = (int)gemel__draw(p->d, least, most < rank - n[BATCH] ? most : rank - n[BATCH]);
  if (n[BATCH] + n[FREE] > rank) {
    return 0;
  }
  x->dtype = p->d->in[2].dtype;
  gemel__draw_shape_of(p->d, x, n[0] + n[1] + n[2] < GEMEL_MAX_RANK ? n[0] + n[1] + n[2] : 0);
  return new_roles(p, 0, n, r) && meets_result(p, 0, r, 1);
}

static gemel_status propose_result(struct dot *p) {
  int leader = !p->d->in[0].known && p->d->in[1].known, ways = ways_of(p, leader);
  int from = (int)gemel__draw(p->d, 0, ways - 1);
  struct roles r;
  if (!p->d->in[leader].known) {
    return lead_result(p, &r) && follow_result(p, 0, &r) ? GEMEL_OK : GEMEL_DECLINED;
  }
  for (int k = 0; k < ways; k++) {
    if (numbered_roles(p, leader, (from + k) % ways, &r) &&
        r.n[BATCH] + r.n[FREE] <= p->d->in[2].rank && meets_result(p, leader, &r, 0) &&
        follow_result(p, leader, &r)) {
      write_lists(p, leader, &r);
      return GEMEL_OK;
    }
  }
  return GEMEL_DECLINED;
}

/* Sets the third operand's shape to that of the product. */
static void take_result(struct dot *p) {
  gemel__shape *z = &p->d->in[2];
  z->rank = 0;
  z->dtype = p->d->in[0].dtype;
  for (int k = 0; k < p->list[0][BATCH]->count; k++) {
    z->dims[z->rank++] = p->d->in[0].dims[p->list[0][BATCH]->at[k]];
  }
  for (int side = 0; side < 2; side++) {
    for (int axis = 0; axis < p->d->in[side].rank; axis++) {
      if ((paired_axes(p, side) >> axis & 1u) == 0 && z->rank < GEMEL_MAX_RANK) {
        z->dims[z->rank++] = p->d->in[side].dims[axis];
      }
    }
  }
}

/* Both operands and a list are known: finds roles that agree with it and give a result that isn't
 * too large. */
static gemel_status pair_all(struct dot *p) {
  int ways[2] = {ways_of(p, 0), ways_of(p, 1)}, from = (int)gemel__draw(p->d, 0, ways[0] - 1);
  struct roles r[2];
  for (int k = 0; k < ways[0]; k++) {
    if (!numbered_roles(p, 0, (from + k) % ways[0], &r[0])) {
      continue;
    }
    for (int code = 0; code < ways[1]; code++) {
      if (numbered_roles(p, 1, code, &r[1]) && r[0].n[BATCH] == r[1].n[BATCH] &&
          r[0].n[CONTRACT] == r[1].n[CONTRACT] && meets_other(p, 1, &r[1], &r[0], 0)) {
        write_lists(p, 0, &r[0]);
        write_lists(p, 1, &r[1]);
        take_result(p);
        if (meets_result(p, 1, &r[1], 0) &&
            gemel__shape_elements(&p->d->in[2]) <= p->d->max_elements) {
          return GEMEL_OK;
        }
      }
    }
  }
  return GEMEL_DECLINED;
}

gemel_status gemel__propose_dot_add(gemel__draft *d) {
  struct dot p = start(d);
  gemel_status status = d->n_inputs == 3 ? GEMEL_OK : GEMEL_DECLINED;
  int lists = d->attrs[0].known + d->attrs[1].known + d->attrs[2].known + d->attrs[3].known;
  if (status == GEMEL_OK && d->in[2].known) {
    return propose_result(&p);
  }
  if (status == GEMEL_OK && d->in[0].known && d->in[1].known && lists > 0) {
    return pair_all(&p);
  }
  if (status == GEMEL_OK) {
    status = propose_product(&p);
  }
  if (status == GEMEL_OK) {
    take_result(&p);
  }
  return status;
}
