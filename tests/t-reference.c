/*
 * Tests of the references (verify/reference): small examples of every operation, worked by hand,
 * some of them computed with NumPy too and marked so, and conventions at ties and edges.
 *
 * Most run on the domain of plain.h, where tangents show the derivative at kinks; those marked IEEE
 * run on domain S. Attributes stand in the order of the row: "i1" an integer, "l1,2" a list (of
 * dims too), "df32" a dtype, "-" absent.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ops/ops.h"
#include "plain.h"
#include "reference/twin.h"

/* ---- Examples ---- */

enum { REAL, IEEE, HULL };

typedef struct example {
  const char *name; /* the operation's, then what is shown */
  int variant;
  const char *inputs[MAX_TENSORS];
  const char *attrs;
  const char *outputs[MAX_TENSORS]; /* none: the reference fails with STATUS */
  gemel_status status;
} example;

/* A mark that shows what was covered. */
static void d_hull(gemel__domain *d, void *e, const void *pa, const void *pb) {
  double a = ((const number *)pa)->v, b = ((const number *)pb)->v;
  d_from_double(d, e, 1000 + 10 * a + b);
}

static size_t read_attrs(const char *text, gemel_attr *attrs, int64_t *storage) {
  size_t n = 0;
  for (; *text; text += *text == ' ', n++) {
    attrs[n] = (gemel_attr){"", GEMEL_ATTR_NONE, 0, {0}};
    char kind = *text++;
    if (kind == 'i') {
      attrs[n] = gemel_attr_int("", strtoll(text, NULL, 10));
      text += strcspn(text, " ");
    } else if (kind == 'd') {
      attrs[n] = gemel_attr_dtype("", read_dtype(&text));
    } else if (kind == 'l') {
      size_t count = read_list(&text, ' ', storage);
      attrs[n] = gemel_attr_ints("", count, storage);
      storage += count;
    }
  }
  return n;
}

static void check_outputs(gemel__domain *d, const example *ex, gemel__rcall *call) {
  for (size_t k = 0; k < MAX_TENSORS && ex->outputs[k]; k++) {
    CT_REQUIRE(CT_CHECK(k < call->n_outputs));
    gemel__rtensor wanted = read_tensor(d, ex->outputs[k]);
    same_tensor(&call->outputs[k], &wanted);
    gemel__rtensor_clear(&wanted);
  }
}

static gemel__reference reference_of(const char *name) {
  uint32_t op = 1;
  while (op < GEMEL__OP_COUNT && strcmp(gemel__rows[op].name, name) != 0) {
    op++;
  }
  return gemel__twin_of(op)->reference;
}

static void run_on(gemel__domain *d, const example *ex) {
  gemel__rtensor inputs[MAX_TENSORS] = {{0}}, outputs[MAX_TENSORS] = {{0}};
  const gemel__rtensor *pointers[MAX_TENSORS];
  gemel_attr attrs[6] = {{0}};
  int64_t storage[64];
  char name[40] = "";
  gemel_error error = {0};
  memcpy(name, ex->name, strcspn(ex->name, "/"));
  gemel__reference reference = reference_of(name);
  CT_REQUIRE(reference != NULL);
  gemel__rcall call = {.domain = d,
                       .inputs = pointers,
                       .attrs = attrs,
                       .max_outputs = MAX_TENSORS,
                       .outputs = outputs,
                       .error = &error};
  for (; call.n_inputs < MAX_TENSORS && ex->inputs[call.n_inputs]; call.n_inputs++) {
    inputs[call.n_inputs] = read_tensor(d, ex->inputs[call.n_inputs]);
    pointers[call.n_inputs] = &inputs[call.n_inputs];
  }
  read_attrs(ex->attrs ? ex->attrs : "", attrs, storage);
  CT_EQ_INT(reference(&call), ex->status);
  CT_EQ_INT(error.status, ex->status);
  if (ex->status == GEMEL_OK) {
    check_outputs(d, ex, &call);
  }
  for (size_t k = 0; k < MAX_TENSORS; k++) {
    gemel__rtensor_clear(&inputs[k]);
    gemel__rtensor_clear(&outputs[k]);
  }
}

/* 1 if an input or output is unknown or undecided: those words are the plain domain's own. */
static int is_vague(const example *ex) {
  int vague = 0;
  for (size_t k = 0; k < MAX_TENSORS; k++) {
    vague |= ex->inputs[k] && strpbrk(ex->inputs[k], "?!") != NULL;
    vague |= ex->inputs[k] && strstr(ex->inputs[k], "nan") != NULL;
    vague |= ex->outputs[k] && strchr(ex->outputs[k], '?') != NULL;
  }
  return vague;
}

/* The numbers on domains O and B, where the expected ones, rounded once, are within the bound too.
 */
static void run_elsewhere(const example *ex) {
  gemel__ordered *o = gemel__ordered_new(128);
  gemel__bound *b = gemel__bound_new(128);
  if (CT_CHECK(o && b)) {
    ct_context("domain O");
    run_on(&o->domain, ex);
    ct_context("domain B");
    run_on(&b->domain, ex);
  }
  gemel__bound_free(b);
  gemel__ordered_free(o);
}

