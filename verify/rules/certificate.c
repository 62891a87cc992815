/* SPDX-License-Identifier: MIT
 *
 * Certificates: what a program without gemel needs to see for itself that a rule holds. One is an
 * object of JSON with the rule's text, its class as measured, and instances: both sides as graph
 * text, inputs, and what came out, in a form that loses nothing. Each instance is for a model, that
 * is a kind of numbers that floats stand for: residues in a chain of prime fields (domain F), exact
 * rationals (domain O, and integers as the shipped code computes them), and IEEE floats with
 * special values (the shipped code). tools/recheck reads them.
 */
#include "rules/certificate.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "domains/field.h"
#include "domains/ordered.h"
#include "needs/needs.h"

enum { OF_REALS = 3, OF_INTEGERS = 2, MOST_RESULTS = 64, APART = 1000003 };

/* Text that grows; FAILED when memory is out. */
struct text {
  char *at;
  size_t used, capacity;
  int failed;
};

static void put(struct text *t, const char *text) {
  size_t length = strlen(text);
  if (t->failed || gemel__grow(&t->at, &t->capacity, t->used + length + 1, 1) != 0) {
    t->failed = 1;
    return;
  }
  memcpy(t->at + t->used, text, length + 1);
  t->used += length;
}

static void putf(struct text *t, const char *format, ...) GEMEL__PRINTF(2, 3);
static void putf(struct text *t, const char *format, ...) {
  char piece[256];
  va_list args;
  va_start(args, format);
  vsnprintf(piece, sizeof piece, format, args);
  va_end(args);
  put(t, piece);
}

/* As a string of JSON. */
static void put_string(struct text *t, const char *text) {
  put(t, "\"");
  for (; *text != '\0'; text++) {
    const char one[2] = {*text, '\0'};
    if (*text == '"' || *text == '\\') {
      put(t, "\\");
    }
    if (*text == '\n') {
      put(t, "\\n");
    } else if ((unsigned char)*text < 0x20) {
      putf(t, "\\u%04x", (unsigned)(unsigned char)*text);
    } else {
      put(t, one);
    }
  }
  put(t, "\"");
}

static void put_field(struct text *t, const char *name, const char *text) {
  putf(t, ", \"%s\": ", name);
  put_string(t, text);
}

/* Forgets what was written since there were USED bytes. */
static void take_back(struct text *t, size_t used) {
  t->used = used;
  if (t->at != NULL) {
    t->at[used] = '\0';
  }
}

/* ---- Parts of an instance ---- */

static void put_number(struct text *t, gemel_dtype dtype, const void *data) {
  char text[32];
  if (gemel__is_float(dtype)) {
    putf(t, "%a ", gemel__decode(dtype, data));
  } else {
    gemel__element_format(dtype, data, text, sizeof text);
    putf(t, "%s ", text);
  }
}

static void put_tensor(struct text *t, const gemel_tensor *x) {
  size_t n = (size_t)gemel_tensor_elements(x), i;
  put(t, "\"");
  for (i = 0; i < n; i++) {
    put_number(t, gemel_tensor_dtype(x), gemel__tensor_element(x, i));
  }
  put(t, "\"");
}

static void put_graph(struct text *t, const char *name, const gemel_graph *graph) {
  char *text = gemel_print_string(graph, name, NULL);
  t->failed |= text == NULL;
  put_field(t, name, text != NULL ? text : "");
  gemel_text_free(text);
}

static void begin_instance(struct text *t, const struct gemel__example *e, const char *model) {
  putf(t, "{\"model\": \"%s\"", model);
  put_graph(t, "left", e->pair.a.graph);
  put_graph(t, "right", e->pair.b.graph);
}

static void put_inputs(struct text *t, const struct gemel__example *e,
                       gemel_tensor *const *values) {
  size_t k;
  put(t, ", \"inputs\": {");
  for (k = 0; k < e->pair.a.n_leaves; k++) {
    put(t, k > 0 ? ", " : "");
    put_string(t, gemel_graph_input_name(e->pair.a.graph, k));
    put(t, ": ");
    put_tensor(t, values[k]);
  }
  put(t, "}");
}

/* Elements of the instance's result; 0 when there are none or too many to write down, or there are
 * several results, as passes may have them. */
