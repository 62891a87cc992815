/*
 * What the prover makes of attribute expressions (verify/unbounded/attribute.c, lists.c) is what
 * gemel makes of them: the table of t-terms.c once more. Of each expression two rules are asked
 * about, both wrong wherever they are applied: one applies where the expression is something else
 * than the table says, the other where it is that. Only the first may be proved; both are where the
 * expression has no value, and neither where nothing is known. Then functions in the attributes of
 * right sides, of sizes and axes that are symbols: right rules, and twins of them that are wrong.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include "support/proved.h"

#include <ctype.h>

/* ---- The table of t-terms.c ---- */

#define NO "declined"

typedef struct term_case {
  const char *text, *wanted;
} term_case;

static const term_case cases[] = {
#define CASE(text, wanted) {text, wanted},
#include "terms.def"
#undef CASE
};

/* Words of that scene, as they are written here; expressions with others are of its tensors. */
static const char *const words[][2] = {
    {"p", "[1, 2, 0]"},
    {"a", "[3, 1, -2]"},
    {"empty", "[]"},
    {"gone", "none"},
    {"type", "bf16"},
    {"one", "1"},
    {"half", "0.5"},
    {"most", "9223372036854775807"},
    {"n", "shape(x)[0]"},
    {"m", "shape(x)[1]"},
    {"N", "shape(x)[0]"},
    {"M", "shape(x)[1]"},
    {"sizes", "[shape(x)[0], 3, shape(x)[1]]"},
};

/* The same here and there. */
static const char *const others[] = {"none", "true", "false", "and", "or",  "not",
                                     "inf",  "bool", "f16",   "f32", "f64", "bf16",
                                     "i8",   "i16",  "i64",   "u8",  "u64"};

/* What the LENGTH letters of WORD are here; NULL if nothing. */
static const char *word_here(const char *word, size_t length) {
  for (size_t k = 0; k < CT_COUNT(words); k++) {
    if (strlen(words[k][0]) == length && strncmp(words[k][0], word, length) == 0) {
      return words[k][1];
    }
  }
  for (size_t k = 0; k < CT_COUNT(others); k++) {
    if (strlen(others[k]) == length && strncmp(others[k], word, length) == 0) {
      return others[k];
    }
  }
  return NULL;
}

static size_t word_length(const char *text) {
  size_t length = 0;
  while (isalpha((unsigned char)text[0]) &&
         (isalnum((unsigned char)text[length]) || text[length] == '_')) {
    length++;
  }
  return length;
}

/* TO = FROM in words of here; 0 if it has one that isn't known here. Functions are. */
static int translate(const char *from, char *to, size_t bytes) {
  size_t used = 0;
  while (*from != '\0' && used < bytes) {
    size_t length = word_length(from);
    const char *word = word_here(from, length);
    if (length > 0 && from[length] != '(' && word == NULL) {
      return 0;
    }
    if (length == 0 || from[length] == '(') {
      length += length == 0;
      used += (size_t)snprintf(to + used, bytes - used, "%.*s", (int)length, from);
    } else {
      used += (size_t)snprintf(to + used, bytes - used, "%s", word);
    }
    from += length;
  }
  return used < bytes;
}

typedef enum outcome { OPEN, VALUE, NOTHING, ANOTHER } outcome;

static const char *const outcome_names[] = {"open", "the value", "no value", "another value"};

#define ONE "rule one in canonicalize: reverse(x, axes = b) => x where %slength(b) == 0 or "
#define OTHER "\nrule other in canonicalize: reverse(x, axes = b) => x where %slength(b) == 0 or "

/* What the prover takes TEXT to be, of which WANTED is said. Of what has no value it is asked
 * whether it is itself. */