static void run_example(const void *data) {
  const example *ex = data;
  if (ex->variant == IEEE) {
    gemel__special *s = gemel__special_new();
    CT_REQUIRE(s != NULL);
    run_on(&s->domain, ex);
    gemel__special_free(s);
  } else {
    gemel__domain d = plain;
    d.hull = ex->variant == HULL ? d_hull : NULL;
    run_on(&d, ex);
    if (ex->variant == REAL && !is_vague(ex)) {
      run_elsewhere(ex);
    }
  }
  gemel__domains_cleanup();
}

#define INF_NAN "f64[4] inf -inf nan -0"

/* Scalar operations. Tangents show the conventions that the rows of lib/ops/scalar.def state. */
static const example scalars[] = {
    {"add/broadcast",
     REAL,
     {"f32[2,1] 1 2", "f32[3] 10 20 30"},
     "",
     {"f32[2,3] 11 21 31 12 22 32"},
     0},
    {"add/of_bools_is_or",
     REAL,
     {"bool[4] 0 0 1 1", "bool[4] 0 1 0 1"},
     "",
     {"bool[4] 0 1 1 1"},
     0},
    {"add/wraps", REAL, {"i8[2] 127 -128", "i8[2] 1 -1"}, "", {"i8[2] -128 127"}, 0},
    {"add/empty", REAL, {"f32[0,1]", "f32[3] 1 2 3"}, "", {"f32[0,3]"}, 0},
    {"add/shapes_that_do_not_fit",
     REAL,
     {"f32[2] 1 2", "f32[3] 1 2 3"},
     "",
     {NULL},
     GEMEL_BAD_SHAPE},
    {"sub/values", REAL, {"f32[] 5~1", "f32[2] 2~0 3~1"}, "", {"f32[2] 3~1 2"}, 0},
    {"mul/of_bools_is_and",
     REAL,
     {"bool[4] 0 0 1 1", "bool[4] 0 1 0 1"},
     "",
     {"bool[4] 0 0 0 1"},
     0},
    {"mul/wraps", REAL, {"u8[1] 200", "u8[1] 2"}, "", {"u8[1] 144"}, 0},
    {"div/values", REAL, {"f64[2] 1 -6", "f64[2] 4 3"}, "", {"f64[2] 0.25 -2"}, 0},
    {"div/by_zero_is_undefined", REAL, {"f64[1] 1", "f64[1] 0"}, "", {"f64[1] !"}, 0},
    {"div/by_zero_in_ieee", IEEE, {"f64[3] 1 -1 0", "f64[1] 0"}, "", {"f64[3] inf -inf nan"}, 0},
    /* Python: 7 % 3, -7 % 3, 7 % -3, -7 % -3 */
    {"mod/sign_of_divisor",
     REAL,
     {"f32[4] 7 -7 7 -7", "f32[4] 3 3 -3 -3"},
     "",
     {"f32[4] 1 2 -2 -1"},
     0},
    {"mod/integers",
     REAL,
     {"i32[5] 7 -7 7 -7 5", "i32[5] 3 3 -3 -3 0"},
     "",
     {"i32[5] 1 2 -2 -1 0"},
     0},
    /* Python: 1 % inf, -1 % inf, -0.0 % 3, 6 % -3, inf % 3, 1 % 0 (an error there), 1e308 % 3e-300
     */
    {"mod/ieee",
     IEEE,
     {"f64[6] 1 -1 -0 6 inf 1", "f64[6] inf inf 3 -3 3 0"},
     "",
     {"f64[6] 1 inf 0 -0 nan nan"},
     0},
    {"mod/huge_quotient", IEEE, {"f64[2] 1e308 -1e308", "f64[2] 7 7"}, "", {"f64[2] 3 4"}, 0},
    {"neg/values", REAL, {"f32[2] 1~1 -2"}, "", {"f32[2] -1~-1 2"}, 0},
    {"neg/wraps", REAL, {"i8[2] -128 5"}, "", {"i8[2] -128 -5"}, 0},
    {"neg/unsigned", REAL, {"u8[2] 1 0"}, "", {"u8[2] 255 0"}, 0},
    {"abs/tangents", REAL, {"f32[3] -2~1 0~1 3~1"}, "", {"f32[3] 2~-1 0 3~1"}, 0},
    {"abs/wraps", REAL, {"i8[2] -128 -3"}, "", {"i8[2] -128 3"}, 0},
    {"abs/ieee", IEEE, {INF_NAN}, "", {"f64[4] inf inf nan 0"}, 0},
    {"abs/unknown_sign", REAL, {"f32[1] nan"}, "", {"f32[1] ?"}, 0},
    {"abs/of_nothing", REAL, {"f32[1] !"}, "", {"f32[1] !"}, 0},
    {"sign/tangents", REAL, {"f32[3] -2~1 0~1 3~1"}, "", {"f32[3] -1 0 1"}, 0},
    {"sign/ieee", IEEE, {INF_NAN}, "", {"f64[4] 1 -1 nan -0"}, 0},
    {"sign/unknown_sign", HULL, {"f32[1] nan"}, "", {"f32[1] 991"}, 0},
    {"sqr/values", REAL, {"f32[2] -3~1 2"}, "", {"f32[2] 9~-6 4"}, 0},
    {"sqrt/values", REAL, {"f32[2] 9~6 4"}, "", {"f32[2] 3~1 2"}, 0},
    {"pow/values", REAL, {"f64[2] 2~1 9", "f64[2] 3 0.5"}, "", {"f64[2] 8~12 3"}, 0},
    /* 3^5 = 243 = -13 modulo 256; 0^0 = 1; 2^-1 = 0; (-1)^-3 = -1; 1^-2 = 1; 0^-1 = 0 */
    {"pow/integers",
     REAL,
     {"i8[6] 3 0 2 -1 1 0", "i8[6] 5 0 -1 -3 -2 -1"},
     "",
     {"i8[6] -13 1 0 -1 1 0"},
     0},
    {"pow/unsigned", REAL, {"u8[3] 255 2 3", "u8[3] 255 8 200"}, "", {"u8[3] 255 0 161"}, 0},
    {"exp/values", REAL, {"f64[2] 0~2 1"}, "", {"f64[2] 1~2 2.718281828459045"}, 0},
    {"log/values", REAL, {"f64[2] 1~3 2"}, "", {"f64[2] 0~3 0.6931471805599453"}, 0},
    {"log1p/values", REAL, {"f64[2] 0~1 1"}, "", {"f64[2] 0~1 0.6931471805599453"}, 0},
    {"expm1/values", REAL, {"f64[2] 0~1 1"}, "", {"f64[2] 0~1 1.718281828459045"}, 0},
    {"tanh/values",
     REAL,
     {"f64[3] 0~1 1 -2"},
     "",
     {"f64[3] 0~1 0.7615941559557649 -0.9640275800758169"},
     0},
    {"tanh/ieee", IEEE, {"f64[5] inf -inf -0 1e-300 nan"}, "", {"f64[5] 1 -1 -0 1e-300 nan"}, 0},
    {"expm1/ieee", IEEE, {"f64[4] inf -inf -0 1e-300"}, "", {"f64[4] inf -1 -0 1e-300"}, 0},
    {"log1p/ieee", IEEE, {"f64[4] inf -1 -0 -2"}, "", {"f64[4] inf -inf -0 nan"}, 0},
    {"sigmoid/ieee",
     IEEE,
     {"f64[4] inf -inf -745 nan"},
     "",
     {"f64[4] 1 0 4.9406564584124654e-324 nan"},
     0},
    {"sigmoid/values",
     REAL,
     {"f64[3] 0~4 2 -2"},
     "",
     {"f64[3] 0.5~1 0.88079707797788244 0.11920292202211756"},
     0},
    {"relu/tangents", REAL, {"f32[3] -1~1 0~1 2~1"}, "", {"f32[3] 0 0 2~1"}, 0},
    {"relu/ieee", IEEE, {INF_NAN}, "", {"f64[4] inf 0 nan 0"}, 0},
    {"relu/unknown_sign", HULL, {"f32[1] nan~1"}, "", {"f32[1] nan"}, 0},
    {"maximum/tangents",
     REAL,
     {"f32[3] 1~1 2~1 3~1", "f32[3] 2~5 2~5 2~5"},
     "",
     {"f32[3] 2~5 2~3 3~1"},
     0},
    {"maximum/ieee",
     IEEE,
     {"f64[6] nan 1 -0 0 -0 inf", "f64[6] 1 nan 0 -0 -0 inf"},
     "",
     {"f64[6] nan nan 0 0 -0 inf"},
     0},
    {"maximum/undecided", REAL, {"f64[1] nan", "f64[1] 1"}, "", {"f64[1] ?"}, 0},
    {"minimum/tangents",
     REAL,
     {"f32[3] 1~1 2~1 3~1", "f32[3] 2~5 2~5 2~5"},
     "",
     {"f32[3] 1~1 2~3 2~5"},
     0},
    {"minimum/ieee",
     IEEE,
     {"f64[5] nan 1 -0 0 -inf", "f64[5] 1 nan 0 -0 -inf"},
     "",
     {"f64[5] nan nan -0 -0 -inf"},
     0},
    {"clip/tangents",
     REAL,
     {"f32[5] 0~1 1~1 2~1 3~1 4~1", "f32[] 1~10", "f32[] 3~100"},
     "",
     {"f32[5] 1~10 1~1 2~1 3~1 3~100"},
     0},
    {"clip/crossed_bounds",
     REAL,
     {"f32[3] 0~1 2~1 5~1", "f32[] 3~10", "f32[] 1~100"},
     "",
     {"f32[3] 1~100 1~100 1~100"},
     0},
    {"clip/ieee",
     IEEE,
     {"f64[4] nan -0 -inf inf", "f64[] 0", "f64[4] 1 1 1 nan"},
     "",
     {"f64[4] nan 0 0 nan"},
     0},
    {"eq/ieee", IEEE, {"f64[4] 1 nan inf -0", "f64[4] 1 nan inf 0"}, "", {"bool[4] 1 0 1 1"}, 0},
    {"ne/ieee", IEEE, {"f64[4] 1 nan inf -0", "f64[4] 1 nan inf 0"}, "", {"bool[4] 0 1 0 0"}, 0},
    {"lt/values", REAL, {"i32[3] 1 2 3", "i32[] 2"}, "", {"bool[3] 1 0 0"}, 0},
    {"le/values", REAL, {"i32[3] 1 2 3", "i32[] 2"}, "", {"bool[3] 1 1 0"}, 0},
    {"gt/values", REAL, {"i32[3] 1 2 3", "i32[] 2"}, "", {"bool[3] 0 0 1"}, 0},
    {"ge/values", REAL, {"i32[3] 1 2 3", "i32[] 2"}, "", {"bool[3] 0 1 1"}, 0},
    {"lt/nan", IEEE, {"f64[2] nan 1", "f64[2] 1 nan"}, "", {"bool[2] 0 0"}, 0},
    {"ge/nan", IEEE, {"f64[2] nan 1", "f64[2] 1 nan"}, "", {"bool[2] 0 0"}, 0},
    {"gt/infinities", IEEE, {"f64[3] inf inf 1", "f64[3] inf -inf -inf"}, "", {"bool[3] 0 1 1"}, 0},
    {"lt/undecided", REAL, {"f64[1] nan", "f64[1] 1"}, "", {"bool[1] ?"}, 0},
    {"lt/undecided_with_hull", HULL, {"f64[1] nan", "f64[1] 1"}, "", {"bool[1] 1001"}, 0},
    {"logical_and/values",
     REAL,
     {"bool[4] 0 0 1 1", "bool[4] 0 1 0 1"},
     "",
     {"bool[4] 0 0 0 1"},
     0},
    {"logical_or/values", REAL, {"bool[4] 0 0 1 1", "bool[4] 0 1 0 1"}, "", {"bool[4] 0 1 1 1"}, 0},
    {"logical_not/values", REAL, {"bool[2] 0 1"}, "", {"bool[2] 1 0"}, 0},
    {"where/tangents",
     REAL,
     {"bool[2] 1 0", "f32[2] 1~1 2~1", "f32[] 5~7"},
     "",
     {"f32[2] 1~1 5~7"},
     0},
    {"where/other_branch_is_nan",
     IEEE,
     {"bool[2] 1 0", "f32[2] 1 nan", "f32[2] nan 2"},
     "",
     {"f32[2] 1 2"},
     0},
    {"where/other_branch_is_undefined",
     REAL,
     {"bool[1] 0", "f32[1] !", "f32[1] 2"},
     "",
     {"f32[1] 2"},
     0},
    {"where/undecided", HULL, {"bool[1] nan", "f32[1] 1", "f32[1] 2"}, "", {"f32[1] 1012"}, 0},
    {"cast/truncates", REAL, {"f64[5] 2.7 -2.7 -0.5 0 3"}, "di32", {"i32[5] 2 -2 0 0 3"}, 0},
    {"cast/saturates", REAL, {"f64[3] 300 -300 127.9"}, "di8", {"i8[3] 127 -128 127"}, 0},
    {"cast/saturates_unsigned", REAL, {"f64[3] -1 255.5 256"}, "du8", {"u8[3] 0 255 255"}, 0},
    {"cast/nan_and_infinities", IEEE, {INF_NAN}, "di16", {"i16[4] 32767 -32768 0 0"}, 0},
    {"cast/wraps", REAL, {"i32[3] 300 -1 128"}, "di8", {"i8[3] 44 -1 -128"}, 0},
    {"cast/to_bool", IEEE, {"f64[5] 0 -0 0.5 nan -3"}, "dbool", {"bool[5] 0 0 1 1 1"}, 0},
    {"cast/from_bool", REAL, {"bool[2] 0 1"}, "df32", {"f32[2] 0 1"}, 0},
    {"cast/keeps_tangents", REAL, {"f64[1] 0.1~3"}, "df32", {"f32[1] 0.1~3"}, 0},
    {"cast/undecided", REAL, {"f64[1] nan"}, "di32", {"i32[1] ?"}, 0},
};

