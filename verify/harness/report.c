/* SPDX-License-Identifier: MIT
 *
 * Records as JSON, and counterexamples as text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "base/buffer.h"
#include "pairs/needs.h"
#include "harness/report.h"

/* ---- JSON ---- */

/* What is proved, and why no more, as further fields of an object. */
static void json_proof(gemel__buffer *b, const gemel_proof *proof) {
  if (proof->elements == NULL) {
    gemel__buffer_text(b, ", \"proof\": null");
  } else {
    char ranks[20];
    snprintf(ranks, sizeof ranks, proof->all_ranks ? "all" : "%d", proof->ranks);
    gemel__buffer_text(b, ", \"proof\": {\"elements\": ");
    gemel__json_string(b, proof->elements);
    gemel__json_field(b, "sizes", "all");
    gemel__json_field(b, "ranks", ranks);
    gemel__buffer_text(b, "}");
  }
  gemel__json_field(b, "why", proof->why);
  gemel__buffer_text(b, proof->recorded ? ", \"recorded\": true" : ", \"recorded\": false");
}

size_t gemel_proof_json(const gemel_proof *proof, char *text, size_t bytes) {
  gemel__buffer b = {text, text != NULL ? bytes : 0, 0, 0};
  if (b.bytes > 0) {
    text[0] = '\0';
  }
  if (proof == NULL) {
    return 0;
  }
  gemel__buffer_text(&b, "{\"kind\": \"rule\"");
  gemel__json_field(&b, "name", proof->rule);
  json_proof(&b, proof);
  gemel__buffer_format(&b, ", \"text_hash\": \"%#" PRIx64 "\", \"prover\": \"%" PRIu32 "\"",
                       proof->text_hash, proof->prover);
  gemel__buffer_format(&b, ", \"scenes\": %zu, \"questions\": %zu, \"checked\": %zu", proof->scenes,
                       proof->questions, proof->checked);
  if (proof->counterexample != NULL) {
    gemel__json_field(&b, "counterexample", proof->counterexample);
  }
  gemel__buffer_text(&b, "}");
  return b.used;
}

size_t gemel_record_json(const gemel_record *r, char *text, size_t bytes) {
  gemel__buffer b = {text, text != NULL ? bytes : 0, 0, 0};
  if (b.bytes > 0) {
    text[0] = '\0';
  }
  if (r == NULL) {
    return 0;
  }
  gemel__buffer_text(&b, "{\"kind\": ");
  gemel__json_string(&b, r->kind);
  gemel__json_field(&b, "name", r->name);
  gemel__json_field(&b, "tier", gemel_tier_name(r->tier));
  gemel__json_field(&b, "verdict", gemel_verdict_name(r->verdict));
  gemel__json_field(&b, "how", gemel_evidence_name(r->how));
  gemel__json_field(&b, "detail", r->detail);
  gemel__buffer_format(&b, ", \"instances\": %zu, \"elements\": %zu, \"seed\": %llu", r->instances,
                       r->elements, (unsigned long long)r->seed);
  gemel__json_number(&b, "seconds", r->seconds);
  gemel__json_number(&b, "worst", r->worst);
  gemel__json_number(&b, "error_probability", r->error_probability);
  if (r->kind != NULL && strcmp(r->kind, "rule") == 0) {
    char words[120];
    gemel__needs_text(r->needs, words, sizeof words);
    gemel__json_field(&b, "needs", words);
    gemel__needs_text(r->declared, words, sizeof words);
    gemel__json_field(&b, "declared", words);
    gemel__buffer_format(&b, ", \"shapes\": %zu", r->shapes);
    gemel__json_number(&b, "before", r->before);
  }
  if (r->proof != NULL) {
    json_proof(&b, r->proof);
  }
  if (r->ulps != NULL) {
    gemel__json_number(&b, "ulp", r->ulp);
    gemel__buffer_text(&b, ", \"ulps\": ");
    gemel__buffer_text(&b, r->ulps);
  }
  if (r->verdict == GEMEL_VERDICT_REFUTED) {
    gemel__json_field(&b, "counterexample", r->counterexample);
    gemel__json_field(&b, "replay", r->replay);
  }
  gemel__buffer_text(&b, "}");
  return b.used;
}

