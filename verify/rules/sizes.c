/* SPDX-License-Identifier: MIT
 *
 * Sizes, ranks and counts for a left side, see sizes.h.
 */
#include "rules/sizes.h"

#include <math.h>
#include "ops/ops.h"
#include "rules/functions.h"

enum { LARGEST = 1024, FARTHEST = 16384, DEEPEST = 8 };

/* What sizes are drawn for. */
struct aiming {
  const struct gemel_rule *rule;
  const gemel__rule_wish *wish;
  const gemel__goal *goal;
  const gemel__scene *scene;
  gemel__random *random;
};

static int64_t largest(const gemel__rule_wish *wish) {
  return wish->far ? FARTHEST : LARGEST;
}

static int has_size(const gemel__aimed_sizes *sizes, int64_t n) {
  size_t k = 0;
  while (k < sizes->n && sizes->at[k] != n) {
    k++;
  }
  return k < sizes->n;
}

/* Adds the sizes at and beside each of NUMBERS to those that are tried. Large ones only if EAGER.
 */
static void add_sizes(gemel__aimed_sizes *sizes, const gemel__rule_numbers *numbers,
                      const gemel__rule_wish *wish, int eager) {
  for (size_t k = 0; k < numbers->count; k++) {
    double c = numbers->at[k];
    if (!(c >= 0 && c <= (double)largest(wish))) {
      continue; /* may not be a size at all */
    }
    for (int64_t n = (int64_t)c - 1; n <= (int64_t)c + 1; n++) {
      int64_t most = (sizes->reach ? 8 : 2) * n;
      if (n >= 0 && sizes->n < GEMEL__PROPOSAL_SIZES && (n <= wish->max_elements || eager) &&
          !(sizes->reach && has_size(sizes, n))) {
        sizes->at[sizes->n++] = n;
        sizes->max_elements = most > sizes->max_elements ? most : sizes->max_elements;
      }
    }
  }
}

/* Takes the sizes from the numbers of the goal, often from those of the arm's condition alone, and
 * often only one of them: several numbers of an arm are often met by one size. */
static void aim_at_goal(const struct aiming *a, gemel__aimed_sizes *sizes) {
  gemel__rule_numbers numbers = {0, {0}, 0, 0};
  size_t asked = gemel__random_chance(a->random, 1, 2) ? a->goal->n_own : a->goal->count;
  for (size_t k = 0; k < asked; k++) {
    gemel__rule_numbers_in(&a->goal->atoms[k].expr, &numbers);
  }
  add_sizes(sizes, &numbers, a->wish, 1);
  if (sizes->n > 0 && gemel__random_chance(a->random, 1, 2)) {
    sizes->at[0] = sizes->at[gemel__random_below(a->random, sizes->n)];
    sizes->n = 1;
  }
}

/* 1 if the left side has an operation of FAMILY. */
static int has_family(const struct aiming *a, gemel__family family) {
  uint32_t k = 0, n = a->rule->left.count;
  for (; k < n; k++) {
    const gemel__pattern *p = &a->rule->left.nodes[k];
    const struct gemel__row *row =
        p->kind == GEMEL__PATTERN_APPLY ? gemel__op_at(a->scene->graph->context, p->op)->row : NULL;
    if (row != NULL && row->family == family) {
      break;
    }
  }
  return k < n;
}

/* Draws the rank of all shapes, which is 3 to 5 for images. Pools have room for large strides. */
static void draw_rank(const struct aiming *a, gemel__aimed_sizes *sizes) {
  int pools = has_family(a, GEMEL__FAMILY_pool);
  int images = pools || has_family(a, GEMEL__FAMILY_conv);
  sizes->rank = !gemel__random_chance(a->random, images ? 2 : 1, 3) ? -1
                : images ? (int)gemel__random_between(a->random, 3, 5)
                         : (int)gemel__random_below(a->random, 5);
  sizes->max_elements *= pools ? 2 : 1;
}

/* The number that an atom asks of FUNCTION(x), where it is one of 0 to MOST; −1: none does. If
 * ABOVE, the least number of an atom that asks for more. */
static int64_t goal_number(const struct aiming *a, uint32_t function, int above, int64_t most) {
  for (size_t k = 0; k < a->goal->count; k++) {
    const gemel__atom_goal *atom = &a->goal->atoms[k];
    uint32_t row;
    double number;
    if (!gemel__goal_compares(atom, a->scene, 0, function, -1, &row, &number)) {
      continue;
    }
    uint32_t strict = atom->holds ? GEMEL__OPERATOR_gt : GEMEL__OPERATOR_le;
    uint32_t weak = atom->holds ? GEMEL__OPERATOR_ge : GEMEL__OPERATOR_lt;
    number += above && row == strict;
    if ((row == (atom->holds ? GEMEL__OPERATOR_eq : GEMEL__OPERATOR_ne) ||
         (above && (row == strict || row == weak))) &&
        number >= 0 && number <= (double)most) {
      return (int64_t)number;
    }
  }
  return -1;
}

/* Half of the time takes the rank or the number of elements that the goal asks for. */
static void aim_exactly(const struct aiming *a, gemel__aimed_sizes *sizes) {
  int64_t rank = goal_number(a, GEMEL__FUNCTION_rank, 0, GEMEL_MAX_RANK);
  int64_t elements = goal_number(a, GEMEL__FUNCTION_elements, a->wish->far, largest(a->wish));
  if (rank >= 0 && gemel__random_chance(a->random, 1, 2)) {
    sizes->rank = (int)rank;
  }
  if (elements > 0 && gemel__random_chance(a->random, 1, 2)) {
    sizes->elements = elements;
    sizes->max_elements = 2 * elements > sizes->max_elements ? 2 * elements : sizes->max_elements;
  }
}

void gemel__sizes_aim(const struct gemel_rule *rule, const gemel__rule_wish *wish,
                      const gemel__goal *goal, const gemel__rule_numbers *numbers,
                      const gemel__scene *scene, gemel__random *random, gemel__aimed_sizes *sizes) {
  struct aiming a = {rule, wish, goal, scene, random};
  sizes->reach = wish->arm > 0 && wish->length == 0;
  sizes->max_elements = wish->max_elements;
  int eager = gemel__random_chance(random, 1, wish->eager || wish->far ? 2 : 8);
  draw_rank(&a, sizes);
  sizes->rank = wish->deep ? (int)gemel__random_between(random, 5, DEEPEST) : sizes->rank;
  if (sizes->reach) {
    aim_at_goal(&a, sizes);
  } else {
    add_sizes(sizes, numbers, wish, eager);
  }
  if (sizes->n > 0 && gemel__random_chance(random, 1, sizes->reach ? 2 : 4)) {
    int64_t n = sizes->at[gemel__random_below(random, sizes->n)];
    sizes->rank = n <= DEEPEST ? (int)n : sizes->rank;
  }
  aim_exactly(&a, sizes);
}