/* Shapes and indices. Those marked N were also computed with NumPy 2.4.6, by the expression that
 * the mark shows; all others by hand. */
static const example shapes[] = {
    {"size/value", REAL, {NULL}, "i7", {"i64[] 7"}, 0},
    {"arange/i64", REAL, {NULL}, "i4 di64", {"i64[4] 0 1 2 3"}, 0},
    {"arange/bool", REAL, {NULL}, "i2 dbool", {"bool[2] 0 1"}, 0},
    {"arange/none", REAL, {NULL}, "i0 df32", {"f32[0]"}, 0},
    {"arange/negative", REAL, {NULL}, "i-1 df32", {NULL}, GEMEL_BAD_SHAPE},
    /* N: np.arange(6).reshape(2, 3).T */
    {"dimshuffle/transpose", REAL, {"f32[2,3] 0 1 2 3 4 5"}, "l1,0", {"f32[3,2] 0 3 1 4 2 5"}, 0},
    {"dimshuffle/new_and_dropped_axes", REAL, {"f32[1,2] 5 6"}, "l-1,1,-1", {"f32[1,2,1] 5 6"}, 0},
    /* N: np.arange(6).reshape(1, 2, 3).transpose(2, 0, 1) */
    {"dimshuffle/three_axes",
     REAL,
     {"f32[1,2,3] 0 1 2 3 4 5"},
     "l2,0,1",
     {"f32[3,1,2] 0 3 1 4 2 5"},
     0},
    {"dimshuffle/drops_too_much", REAL, {"f32[2,1] 5 6"}, "l1", {NULL}, GEMEL_BAD_SHAPE},
    {"dimshuffle/names_twice", REAL, {"f32[2,2] 1 2 3 4"}, "l1,1", {NULL}, GEMEL_BAD_SHAPE},
    {"reshape/row_major", REAL, {"f32[2,3] 0 1 2 3 4 5"}, "l3,2", {"f32[3,2] 0 1 2 3 4 5"}, 0},
    {"reshape/to_scalar", REAL, {"f32[1,1] 4"}, "l", {"f32[] 4"}, 0},
    {"reshape/wrong_count", REAL, {"f32[4] 0 1 2 3"}, "l3", {NULL}, GEMEL_BAD_SHAPE},
    {"broadcast_to/rows",
     REAL,
     {"f32[2,1] 1 2"},
     "l2,2,3",
     {"f32[2,2,3] 1 1 1 2 2 2 1 1 1 2 2 2"},
     0},
    {"broadcast_to/shrinks", REAL, {"f32[3] 1 2 3"}, "l1", {NULL}, GEMEL_BAD_SHAPE},
    {"fill/dtype_of_value", REAL, {"f32[2,2] 1 2 3 4", "i32[] 7"}, "", {"i32[2,2] 7 7 7 7"}, 0},
    {"reverse/one_axis", REAL, {"f32[2,2] 1 2 3 4"}, "l1", {"f32[2,2] 2 1 4 3"}, 0},
    {"reverse/both_axes", REAL, {"f32[2,2] 1 2 3 4"}, "l0,-1", {"f32[2,2] 4 3 2 1"}, 0},
    {"reverse/no_axes", REAL, {"f32[2] 1 2"}, "l", {"f32[2] 1 2"}, 0},
    {"pad/low_high", REAL, {"f32[2] 1 2", "f32[] 9"}, "l1 l2 -", {"f32[5] 9 1 2 9 9"}, 0},
    {"pad/negative", REAL, {"f32[4] 1 2 3 4", "f32[] 9"}, "l-1 l-2 -", {"f32[1] 2"}, 0},
    {"pad/interior", REAL, {"f32[3] 1 2 3", "f32[] 9"}, "l0 l1 l1", {"f32[6] 1 9 2 9 3 9"}, 0},
    {"pad/cuts_after_spreading",
     REAL,
     {"f32[3] 1 2 3", "f32[] 9"},
     "l-1 l-1 l2",
     {"f32[5] 9 9 2 9 9"},
     0},
    {"pad/empty", REAL, {"f32[0]", "f32[] 9"}, "l1 l1 l5", {"f32[2] 9 9"}, 0},
    {"pad/two_axes", REAL, {"f32[1,2] 1 2", "f32[] 0"}, "l1,0 l0,1 -", {"f32[2,3] 0 0 0 1 2 0"}, 0},
    {"pad/below_nothing", REAL, {"f32[2] 1 2", "f32[] 0"}, "l-3 l0 -", {NULL}, GEMEL_BAD_SHAPE},
    {"join/rows", REAL, {"f32[1,2] 1 2", "f32[2,2] 3 4 5 6"}, "i0", {"f32[3,2] 1 2 3 4 5 6"}, 0},
    {"join/columns",
     REAL,
     {"f32[2,1] 1 2", "f32[2,0]", "f32[2,2] 3 4 5 6"},
     "i-1",
     {"f32[2,3] 1 3 4 2 5 6"},
     0},
    {"join/sizes_differ", REAL, {"f32[1,2] 1 2", "f32[1,1] 3"}, "i0", {NULL}, GEMEL_BAD_SHAPE},
    {"split/columns",
     REAL,
     {"f32[2,3] 1 2 3 4 5 6"},
     "l1,0,2 i1",
     {"f32[2,1] 1 4", "f32[2,0]", "f32[2,2] 2 3 5 6"},
     0},
    {"split/rest", REAL, {"f32[3] 1 2 3"}, "l1,1 i0", {NULL}, GEMEL_BAD_SHAPE},
    /* N: np.arange(12).reshape(3, 4)[2::-2, 1:4:2] */
    {"subtensor/steps",
     REAL,
     {"f32[3,4] 0 1 2 3 4 5 6 7 8 9 10 11"},
     "l2,1 l2,2 l-2,2",
     {"f32[2,2] 9 11 1 3"},
     0},
    {"subtensor/no_steps", REAL, {"f32[4] 0 1 2 3"}, "l1 l2 -", {"f32[2] 1 2"}, 0},
    {"subtensor/nothing_at_the_end", REAL, {"f32[2] 1 2"}, "l2 l0 -", {"f32[0]"}, 0},
    {"subtensor/outside", REAL, {"f32[2] 1 2"}, "l1 l2 -", {NULL}, GEMEL_BAD_VALUE},
    {"subtensor/before", REAL, {"f32[2] 1 2"}, "l0 l2 l-1", {NULL}, GEMEL_BAD_VALUE},
    {"subtensor/negative_start", REAL, {"f32[2] 1 2"}, "l-1 l2 -", {NULL}, GEMEL_BAD_VALUE},
    {"set_subtensor/reverse",
     REAL,
     {"f32[4] 0 1 2 3", "f32[2] 8~1 9"},
     "l3 l-2",
     {"f32[4] 0 9 2 8~1"},
     0},
    {"inc_subtensor/steps",
     REAL,
     {"f32[4] 0 1 2 3", "f32[2] 8~1 9"},
     "l0 l3",
     {"f32[4] 8~1 1 2 12"},
     0},
    {"inc_subtensor/wraps", REAL, {"i8[2] 100 1", "i8[1] 100"}, "l0 -", {"i8[2] -56 1"}, 0},
};