/* ---- Counterexamples ---- */

static void format_value(gemel__buffer *b, gemel_dtype dtype, const void *data) {
  char text[32];
  if (gemel__is_float(dtype)) {
    gemel__buffer_format(b, " %.9g", gemel__decode(dtype, data));
  } else {
    gemel__element_format(dtype, data, text, sizeof text);
    gemel__buffer_format(b, " %s", text);
  }
}

enum { MOST_VALUES = 16 };

static int same_element(const gemel__leaf *leaf, const gemel_tensor *tensor, size_t i, size_t j) {
  return memcmp(gemel__tensor_element(tensor, i), gemel__tensor_element(tensor, j),
                gemel_dtype_size(leaf->dtype)) == 0;
}

/* *MAIN: an element that more than half of the others equal. Returns how many differ from it, or
 * SIZE_MAX if there is no such element. (Boyer and Moore's vote.) */
static size_t count_others(const gemel__leaf *leaf, const gemel_tensor *tensor, size_t *main) {
  size_t votes = 0, others = 0;
  for (size_t i = 0; i < leaf->count; i++) {
    if (votes == 0) {
      *main = i;
    }
    votes += same_element(leaf, tensor, i, *main) ? 1 : (size_t)-1;
  }
  for (size_t i = 0; i < leaf->count; i++) {
    others += !same_element(leaf, tensor, i, *main);
  }
  return others < leaf->count / 2 ? others : SIZE_MAX;
}

/* " x[3, 0] = 1.5," */
static void format_place(gemel__buffer *b, const gemel__leaf *leaf, const char *name, size_t i,
                         const gemel_tensor *tensor) {
  size_t step = leaf->count;
  gemel__buffer_format(b, " %s", name);
  for (int k = 0; k < leaf->rank; k++) {
    step /= (size_t)leaf->shape[k];
    gemel__buffer_format(b, "%s%zu", k == 0 ? "[" : ", ", i / step % (size_t)leaf->shape[k]);
  }
  gemel__buffer_text(b, "] =");
  format_value(b, leaf->dtype, gemel__tensor_element(tensor, i));
}

/* A long input of which few elements differ from the rest: these with their indices. Returns 0 if
 * it is no such input. */
static int format_few(gemel__buffer *b, const gemel__leaf *leaf, const char *name,
                      const gemel_tensor *tensor) {
  size_t main = 0,
         others = leaf->count > MOST_VALUES ? count_others(leaf, tensor, &main) : SIZE_MAX;
  size_t shown = 0;
  if (others > MOST_VALUES) {
    return 0;
  }
  format_value(b, leaf->dtype, gemel__tensor_element(tensor, main));
  gemel__buffer_text(b, others > 0 ? ", but" : " each");
  for (size_t i = 0; i < leaf->count && shown < others; i++) {
    if (!same_element(leaf, tensor, i, main)) {
      format_place(b, leaf, name, i, tensor);
      gemel__buffer_text(b, ++shown < others ? "," : "");
    }
  }
  gemel__buffer_text(b, "\n");
  return 1;
}

/* "# input x0: f32[2, 3] = …": its first values, or of many equal ones those that differ. */
static void format_input(gemel__buffer *b, const gemel__instance *instance, size_t k,
                         const gemel_tensor *tensor) {
  const gemel__leaf *leaf = &instance->leaves[k];
  const char *name = gemel_graph_input_name(instance->graph, k);
  char type[256];
  gemel_type_format(gemel_graph_context(instance->graph),
                    gemel_value_type(gemel_graph_input(instance->graph, k)), type, sizeof type);
  gemel__buffer_format(b, "# input %s: %s =", name, type);
  if (format_few(b, leaf, name, tensor)) {
    return;
  }
  for (size_t i = 0; i < leaf->count && i < MOST_VALUES; i++) {
    format_value(b, leaf->dtype, gemel__tensor_element(tensor, i));
  }
  gemel__buffer_text(b, leaf->count > MOST_VALUES ? " …\n" : "\n");
}