static size_t results_of(const struct gemel__example *e) {
  gemel_context *context = gemel_graph_context(e->pair.a.graph);
  gemel_type type = gemel_value_type(gemel_graph_output(e->pair.a.graph, 0));
  const gemel_dim *dims = gemel_type_dims(context, type);
  int64_t count = gemel_graph_output_count(e->pair.a.graph) == 1, size;
  for (int j = 0; j < gemel_type_rank(context, type); j++) {
    count *= gemel_dim_is_constant(context, dims[j], &size) ? size : 0;
    if (count > MOST_RESULTS) {
      return 0;
    }
  }
  return (size_t)count;
}

/* ---- Exact rationals ---- */

static void put_exact(struct text *t, gemel__domain *o, const gemel__rtensor *x) {
  char number[300];
  put(t, ", \"result\": \"");
  for (size_t i = 0; i < x->count; i++) {
    const void *e = gemel__rtensor_at(x, i);
    gemel__state state = o->state(o, e);
    o->format(o, e, number, sizeof number);
    /* the checker knows rationals alone, to which an infinity (log 0) is no number */
    put(t, state == GEMEL__UNDEFINED || strstr(number, "inf") != NULL ? "undefined"
           : state != GEMEL__DEFINED || strchr(number, '[') != NULL   ? "?"
                                                                      : number);
    put(t, " ");
  }
  put(t, "\"}");
}

static gemel_status add_exact(struct text *t, const struct gemel__example *e,
                              gemel_tensor *const *values, gemel_error *error) {
  gemel__ordered *o = gemel__ordered_new(128);
  gemel__rtensor result;
  gemel_status status;
  memset(&result, 0, sizeof result);
  status = o == NULL ? gemel__no_memory(error, "a domain")
                     : gemel__instance_reference(&e->pair.a, &o->domain, values, &result, error);
  if (status == GEMEL_OK) {
    begin_instance(t, e, "exact");
    put_inputs(t, e, values);
    put_exact(t, &o->domain, &result);
  }
  gemel__rtensors_clear(1, &result);
  gemel__ordered_free(o);
  return status;
}

/* ---- The shipped code ---- */

/* Both sides as the library computes them, in integers ("exact") or floats. */
static gemel_status add_shipped(struct text *t, const struct gemel__example *e, const char *model,
                                gemel_tensor *const *values, gemel__random *random,
                                gemel_error *error) {
  const gemel__variant plain = {.name = "plain", .plain = 1, .threads = 1};
  gemel_tensor *results[2] = {NULL, NULL};
  gemel_status status = gemel__execute(&e->pair.a, &plain, values, random, &results[0], error);
  status = status ? status : gemel__execute(&e->pair.b, &plain, values, random, &results[1], error);
  if (status == GEMEL_OK) {
    begin_instance(t, e, model);
    put_inputs(t, e, values);
    put(t, ", \"result_left\": ");
    put_tensor(t, results[0]);
    put(t, ", \"result_right\": ");
    put_tensor(t, results[1]);
    put(t, "}");
  }
  gemel__tensors_release(2, results);
  return status;
}

/* ---- Residues ---- */

static void put_residues(struct text *t, const gemel__domain *f, const gemel__rtensor *x) {
  int length = gemel__field_chain(f)->length, j;
  put(t, "\"");
  for (size_t i = 0; i < x->count; i++) {
    const void *e = gemel__rtensor_at(x, i);
    unsigned rings = gemel__field_rings(f, e);
    for (j = 0; j < length; j++) {
      put(t, j > 0 ? ":" : "");
      if (rings >> j & 1) {
        putf(t, "%llu", (unsigned long long)gemel__field_residue(f, e, j));
      } else {
        put(t, "-");
      }
    }
    put(t, " ");
  }
  put(t, "\"");
}

static void put_chain(struct text *t, const gemel__domain *f) {
  const gemel__prime_chain *c = gemel__field_chain(f);
  put(t, ", \"primes\": \"");
  for (int j = 0; j < c->length; j++) {
    putf(t, "%llu ", (unsigned long long)gemel__field_prime(f, j));
  }
  put(t, "\", \"generators\": \"");
  for (int j = 0; j + 1 < c->length; j++) {
    putf(t, "%llu ", (unsigned long long)gemel__ring_leave(&c->ring[j], c->ring[j].generator));
  }
  put(t, "\"");
}