/* Reductions, products and losses. */
static const example reductions[] = {
    {"sum/all", REAL, {"f32[2,2] 1 2~1 3 4~2"}, "- i0", {"f32[] 10~3"}, 0},
    {"sum/axis", REAL, {"f32[2,3] 1 2 3 4 5 6"}, "l1 i0", {"f32[2] 6 15"}, 0},
    {"sum/first_axis_kept", REAL, {"f32[2,3] 1 2 3 4 5 6"}, "l0 i1", {"f32[1,3] 5 7 9"}, 0},
    {"sum/no_axes", REAL, {"f32[2] 1 2"}, "l i0", {"f32[2] 1 2"}, 0},
    {"sum/of_nothing", REAL, {"f32[2,0]"}, "l1 i0", {"f32[2] 0 0"}, 0},
    {"sum/of_bools", REAL, {"bool[3] 1 1 0"}, "- i0", {"i64[] 2"}, 0},
    {"sum/of_u8", REAL, {"u8[2] 255 255"}, "- i0", {"u64[] 510"}, 0},
    {"sum/of_i8", REAL, {"i8[2] 127 127"}, "- i0", {"i64[] 254"}, 0},
    {"sum/names_twice", REAL, {"f32[2] 1 2"}, "l0,-1 i0", {NULL}, GEMEL_BAD_SHAPE},
    {"prod/axis", REAL, {"f32[2,2] 2~1 3 0~1 5"}, "l1 i0", {"f32[2] 6~3 0~5"}, 0},
    {"prod/of_nothing", REAL, {"f32[0]"}, "- i0", {"f32[] 1"}, 0},
    {"prod/of_i32", REAL, {"i32[2] 65536 65536"}, "- i0", {"i64[] 4294967296"}, 0},
    {"max/ties_share", REAL, {"f32[6] 1~9 1~9 3~1 1~9 3~4 3~4"}, "- i0", {"f32[] 3~3"}, 0},
    {"max/axis", REAL, {"i32[2,3] 1 5 2 -1 -7 -3"}, "l1 i1", {"i32[2,1] 5 -1"}, 0},
    {"max/nan", IEEE, {"f64[2,3] 1 nan 3 1 2 nan"}, "l1 i0", {"f64[2] nan nan"}, 0},
    {"max/zeros", IEEE, {"f64[2,2] -0 0 -0 -0"}, "l1 i0", {"f64[2] 0 -0"}, 0},
    {"max/infinities", IEEE, {"f64[3] -inf -inf -inf"}, "- i0", {"f64[] -inf"}, 0},
    {"max/undecided", REAL, {"f64[3] 1 nan 2"}, "- i0", {"f64[] ?"}, 0},
    {"max/of_nothing", REAL, {"f32[2,0]"}, "l1 i0", {NULL}, GEMEL_BAD_SHAPE},
    {"argmax/first_of_ties", REAL, {"f32[2,4] 1 3 3 2 -1 -1 -2 -1"}, "i1", {"i64[2] 1 0"}, 0},
    {"argmax/first_axis", REAL, {"f32[2,2] 1 5 2 4"}, "i0", {"i64[2] 1 0"}, 0},
    {"argmax/nan", IEEE, {"f64[2,4] 1 inf nan nan nan 1 inf 2"}, "i-1", {"i64[2] 2 0"}, 0},
    {"argmax/undecided", REAL, {"f64[2] 1 nan"}, "i0", {"i64[] ?"}, 0},
    {"argmax/of_nothing", REAL, {"f32[0]"}, "i0", {NULL}, GEMEL_BAD_SHAPE},
    /* N: np.array([[1, 2], [3, 4]]) @ np.array([[5, 6], [7, 8]]) */
    {"dot/matrices",
     REAL,
     {"f32[2,2] 1 2 3 4", "f32[2,2] 5 6 7 8"},
     "- - - -",
     {"f32[2,2] 19 22 43 50"},
     0},
    {"dot/vectors", REAL, {"f32[3] 1 2 3", "f32[3] 4~1 5 6"}, "- - - -", {"f32[] 32~1"}, 0},
    {"dot/matrix_vector",
     REAL,
     {"f32[2,3] 1 2 3 4 5 6", "f32[3] 1 0 2"},
     "- - - -",
     {"f32[2] 7 16"},
     0},
    {"dot/vector_matrix",
     REAL,
     {"f32[2] 1 2", "f32[2,3] 1 2 3 4 5 6"},
     "- - - -",
     {"f32[3] 9 12 15"},
     0},
    /* N: np.matmul(np.arange(8).reshape(2, 2, 2), np.arange(8).reshape(2, 2, 2)) */
    {"dot/leading_axis",
     REAL,
     {"f32[2,2,2] 0 1 2 3 4 5 6 7", "f32[2,2,2] 0 1 2 3 4 5 6 7"},
     "- - - -",
     {"f32[2,2,2] 2 3 6 11 46 55 66 79"},
     0},
    {"dot/empty_sum", REAL, {"f32[2,0]", "f32[0,1]"}, "- - - -", {"f32[2,1] 0 0"}, 0},
    {"dot/wraps", REAL, {"i8[2] 100 100", "i8[2] 2 1"}, "- - - -", {"i8[] 44"}, 0},
    {"dot/of_bools", REAL, {"bool[2,2] 0 1 0 0", "bool[2,1] 1 1"}, "- - - -", {"bool[2,1] 1 0"}, 0},
    /* N: np.tensordot(np.arange(6).reshape(2, 3), np.arange(6).reshape(2, 3), axes=([0], [0])) */
    {"dot/contracts_first",
     REAL,
     {"f32[2,3] 0 1 2 3 4 5", "f32[2,3] 0 1 2 3 4 5"},
     "l0 l0 - -",
     {"f32[3,3] 9 12 15 12 17 22 15 22 29"},
     0},
    {"dot/outer", REAL, {"f32[2] 1 2", "f32[2] 3 4"}, "l l l l", {"f32[2,2] 3 4 6 8"}, 0},
    /* N: np.einsum('bi,jb->bij', [[1, 2], [3, 4]], [[1, 10], [2, 20], [3, 30]]) */
    {"dot/batch_axes",
     REAL,
     {"f32[2,2] 1 2 3 4", "f32[3,2] 1 10 2 20 3 30"},
     "- - l0 l1",
     {"f32[2,2,3] 1 2 3 2 4 6 30 60 90 40 80 120"},
     0},
    {"dot/two_contracted",
     REAL,
     {"f32[2,2] 1 2 3 4", "f32[2,2] 5 6 7 8"},
     "l0,1 l1,0 - -",
     {"f32[] 69"},
     0},
    {"dot/sizes_differ", REAL, {"f32[2] 1 2", "f32[3] 1 2 3"}, "- - - -", {NULL}, GEMEL_BAD_SHAPE},
    {"dot/scalar", REAL, {"f32[] 1", "f32[3] 1 2 3"}, "- - - -", {NULL}, GEMEL_BAD_SHAPE},
    {"dot/axis_with_two_roles",
     REAL,
     {"f32[2] 1 2", "f32[2] 1 2"},
     "l0 l0 l0 l0",
     {NULL},
     GEMEL_BAD_SHAPE},
    /* softmax of [0, log 3] is [1/4, 3/4]; its derivative along e0 is [3/16, -3/16] */
    {"softmax/line",
     REAL,
     {"f64[2] 0~1 1.0986122886681098"},
     "i-1",
     {"f64[2] 0.25~0.1875 0.75~-0.1875"},
     0},
    {"softmax/first_axis",
     REAL,
     {"f64[2,2] 0 5 1.0986122886681098 5"},
     "i0",
     {"f64[2,2] 0.25 0.5 0.75 0.5"},
     0},
    {"softmax/large", IEEE, {"f64[2] 1000 1000"}, "i0", {"f64[2] 0.5 0.5"}, 0},
    {"softmax/infinities",
     IEEE,
     {"f64[4,2] inf 0 -inf -inf -inf 0 nan 0"},
     "i1",
     {"f64[4,2] nan nan nan nan 0 1 nan nan"},
     0},
    {"softmax/empty", REAL, {"f64[2,0]"}, "i1", {"f64[2,0]"}, 0},
    /* -log(3/4), and -(log(1/4) + 2 log(3/4)) */
    {"cross_entropy/indices",
     REAL,
     {"f64[2,2] 0 1.0986122886681098 1 1", "i64[2] 1 0"},
     "i-1",
     {"f64[2] 0.2876820724517809 0.6931471805599453"},
     0},
    {"cross_entropy/weights",
     REAL,
     {"f64[2] 0 1.0986122886681098", "f64[2] 1 2"},
     "i-1",
     {"f64[] 1.9616585060234524"},
     0},
    /* gradient of the loss at [0, log 3] with target 1 is softmax - onehot = [1/4, -1/4] */
    {"cross_entropy/tangent",
     REAL,
     {"f64[2] 0~1 1.0986122886681098", "i32[] 1"},
     "i0",
     {"f64[] 0.2876820724517809~0.25"},
     0},
    {"cross_entropy/shifted",
     IEEE,
     {"f64[2] 1000 1000", "u8[] 1"},
     "i0",
     {"f64[] 0.6931471805599453"},
     0},
    {"cross_entropy/infinities",
     IEEE,
     {"f64[4,2] 0 -inf 0 -inf inf 0 -inf -inf", "i64[4] 0 1 0 0"},
     "i1",
     {"f64[4] -0 inf nan nan"},
     0},
    {"cross_entropy/out_of_range", REAL, {"f64[2] 0 1", "i64[] 2"}, "i0", {NULL}, GEMEL_BAD_VALUE},
    {"cross_entropy/shapes", REAL, {"f64[2] 0 1", "i64[3] 0 0 0"}, "i0", {NULL}, GEMEL_BAD_SHAPE},
};