static outcome taken(const char *text, const char *wanted, proved *p) {
  char asked[5000];
  int symbols = strstr(text, "shape(x)") != NULL;
  const char *axes = symbols ? "rank(x) == 2, " : "";
  if (strcmp(wanted, "1") == 0 || strcmp(wanted, "unknown") == 0) {
    snprintf(asked, sizeof asked, ONE "not (%s)" OTHER "(%s)", axes, text, axes, text);
  } else if (strcmp(wanted, "0") == 0) {
    snprintf(asked, sizeof asked, ONE "(%s)" OTHER "not (%s)", axes, text, axes, text);
  } else {
    const char *value = strcmp(wanted, NO) == 0 ? text : wanted;
    snprintf(asked, sizeof asked, ONE "(%s) != (%s)" OTHER "(%s) == (%s)", axes, text, value, axes,
             text, value);
  }
  if (!prove_text(asked, symbols ? 2 : 1, p)) {
    return NOTHING;
  }
  CT_EQ_UINT(p->count, 2);
  return p->ranks[0] ? p->ranks[1] ? NOTHING : VALUE : p->ranks[1] ? ANOTHER : OPEN;
}

/* What the prover takes for something else than the table says, and may. */
static const struct {
  const char *text;
  outcome taken;
} exceptions[] = {
    /* more values than gemel has: rules are then thought to be applied where they aren't */
    {"broadcast_shape([n], [m])", VALUE},
    {"broadcast_shape([n], [3])", VALUE},
    {"without([n, 1], n)", VALUE},
    {"without([n, m], [n])", VALUE},
    {"replace(p, [0, 0], 9)", VALUE},
    {"remove(a, [0, 0])", VALUE},
    {"axes(2, [2])", VALUE},
    {"axes(2, [-3])", VALUE},
    {"axes(2, [1, -1])", VALUE},
    {"axes_kept(3, [3])", VALUE},
    /* where n is 0 both rules are right: x is empty */
    {"n > 0", VALUE},
    {"n < n + m", VALUE},
    /* positions and lengths that are symbols, and numbers of which something must be known: not
     * looked into */
    {"p[n]", OPEN},
    {"range(n)", OPEN},
    {"repeat(1, n)", OPEN},
    {"sorted([n])", OPEN},
    {"position([n, m], n)", OPEN},
    {"position([m, n], n)", OPEN},
    {"position([n], m)", OPEN},
    {"permutation([n])", OPEN},
    {"distinct([n, n])", OPEN},
    {"identity([n + 1])", OPEN},
    {"places(sizes, 3)", OPEN}, /* n may be known to be 3, too */
    {"places([n, 1, n, m], n)", OPEN},
    {"(2 * n + 3) % 2", OPEN},
    {"n + 1 and true", OPEN},
    {"7 // -2", OPEN},
    {"7 % -3", OPEN},
    {"6 % -3", OPEN},
    /* too large, or too long */
    {"most + 1", OPEN},
    {"most * 2", OPEN},
    {"product([most, 2])", OPEN},
    {"total([most, 1])", OPEN},
    {"range(5000)", OPEN},
    {"type == 1", OPEN},
};

/* Nothing is known of reals. */
static int has_real(const char *text) {
  return strstr(text, "half") != NULL || strchr(text, '.') != NULL || strstr(text, "inf") != NULL ||
         strstr(text, " / ") != NULL || strstr(text, "power_of_two") != NULL;
}

static int may_be(const term_case *c, outcome o) {
  for (size_t k = 0; k < CT_COUNT(exceptions); k++) {
    if (strcmp(exceptions[k].text, c->text) == 0) {
      return o == exceptions[k].taken;
    }
  }
  outcome wanted = strcmp(c->wanted, NO) == 0          ? NOTHING
                   : strcmp(c->wanted, "unknown") == 0 ? OPEN
                                                       : VALUE;
  return o == wanted || (o == OPEN && has_real(c->text));
}

static void check_case(const void *data) {
  const term_case *c = data;
  char text[600], wanted[600];
  proved p = {0};
  outcome o;
  CT_REQUIRE(translate(c->text, text, sizeof text));
  if (!translate(c->wanted, wanted, sizeof wanted)) {
    snprintf(wanted, sizeof wanted, "%s", c->wanted);
  }
  o = taken(text, wanted, &p);
  ct_context("%s, which is %s: the prover takes it for %s (%s; %s)", c->text, c->wanted,
             outcome_names[o], p.why[0], p.why[1]);
  CT_CHECK(may_be(c, o));
}