/* Random residues for floats; the numbers in VALUES for the rest. */
static gemel_status draw_residues(const struct gemel__example *e, gemel__domain *f,
                                  gemel_tensor *const *values, gemel__rtensor *inputs,
                                  gemel_error *error) {
  gemel_status status = gemel__rtensors_read(e->pair.a.n_leaves, inputs, f, values, error);
  for (size_t k = 0; k < e->pair.a.n_leaves && status == GEMEL_OK; k++) {
    for (size_t i = 0; i < inputs[k].count && gemel__is_float(inputs[k].dtype); i++) {
      gemel__field_random(f, gemel__rtensor_at(&inputs[k], i), GEMEL__LEAF_POSITIVE);
    }
  }
  return status;
}

static void put_field_instance(struct text *t, const struct gemel__example *e,
                               const gemel__domain *f, gemel_tensor *const *values,
                               const gemel__rtensor *inputs, const gemel__rtensor *result) {
  size_t k;
  begin_instance(t, e, "field");
  put_chain(t, f);
  put(t, ", \"inputs\": {");
  for (k = 0; k < e->pair.a.n_leaves; k++) {
    put(t, k > 0 ? ", " : "");
    put_string(t, gemel_graph_input_name(e->pair.a.graph, k));
    put(t, ": ");
    if (gemel__is_float(e->pair.a.leaves[k].dtype)) {
      put_residues(t, f, &inputs[k]);
    } else {
      put_tensor(t, values[k]);
    }
  }
  put(t, "}, \"result\": ");
  put_residues(t, f, result);
  put(t, "}");
}

/* GEMEL_DECLINED: the result depends on more than the residues. */
static gemel_status evaluate_field(struct text *t, const struct gemel__example *e, gemel__domain *f,
                                   gemel_tensor *const *values, gemel_error *error) {
  const gemel__field_report *report = gemel__field_get_report(f);
  gemel__rtensor *inputs = gemel__alloc_array(e->pair.a.n_leaves + 1, sizeof *inputs);
  gemel__rtensor *result = inputs != NULL ? &inputs[e->pair.a.n_leaves] : NULL;
  gemel_status status = inputs == NULL ? gemel__no_memory(error, "residues")
                                       : draw_residues(e, f, values, inputs, error);
  if (status == GEMEL_OK) {
    status = gemel__reference_graph(e->pair.a.graph, f, inputs, result, NULL, NULL, error);
  }
  if (status == GEMEL_OK && (report->characters > 0 || report->keyed > 0 || report->gaps > 0 ||
                             !gemel__is_float(result->dtype))) {
    status = report->no_memory ? gemel__no_memory(error, "residues") : GEMEL_DECLINED;
  }
  if (status == GEMEL_OK) {
    put_field_instance(t, e, f, values, inputs, result);
  }
  if (inputs != NULL) {
    gemel__rtensors_clear(e->pair.a.n_leaves + 1, inputs);
  }
  gemel__free(inputs, (e->pair.a.n_leaves + 1) * sizeof *inputs);
  return status;
}

/* One large field if that is enough, else chains of small ones, on which there are exp and log. */
static gemel_status add_field(struct text *t, const struct gemel__example *e,
                              gemel_tensor *const *values, uint64_t seed, gemel_error *error) {
  static const struct {
    int bits, length;
  } kinds[] = {{GEMEL__FIELD_LARGE, 1}, {GEMEL__FIELD_SMALL, 2}, {GEMEL__FIELD_SMALL, 4}};
  double constants[24];
  size_t n = 0, k;
  gemel_status status = GEMEL_DECLINED;
  gemel__constants(e->pair.a.graph, constants, 24, &n);
  gemel__constants(e->pair.b.graph, constants, 24, &n);
  for (k = 0; k < sizeof kinds / sizeof *kinds && status == GEMEL_DECLINED; k++) {
    gemel__field_options options = {kinds[k].bits, kinds[k].length, constants, n, 0};
    gemel_error problem = {GEMEL_OK, 0, 0, ""};
    gemel__domain *f = gemel__field_new(&options, seed, &problem);
    if (f != NULL) {
      status = evaluate_field(t, e, f, values, error);
      gemel__field_free(f);
    } else if (problem.status == GEMEL_NO_MEMORY) {
      status = gemel__no_memory(error, "a field");
    }
  }
  return status;
}

/* ---- A certificate ---- */

/* 1 if a constant of GRAPH holds an infinity or a NaN: neither rationals nor residues have them. */
static int has_specials(const gemel_graph *graph) {
  size_t n = gemel_graph_node_count(graph), k, i;
  for (k = 0; k < n; k++) {
    gemel__ref self = {(uint32_t)k, 0};
    gemel_attr attr;
    if (gemel_value_attr(gemel__value(graph, self), "value", &attr) != GEMEL_OK ||
        attr.kind != GEMEL_ATTR_TENSOR) {
      continue;
    }
    for (i = 0; i < (size_t)gemel_tensor_elements(attr.u.tensor); i++) {
      if (!isfinite(gemel__decode(gemel_tensor_dtype(attr.u.tensor),
                                  gemel__tensor_element(attr.u.tensor, i)))) {
        return 1;
      }
    }
  }
  return 0;
}