/* ---- Rounding: what the references ask of a domain ---- */

/* Runs one example and checks the ulps asked for in all. */
static void check_rounding(const char *op, const char *x, const char *y, const char *attrs,
                           gemel_dtype dtype, int count, double ulps) {
  gemel__domain d = plain;
  gemel__rtensor in[2] = {{0}}, out = {0};
  const gemel__rtensor *pointers[] = {&in[0], &in[1]};
  gemel_attr values[6];
  int64_t storage[16];
  in[0] = read_tensor(&d, x);
  if (y) {
    in[1] = read_tensor(&d, y);
  }
  read_attrs(attrs, values, storage);
  memset(roundings, 0, sizeof roundings);
  memset(units, 0, sizeof units);
  decisions = 0;
  gemel__rcall call = {.domain = &d,
                       .n_inputs = y ? 2 : 1,
                       .inputs = pointers,
                       .attrs = values,
                       .max_outputs = 1,
                       .outputs = &out};
  CT_EQ_INT(reference_of(op)(&call), GEMEL_OK);
  ct_context("%s, %s", op, gemel_dtype_name(dtype));
  CT_EQ_INT(roundings[dtype], count);
  CT_CHECK(units[dtype] == ulps);
  gemel__rtensor_clear(&in[0]);
  gemel__rtensor_clear(&in[1]);
  gemel__rtensor_clear(&out);
}

