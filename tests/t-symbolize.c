/*
 * Symbols for sizes: equal sizes have one symbol, 0 and 1 stay. An operation applies to the symbols
 * too, and where its result's sizes are its operands' or its attributes', the result on symbols is
 * the result's own shape in the same symbols.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include "core/apply.h"
#include "instances/propose.h"
#include "sample/symbolize.h"
#include "support/attributes.h"

static gemel_error error;

static gemel_type shaped(gemel_context *context, int rank, const int64_t *shape) {
  return gemel_type_of_shape(context, GEMEL_F32, rank, shape);
}

static void names(const void *data) {
  gemel_context *context = gemel_context_new(&error);
  gemel_type types[3] = {shaped(context, 3, (const int64_t[]){2, 1, 3}),
                         shaped(context, 3, (const int64_t[]){3, 0, 2}), shaped(context, 0, NULL)};
  gemel_type symbolic[3];
  gemel__symbols symbols = {0};
  char text[64];
  (void)data;
  CT_EQ_INT(gemel__symbolize(context, 3, types, symbolic, &symbols, &error), GEMEL_OK);
  gemel_type_format(context, symbolic[0], text, sizeof text);
  CT_EQ_STR(text, "f32[n2, 1, n3]");
  gemel_type_format(context, symbolic[1], text, sizeof text);
  CT_EQ_STR(text, "f32[n3, 0, n2]");
  CT_CHECK(gemel_type_equal(symbolic[2], types[2]));
  CT_EQ_UINT(symbols.count, 2);
  types[0] = gemel__symbolized(context, shaped(context, 2, (const int64_t[]){3, 5}), &symbols);
  gemel_type_format(context, types[0], text, sizeof text);
  CT_EQ_STR(text, "f32[n3, 5]");
  CT_EQ_INT(gemel__symbolize(context, 1, symbolic, types, &symbols, &error), GEMEL_OK);
  CT_CHECK(gemel_type_equal(types[0], symbolic[0]));
  gemel_context_unref(context);
}

static void many(const void *data) {
  gemel_context *context = gemel_context_new(&error);
  gemel__symbols symbols = {0};
  (void)data;
  for (int64_t size = 2; size < 100; size++) {
    gemel_type type = shaped(context, 1, &size), symbolic;
    CT_EQ_INT(gemel__symbolize(context, 1, &type, &symbolic, &symbols, &error), GEMEL_OK);
    CT_EQ_INT(!gemel_type_equal(symbolic, type), size < 2 + GEMEL__SYMBOLS);
  }
  gemel_context_unref(context);
}

/* Results of joins, and of what pads (`low`), have sizes that are sums or the like of their
 * operands'; those of what has a body are the body's, in which sizes may be constants. */
static int computes_sizes(const gemel_operation *op) {
  return strcmp(op->name, "join") == 0 || has_attribute(op, "low") || has_attribute(op, "body");
}

/* A next key is u64[2], whatever its key's size is called. */
static int is_next_key(const char *name, size_t output) {
  return strncmp(name, "random_", 7) == 0 && output == 1;
}

/* 1 if a size became a symbol. */
static int try_proposal(const gemel__proposal *p) {
  gemel__symbols symbols = {0};
  gemel_type inputs[GEMEL__PROPOSAL_INPUTS], outputs[GEMEL__PROPOSAL_OUTPUTS];
  size_t n_outputs = 0;
  uint32_t attrs = 0;
  CT_EQ_INT(gemel__symbolize(p->context, p->n_inputs, p->inputs, inputs, &symbols, &error),
            GEMEL_OK);
  CT_EQ_INT(gemel__symbolize_attrs(p->context, p->attrs_id, &symbols, &attrs, &error), GEMEL_OK);
  CT_EQ_INT(gemel__infer(p->context, p->op, attrs, p->n_inputs, inputs, NULL,
                         GEMEL__PROPOSAL_OUTPUTS, &n_outputs, outputs, &error),
            GEMEL_OK);
  CT_EQ_UINT(n_outputs, p->n_outputs);
  for (size_t k = 0; k < p->n_outputs && !computes_sizes(&p->op->record); k++) {
    CT_CHECK(
        gemel_type_equal(outputs[k], is_next_key(p->op->record.name, k)
                                         ? p->outputs[k]
                                         : gemel__symbolized(p->context, p->outputs[k], &symbols)));
  }
  return symbols.count > 0;
}

static void every_operation(const void *data) {
  gemel_context *context = gemel_context_new(&error);
  int seeds = getenv("GEMEL_VALGRIND") != NULL ? 10 : 300;
  (void)data;
  for (size_t k = 0; k < gemel_operation_count(context); k++) {
    const gemel_operation *op = gemel_operation_at(context, k);
    int found = 0, named = 0;
    for (uint64_t seed = 0; seed < (uint64_t)seeds; seed++) {
      gemel__random random;
      gemel__proposal p;
      gemel__random_seed(&random, seed);
      memset(&p, 0, sizeof p);
      p.context = context;
      p.random = &random;
      p.op = gemel__op_at(context, gemel__op_find(context, op->name));
      p.dtype = GEMEL_F32;
      ct_context("%s, seed %d", op->name, (int)seed);
      if (gemel__propose(&p, &error) == GEMEL_OK) {
        found++;
        named += try_proposal(&p);
      }
    }
    ct_context("%s: %d of %d with symbols", op->name, named, found);
    CT_CHECK(found == 0 || op->max_inputs == 0 || op->min_inputs == 0 || named * 8 > found);
  }
  gemel_context_unref(context);
}

static int oom_body(void *data) {
  gemel_error local = {0};
  gemel_context *context = gemel_context_new(&local);
  const int64_t shape[] = {2, 3};
  gemel_status status = local.status;
  (void)data;
  if (context != NULL) {
    gemel__symbols symbols = {0};
    gemel_type type = shaped(context, 2, shape), symbolic;
    status = gemel_type_is_none(type)
                 ? GEMEL_NO_MEMORY
                 : gemel__symbolize(context, 1, &type, &symbolic, &symbols, &local);
  }
  gemel_context_unref(context);
  return status;
}

static void out_of_memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(oom_body, NULL) > 0);
}

static const ct_test tests[] = {CT_TEST("names", names, NULL), CT_TEST("many", many, NULL),
                                CT_TEST("every-operation", every_operation, NULL),
                                CT_TEST("out-of-memory", out_of_memory, NULL)};

void ct_register(void) {
  ct_suite("symbolize", tests, CT_COUNT(tests));
}