/* Most rows are asked about, and what is an exception stands in the table. */
static void table(const void *data) {
  size_t asked = 0;
  char text[600];
  (void)data;
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    asked += (size_t)translate(cases[k].text, text, sizeof text);
  }
  CT_CHECK(asked > 300);
  for (size_t k = 0; k < CT_COUNT(exceptions); k++) {
    size_t found = 0;
    for (size_t j = 0; j < CT_COUNT(cases); j++) {
      found += strcmp(exceptions[k].text, cases[j].text) == 0;
    }
    ct_context("%s", exceptions[k].text);
    CT_EQ_UINT(found, 1);
  }
}

/* ---- In rules ---- */

static const proved_case rules[] = {
    {"without", "sum(x, axes = a) => sum(x, axes = without(range(rank(x)), axes_kept(rank(x), a)))",
     2},
    {"without_wrong",
     "sum(x, axes = a) => sum(x, axes = without(range(rank(x)), axes(rank(x), a)))", 0},
    {"inverse",
     "dimshuffle(dimshuffle(x, order = p), order = q) => x where permutation(p), length(p) == "
     "rank(x), q == inverse(p)",
     2},
    {"inverse_wrong",
     "dimshuffle(dimshuffle(x, order = p), order = q) => x where permutation(p), length(p) == "
     "rank(x), inverse(q) == q",
     0},
    {"sorted", "sum(x, axes = a) => sum(x, axes = sorted(axes(rank(x), a)))", 2},
    {"sorted_wrong", "dimshuffle(x, order = p) => dimshuffle(x, order = sorted(p))", 1},
    {"reversed", "sum(x, axes = a) => sum(x, axes = reversed(axes(rank(x), a)))", 2},
    {"reversed_wrong", "dimshuffle(x, order = p) => dimshuffle(x, order = reversed(p))", 1},
    {"repeat",
     "subtensor(x, start = s, size = n) => subtensor(x, start = s, size = n, step = repeat(1, "
     "rank(x)))",
     ALL},
    {"repeat_wrong",
     "subtensor(x, start = s, size = n) => subtensor(x, start = s, size = n, step = repeat(2, "
     "rank(x)))",
     0},
    {"replaced",
     "subtensor(x, start = s, size = n) => subtensor(subtensor(x, start = replace(s, [0], 0), size "
     "= replace(n, [0], shape(x)[0])), start = replace(repeat(0, rank(x)), [0], s[0]), size = n) "
     "where rank(x) > 0",
     ALL},
    {"replaced_wrong",
     "subtensor(x, start = s, size = n) => subtensor(subtensor(x, start = replace(s, [0], 0), size "
     "= replace(n, [0], shape(x)[0])), start = replace(s, [0], s[0]), size = n) where rank(x) > 0",
     1},
    {"insert",
     "sum(x, axes = a, keepdims = true) => reshape(sum(x, axes = a), shape = "
     "insert(remove(shape(x), axes(rank(x), a)), axes(rank(x), a), 1))",
     2},
    {"insert_wrong",
     "sum(x, axes = a, keepdims = true) => reshape(sum(x, axes = a), shape = "
     "insert(remove(shape(x), axes(rank(x), a)), range(length(axes(rank(x), a))), 1))",
     1},
    {"remove",
     "reshape(x, shape = s) => dimshuffle(x, order = remove(range(rank(x)), places(shape(x), 1))) "
     "where s == remove(shape(x), places(shape(x), 1))",
     2},
    {"remove_wrong",
     "dimshuffle(x, order = p) => dimshuffle(x, order = remove(p, [0])) where length(p) > 0", 0},
    {"position",
     "dimshuffle(dimshuffle(x, order = p), order = q) => x where permutation(p), length(p) == "
     "rank(x), q == position(p, range(rank(x)))",
     2},
    {"position_wrong",
     "dimshuffle(dimshuffle(x, order = p), order = q) => x where permutation(p), length(p) == "
     "rank(x), q == position(reversed(p), range(rank(x)))",
     1},
    {"places",
     "reverse(x, axes = a) => reverse(x, axes = without(axes(rank(x), a), places(shape(x), 1)))",
     2},
    {"places_wrong",
     "reverse(x, axes = a) => reverse(x, axes = without(axes(rank(x), a), places(shape(x), 2)))",
     0},
    {"axes", "max(x, axes = a) => max(x, axes = axes(rank(x), a))", 2},
    {"axes_kept_wrong", "max(x, axes = a) => max(x, axes = axes_kept(rank(x), a))", 0},
    {"axes_kept", "max(x, axes = a) => max(x, axes = axes_kept(rank(x), axes_kept(rank(x), a)))",
     2},
    {"aligned",
     "broadcast_to(x, shape = s) => broadcast_to(reshape(x, shape = aligned(shape(x), length(s))), "
     "shape = s)",
     2},
    {"aligned_wrong",
     "broadcast_to(x, shape = s) => broadcast_to(reshape(x, shape = "
     "reversed(aligned(reversed(shape(x)), length(s)))), shape = s)",
     1},
    {"product",
     "reshape(x, shape = s) => reshape(reshape(x, shape = [product(shape(x))]), shape = s)", 2},
    {"total_wrong",
     "reshape(x, shape = s) => reshape(reshape(x, shape = [total(shape(x))]), shape = s)", 0},
    {"broadcast_shape", "x + y => x + broadcast_to(y, shape = broadcast_shape(shape(x), shape(y)))",
     ALL},
    {"max_wrong",
     "x + y => x + broadcast_to(y, shape = max(shape(x), shape(y))) where rank(x) == rank(y)", 0},
    {"max",
     "x + y => x + broadcast_to(y, shape = max(shape(x), shape(y))) where rank(x) == rank(y), "
     "shape(x) > 0, shape(y) > 0",
     ALL},
    {"min_wrong",
     "x + y => x + broadcast_to(y, shape = min(shape(x), shape(y))) where rank(x) == rank(y), "
     "shape(x) > 0, shape(y) > 0",
     0},
    {"subset", "reverse(x, axes = a) => x where subset(axes(rank(x), a), places(shape(x), 1))", 2},
    {"subset_wrong",
     "reverse(x, axes = a) => x where subset(places(shape(x), 1), axes(rank(x), a))", 0},
    {"disjoint",
     "cumsum(reverse(x, axes = a), axis = k) => reverse(cumsum(x, axis = k), axes = a) where "
     "disjoint(axes(rank(x), a), axes(rank(x), k))",
     2},
    {"disjoint_wrong",
     "cumsum(reverse(x, axes = a), axis = k) => reverse(cumsum(x, axis = k), axes = a) where not "
     "disjoint(axes(rank(x), a), axes(rank(x), k))",
     0},
    {"distinct",
     "dimshuffle(x, order = p) => x where distinct(p), sorted(p) == p, length(p) == rank(x), 0 <= "
     "p",
     2},
    {"distinct_wrong",
     "dimshuffle(x, order = p) => x where distinct(p), sorted(p) == p, length(p) == rank(x)", 1},
    {"permutation",
     "dimshuffle(x, order = p) => x where permutation(p), rank(x) <= 1, length(p) == rank(x)", 2},
    {"permutation_wrong",
     "dimshuffle(x, order = p) => x where permutation(p), rank(x) <= 2, length(p) == rank(x)", 1},
    {"identity", "dimshuffle(x, order = p) => x where identity(p), length(p) == rank(x)", 2},
    {"identity_wrong",
     "dimshuffle(x, order = p) => x where identity(reversed(p)), length(p) == rank(x)", 1},
    {"elements", "reverse(x, axes = a) => x where elements(x) <= 1", 2},
    {"elements_wrong", "reverse(x, axes = a) => x where elements(x) <= 2", 0},
    {"scalar", "reverse(x, axes = a) => x where scalar(x) or elements(x) == 1", ALL},
    {"scalar_wrong", "reverse(x, axes = a) => x where not scalar(x)", 0},
    {"same_shape", "x + y => x + broadcast_to(y, shape = shape(x)) where same_shape(x, y)", ALL},
    {"same_shape_wrong",
     "x + y => x + broadcast_to(y, shape = shape(x)) where same_dtype(x, y), rank(x) == rank(y)",
     0},
    {"unsigned", "abs(x) => x where unsigned(x)", ALL},
    {"unsigned_wrong", "abs(x) => x where integer(x)", 0},
    {"signed_wrong", "abs(x) => x where signed(x)", 0},
    {"same_dtype", "cast(x, dtype = d) => x where same_dtype(x, d)", ALL},
    {"same_dtype_wrong", "cast(x, dtype = d) => x where bits(x) == bits(d)", 0},
    {"promoted", "cast(x, dtype = d) => x where promote(x, d) == d, dtype(x) == d", ALL},
    {"index", "dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = p[q])",
     ALL},
    {"divided",
     "subtensor(x, start = s, size = n, step = t) => subtensor(x, start = s, size = n, step = t * "
     "3 // 3)",
     ALL},
    {"divided_wrong",
     "subtensor(x, start = s, size = n, step = t) => subtensor(x, start = s, size = n, step = t // "
     "3 * 3)",
     0},
    {"remainder",
     "subtensor(x, start = s, size = n, step = t) => subtensor(x, start = s, size = n, step = t // "
     "3 * 3 + t % 3)",
     ALL},
    {"remainder_wrong",
     "subtensor(x, start = s, size = n, step = t) => subtensor(x, start = s, size = n, step = t // "
     "3 + t % 3)",
     0},
    {"abs", "subtensor(x, start = s, size = n) => subtensor(x, start = abs(s), size = n)", ALL},
    {"concat",
     "reverse(x, axes = a) => reshape(reverse(reshape(x, shape = concat(1, shape(x))), axes = "
     "axes(rank(x), a) + 1), shape = shape(x))",
     2},
    {"concat_wrong",
     "reverse(x, axes = a) => reshape(reverse(reshape(x, shape = concat(shape(x), 1)), axes = "
     "axes(rank(x), a) + 1), shape = shape(x))",
     0},
    {"negative", "subtensor(x, start = s, size = n) => subtensor(x, start = -(-s), size = n)", ALL},
    {"negative_wrong",
     "subtensor(x, start = s, size = n) => subtensor(x, start = s - -s, size = n)", 0},
    {"count", "join(..xs, axis = k) => join(..xs, axis = k) where count(xs) >= 1", ALL},
    {"count_wrong",
     "reverse(join(..xs, axis = k), axes = a) => join(..xs, axis = k) where count(xs) == 1", 0},
    {"contains",
     "reverse(x, axes = a) => x where length(a) == 1, contains(places(shape(x), 1), "
     "total(axes(rank(x), a)))",
     2},
    {"contains_any_wrong", "reverse(x, axes = a) => x where length(a) == 1, contains(shape(x), 1)",
     1},
    {"same", "reverse(x, axes = a) => x where length(a) == 0 or not same(x, x)", ALL},
    {"same_unknown_wrong",
     "reverse(x + y, axes = a) => x + y where length(a) == 0 or not same(x, y)", 0},
    {"same_typed", "join(x, y, axis = k) => join(x, y, axis = k) where same_type(x, y)", ALL},
    {"exact_cast",
     "cast(cast(x, dtype = d), dtype = e) => x where exact_cast(dtype(x), d), e == dtype(x)", ALL},
    {"inexact_cast_wrong",
     "cast(cast(x, dtype = d), dtype = e) => x where exact_cast(d, dtype(x)), e == dtype(x)", 0},
    {"range",
     "max(x, axes = a) => max(x, axes = range(rank(x))) where axes(rank(x), a) == range(rank(x))",
     2},
    {"range_from_one_wrong",
     "max(x, axes = a) => max(x, axes = range(1, rank(x))) where axes(rank(x), a) == "
     "range(rank(x))",
     0},
    {"index_turned_wrong",
     "dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = q[p])", 0},
    {"bits",
     "cast(cast(x, dtype = d), dtype = e) => x where bits(x) == 8, bits(d) == 32, integer(x), "
     "integer(d), e == dtype(x)",
     ALL},
    {"bits_few_wrong",
     "cast(cast(x, dtype = d), dtype = e) => x where bits(x) == 32, bits(d) == 8, integer(x), "
     "integer(d), e == dtype(x)",
     0},
    {"bits_of_kinds_wrong",
     "cast(cast(x, dtype = d), dtype = e) => x where bits(x) == bits(d), integer(x), float(d), e "
     "== dtype(x)",
     0},
    {"numeric", "x * x * 0 => x * 0 where integer(x)", ALL},
    {"boolean_wrong", "abs(x) => x where numeric(x)", 0},
    {"boolean", "x * x => x where bool(x)", ALL},
    {"boolean_wrong_2", "x * x => x where not bool(x)", 0},
    {"boolean_wrong_3", "x * x => x where numeric(x)", 0},
    {"boolean_2", "x * x => x where not numeric(x)", ALL},
    {"min", "subtensor(x, start = s, size = n) => subtensor(x, start = min(s, s), size = n)", ALL},
    {"min_of_size_wrong",
     "subtensor(x, start = s, size = n) => subtensor(x, start = min(s, n), size = n)", 0},
    {"abs_of_less_wrong",
     "subtensor(x, start = s, size = n) => subtensor(x, start = abs(s - 1), size = n)", 0},
    {"same_shape_unrelated", "x + y => y + x where same_shape(x, y)", ALL},
    {"ne_wrong", "reverse(x, axes = a) => x where shape(x) != 1", 0},
    {"eqall", "reverse(x, axes = a) => x where shape(x) == 1", ALL},
    {"lt", "reverse(x, axes = a) => x where shape(x) < 2", ALL},
    {"lt_wrong", "reverse(x, axes = a) => x where shape(x) < 3", 0},
    {"le", "reverse(x, axes = a) => x where shape(x) <= 1", ALL},
    {"gt", "reverse(x, axes = a) => x where 2 > shape(x)", ALL},
    {"gt_wrong", "reverse(x, axes = a) => x where 3 > shape(x)", 0},
    {"ge", "reverse(x, axes = a) => x where 1 >= shape(x)", ALL},
    {"some_wrong", "reverse(x, axes = a) => x where min(shape(x)) <= 1", 1},
    {"none", "reverse(x, axes = a) => x where max(shape(x)) <= 1", 2},
    {"mod", "reverse(x, axes = a) => x where shape(x) == shape(x) % 2, rank(x) > 0", ALL},
    {"mod_wrong", "reverse(x, axes = a) => x where shape(x) == shape(x) % 3", 0},
    {"promote",
     "x + y => cast(x, dtype = promote(x, y)) + y where same_shape(x, y), same_dtype(x, y)", ALL},
};

void ct_register(void) {
  CT_ADD("terms", "table", table, NULL);
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    char name[20], text[600];
    snprintf(name, sizeof name, "row_%zu", k + 1);
    if (translate(cases[k].text, text, sizeof text)) { /* others are of tensors */
      CT_ADD_TO("terms", "is", name, check_case, &cases[k]);
    }
  }
  for (size_t k = 0; k < CT_COUNT(rules); k++) {
    CT_ADD_TO("terms", rules[k].ranks >= 2 ? "right" : "wrong", rules[k].name, check_proved,
              &rules[k]);
  }
}