static void rounding(const void *data) {
  (void)data;
  check_rounding("add", "f32[] 1", "f32[] 2", "", GEMEL_F32, 1, 0.5);
  check_rounding("exp", "f64[] 1", NULL, "", GEMEL_F64, 1, 1);
  check_rounding("tanh", "f16[] 1", NULL, "", GEMEL_F32, 1, 1.5);
  check_rounding("tanh", "f16[] 1", NULL, "", GEMEL_F16, 1, 0.5);
  check_rounding("neg", "f16[] 1", NULL, "", GEMEL_F32, 0, 0);
  check_rounding("cast", "f64[] 1", NULL, "df16", GEMEL_F16, 1, 0.5);
  check_rounding("cast", "f64[] 1", NULL, "df16", GEMEL_F32, 0, 0);
  check_rounding("cast", "f16[] 1", NULL, "df32", GEMEL_F32, 1, 0);
  check_rounding("cast", "bf16[] 1", NULL, "df16", GEMEL_F16, 1, 0.5);
  check_rounding("cast", "i64[] 1", NULL, "df32", GEMEL_F32, 1, 0.5);
  check_rounding("sum", "bf16[3] 1 2 3", NULL, "- i0", GEMEL_BF16, 1, 0.5);
  check_rounding("sum", "f64[3] 1 2 3", NULL, "- i0", GEMEL_F64, 1, 0);
  check_rounding("prod", "f32[3] 1 2 3", NULL, "- i0", GEMEL_F32, 3, 1);
  check_rounding("dot", "f32[3] 1 2 3", "f32[3] 1 2 3", "- - - -", GEMEL_F32, 4, 1.5);
  check_rounding("max", "f32[3] 1 2 3", NULL, "- i0", GEMEL_F32, 0, 0);
  /* two exponentials, their sum, two quotients */
  check_rounding("softmax", "f32[2] 1 2", NULL, "i0", GEMEL_F32, 5, 7);
}

