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

/* "# input x0: f32[2, 3] = …", with its first values. */
static void format_input(gemel__buffer *b, const gemel__instance *instance, size_t k,
                         const gemel_tensor *tensor) {
  enum { MOST = 16 };
  const gemel__leaf *leaf = &instance->leaves[k];
  char type[256];
  gemel_type_format(gemel_graph_context(instance->graph),
                    gemel_value_type(gemel_graph_input(instance->graph, k)), type, sizeof type);
  gemel__buffer_format(b, "# input %s: %s =", gemel_graph_input_name(instance->graph, k), type);
  for (size_t i = 0; i < leaf->count && i < MOST; i++) {
    format_value(b, leaf->dtype, gemel__tensor_element(tensor, i));
  }
  gemel__buffer_text(b, leaf->count > MOST ? " …\n" : "\n");
}

static void append_graph(gemel__buffer *b, const gemel_graph *graph, const char *name) {
  gemel__buffer_take(b, gemel_print_string(graph, name, NULL));
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
      append_graph(&b, instance->graph, other != NULL ? "first" : "counterexample");
      if (other != NULL) {
        append_graph(&b, other, "second");
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