static gemel_status add_reals(struct text *t, const struct gemel__example *e, gemel__fill fill,
                              gemel__random *random, gemel_error *error) {
  gemel_tensor **values;
  gemel_status status = gemel__values_draw(&e->pair.a, fill, random, &values, error);
  if (status != GEMEL_OK) {
    return status;
  }
  if (fill != GEMEL__FILL_SPECIAL &&
      (has_specials(e->pair.a.graph) || has_specials(e->pair.b.graph))) {
    gemel__values_free(&e->pair.a, values);
    return GEMEL_DECLINED;
  }
  status = fill == GEMEL__FILL_SPECIAL ? add_shipped(t, e, "float", values, random, error)
           : fill == GEMEL__FILL_FULL  ? add_field(t, e, values, gemel__random_bits(random), error)
           : e->real                   ? add_exact(t, e, values, error)
                                       : add_shipped(t, e, "exact", values, random, error);
  gemel__values_free(&e->pair.a, values);
  return status;
}

/* One instance; what can't be had is left out, unless memory is what is missing. */
static gemel_status add_instance(struct text *t, const struct gemel__example *e, gemel__fill fill,
                                 gemel__random *random, int *first, gemel_error *error) {
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  size_t used = t->used;
  gemel_status status;
  put(t, *first ? "" : ", ");
  status = add_reals(t, e, fill, random, &problem);
  if (t->failed || status == GEMEL_NO_MEMORY) {
    return gemel__no_memory(error, "a certificate");
  }
  if (status != GEMEL_OK) {
    take_back(t, used);
  } else {
    *first = 0;
  }
  return GEMEL_OK;
}

static gemel_status add_instances(const struct gemel__proof *p, struct text *t,
                                  gemel_error *error) {
  static const gemel__fill fills[] = {GEMEL__FILL_FULL, GEMEL__FILL_INTEGERS, GEMEL__FILL_SPECIAL};
  size_t k, j, reals = 0, integers = 0;
  int first = 1;
  gemel_status status = GEMEL_OK;
  for (k = 0; k < p->n && status == GEMEL_OK; k++) {
    const struct gemel__example *e = &p->examples[k];
    gemel__random random;
    size_t *count = e->real ? &reals : &integers;
    if (e->drawn.right == NULL || results_of(e) == 0 ||
        *count >= (size_t)(e->real ? OF_REALS : OF_INTEGERS)) {
      continue;
    }
    ++*count;
    for (j = 0; j < (e->real ? 3 : 1) && status == GEMEL_OK; j++) {
      gemel__run_random(p->run, p->info->name, GEMEL_TIER_COUNT, APART + 3 * k + j, &random);
      status =
          add_instance(t, e, e->real ? fills[j] : GEMEL__FILL_INTEGERS, &random, &first, error);
    }
  }
  return status;
}

gemel_status gemel__rule_certificate(const struct gemel__proof *p, char **text, size_t *bytes,
                                     gemel_error *error) {
  struct text t = {NULL, 0, 0, 0};
  char words[120];
  gemel_status status;
  put(&t, "{\"kind\": \"certificate\", \"rule\": ");
  put_string(&t, p->info->name);
  put_field(&t, "family", p->info->family);
  put_field(&t, "text", p->info->text);
  gemel__needs_text(p->info->needs, words, sizeof words);
  put_field(&t, "declared", words);
  gemel__needs_text(p->needs | (p->improves ? GEMEL__NEED(IMPROVES) : 0), words, sizeof words);
  put_field(&t, "class", p->needs == 0 && !p->improves ? "bitwise" : words);
  putf(&t, ", \"seed\": %llu, \"instances\": [", (unsigned long long)p->run->options.seed);
  status = add_instances(p, &t, error);
  put(&t, "]}");
  if (status == GEMEL_OK && t.failed) {
    status = gemel__no_memory(error, "a certificate");
  }
  if (status != GEMEL_OK) {
    gemel__free(t.at, t.capacity);
    t.at = NULL;
    t.capacity = 0;
  }
  *text = t.at;
  *bytes = t.capacity;
  return status;
}