/* Over the reals the losses hang on no order of the logits, and a comparison is one decision. */
static void deciding(const void *data) {
  (void)data;
  check_rounding("softmax", "f32[2] 1 2", NULL, "i0", GEMEL_F64, 0, 0);
  CT_EQ_INT(decisions, 0);
  check_rounding("cross_entropy", "f32[2] 1 2", "i64[] 1", "i0", GEMEL_F64, 0, 0);
  CT_EQ_INT(decisions, 0);
  check_rounding("lt", "f32[] 1", "f32[] 2", "", GEMEL_F64, 0, 0);
  CT_EQ_INT(decisions, 1);
  check_rounding("max", "f32[3] 1 2 3", NULL, "- i0", GEMEL_F64, 0, 0);
  CT_EQ_INT(decisions, 2);
}

static const ct_test tests[] = {
    CT_TEST("rounding", rounding, NULL),
    CT_TEST("deciding", deciding, NULL),
};

static void add_examples(const example *examples, size_t count) {
  for (size_t i = 0; i < count; i++) {
    CT_ADD("reference", examples[i].name, run_example, &examples[i]);
  }
}

void ct_register(void) {
  ct_suite("reference", tests, CT_COUNT(tests));
  add_examples(scalars, CT_COUNT(scalars));
  add_examples(shapes, CT_COUNT(shapes));
  add_examples(reductions, CT_COUNT(reductions));
}