static void append_graph(gemel__buffer *b, const gemel_graph *graph, const char *name) {
  gemel__buffer_take(b, gemel_print_string(graph, name, NULL));
}

enum { MOST_LINES = 40 };

static size_t count_lines(const char *text) {
  size_t n = 0;
  for (; (text = strchr(text, '\n')) != NULL; text++) {
    n++;
  }
  return n;
}

/* How many lines behind the first one A and B have in common. */
static size_t common_lines(const char *a, const char *b) {
  size_t n = 0;
  a = strchr(a, '\n');
  b = strchr(b, '\n');
  while (a != NULL && b != NULL) {
    size_t length = strcspn(a + 1, "\n");
    if (length == 0 || strncmp(a + 1, b + 1, length + 1) != 0) {
      return n;
    }
    n++;
    a = strchr(a + 1, '\n');
    b = strchr(b + 1, '\n');
  }
  return n;
}

/* TEXT, a graph: its first line; without SKIP lines behind that; of more than MOST_LINES without
 * those at the end, but for the last two. */
static void append_cut(gemel__buffer *b, const char *text, size_t skip) {
  size_t lines = count_lines(text), k = 0, last = 1 + skip + MOST_LINES - 3;
  for (const char *at = text; *at != '\0'; k++) {
    size_t length = strcspn(at, "\n");
    int shown = k == 0 || (k > skip && (k < last || k + 2 >= lines));
    if (shown) {
      gemel__buffer_format(b, "%.*s\n", (int)length, at);
    } else if (k == 1 || k == last) {
      gemel__buffer_text(b, k == last ? "  # …\n" : "  # … the same nodes in both\n");
    }
    at += length + (at[length] == '\n');
  }
}

/* Both graphs; if they are long, from where they begin to differ. */
static void append_graphs(gemel__buffer *b, const gemel_graph *first, const gemel_graph *second) {
  char *left = gemel_print_string(first, "first", NULL);
  char *right = gemel_print_string(second, "second", NULL);
  if (left == NULL || right == NULL) {
    b->failed = 1;
  } else {
    size_t common = common_lines(left, right);
    int is_long = count_lines(left) > MOST_LINES || count_lines(right) > MOST_LINES;
    append_cut(b, left, is_long ? common : 0);
    append_cut(b, right, is_long ? common : 0);
  }
  gemel_text_free(left);
  gemel_text_free(right);
}

/* Only the inputs of the instance's own graph: in tier gradient VALUES has directions behind them.
 */
void gemel__print_inputs(gemel__buffer *b, const gemel__instance *instance,
                         gemel_tensor *const *values) {
  for (size_t k = 0; k < instance->n_leaves && k < gemel_graph_input_count(instance->graph); k++) {
    format_input(b, instance, k, values[k]);
  }
}

char *gemel__counterexample(const gemel__instance *instance, const gemel_graph *other,
                            gemel_tensor *const *values, const char *place, const char *expected,
                            const char *got) {
  gemel__buffer b = {NULL, 0, 0, 0};
  int round;
  for (round = 0; round < 2; round++) {
    if (instance != NULL && instance->graph != NULL) {
      if (other != NULL) {
        append_graphs(&b, instance->graph, other);
      } else {
        append_graph(&b, instance->graph, "counterexample");
      }
      if (values != NULL) {
        gemel__print_inputs(&b, instance, values);
      }
    }
    if (expected == NULL) {
      gemel__buffer_format(&b, "# %s\n", place);
    } else {
      gemel__buffer_format(
          &b, other != NULL ? "# %s: first %s, second %s\n" : "# %s: expected %s, got %s\n", place,
          expected, got);
    }
    if (round == 0 && gemel__buffer_allocate(&b) != 0) {
      return NULL;
    }
  }
  return gemel__buffer_finish(&b);
}
