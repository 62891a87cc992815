/*
 * Models of ONNX that are drawn (<gemel/models.h>): the same again, each read by gemel with the
 * types that its outputs say, of many operators at every opset; each template gives models; what is
 * asked for is in them; names that aren't there, and memory that runs out, are errors.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <stdio.h>
#include <string.h>
#include <gemel/gemel.h>
#include <gemel/models.h>
#include "onnx/proto.h"
#include "support/watched-memory.h"

enum { SEED = 6 };

static gemel_drawn_model draw(uint64_t number, const gemel_model_options *options) {
  gemel_drawn_model drawn = {.size = sizeof drawn};
  gemel_error error = {0};
  gemel_status status = gemel_draw_onnx_model(SEED, number, options, &drawn, &error);
  if (status != GEMEL_OK) {
    CT_FAIL("model %llu: %s", (unsigned long long)number, error.text);
  }
  return drawn;
}

/* 1 if gemel makes a graph of it. */
static int is_read(const gemel_drawn_model *drawn) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_onnx *model = gemel_onnx_parse(drawn->bytes, drawn->length, drawn->name, NULL, NULL);
  gemel_graph *graph = model != NULL ? gemel_onnx_graph(model, context, NULL, NULL, NULL) : NULL;
  int read = graph != NULL && gemel_graph_check(graph, NULL) == GEMEL_OK &&
             gemel_graph_output_count(graph) > 0;
  gemel_graph_unref(graph);
  gemel_onnx_free(model);
  gemel_context_unref(context);
  return read;
}

/* 1 if WORD is one of the words of TEXT. */
static int has_word(const char *text, const char *word) {
  size_t length = strlen(word);
  for (const char *at = text; (at = strstr(at, word)) != NULL; at += length) {
    if ((at == text || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) {
      return 1;
    }
  }
  return 0;
}

static void again(const void *data) {
  (void)data;
  for (uint64_t k = 0; k < 60; k++) {
    gemel_drawn_model first = draw(k, NULL);
    gemel_drawn_model between = draw(k + 1000, NULL), second = draw(k, NULL);
    CT_CHECK(first.length == second.length && memcmp(first.bytes, second.bytes, first.length) == 0);
    CT_CHECK(strcmp(first.name, second.name) == 0 && first.refused == second.refused);
    gemel_drawn_model_clear(&first);
    gemel_drawn_model_clear(&between);
    gemel_drawn_model_clear(&second);
  }
}

/* An attribute of old is no operand at its opset, and one of today's no attribute. */
static void old_forms(const void *data) {
  (void)data;
  for (uint64_t k = 0; k < 80; k++) {
    gemel_model_options options = {
        .size = sizeof options, .operators = "Unsqueeze", .opset = k % 2 == 0 ? 12 : 13};
    gemel_drawn_model drawn = draw(k, &options);
    gemel__wire_span model = {drawn.bytes, drawn.length};
    gemel__wire_span nodes = gemel__proto_span(model, GEMEL__MODEL_GRAPH);
    for (gemel__wire_field node; gemel__proto_next(&nodes, GEMEL__GRAPH_NODE, &node);) {
      if (gemel__wire_is(gemel__proto_span(node.span, GEMEL__NODE_OPERATOR), "Unsqueeze")) {
        CT_EQ_INT(gemel__proto_count(node.span, GEMEL__NODE_INPUT), k % 2 == 0 ? 1 : 2);
        CT_EQ_INT(gemel__proto_count(node.span, GEMEL__NODE_ATTRIBUTE), k % 2 == 0 ? 1 : 0);
      }
    }
    gemel_drawn_model_clear(&drawn);
  }
}

/* Conditions are broken in some of the models: here the factor of GELU's approximation. */
static void deviations(const void *data) {
  static const uint8_t factor[] = {0x13, 0x27, 0x37, 0x3d}; /* 0.044715 */
  gemel_model_options options = {.size = sizeof options, .templates = "gelu_tanh"};
  int other = 0;
  (void)data;
  for (uint64_t k = 0; k < 80; k++) {
    gemel_drawn_model drawn = draw(k, &options);
    other += memmem(drawn.bytes, drawn.length, factor, sizeof factor) == NULL;
    gemel_drawn_model_clear(&drawn);
  }
  CT_CHECK(other > 8 && other < 60);
}

static void reach(const void *data) {
  char met[400][32];
  size_t count = 0;
  (void)data;
  for (uint64_t k = 0; k < 900; k++) {
    gemel_drawn_model drawn = draw(k, NULL);
    CT_CHECK(is_read(&drawn));
    char *rest = drawn.operators;
    for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
      size_t i = 0;
      while (i < count && strcmp(met[i], word) != 0) {
        i++;
      }
      if (i == count && count < 400) {
        snprintf(met[count++], sizeof met[0], "%s", word);
      }
    }
    gemel_drawn_model_clear(&drawn);
  }
  CT_CHECK(count >= 115);
}

static void templates(const void *data) {
  char name[64];
  (void)data;
  for (size_t k = 0; gemel_model_template(k, name, sizeof name) != NULL; k++) {
    gemel_model_options options = {.size = sizeof options, .templates = name};
    for (uint64_t i = 0; i < 4; i++) {
      gemel_drawn_model drawn = draw(i, &options);
      CT_CHECK(strncmp(drawn.name, name, strlen(name)) == 0);
      gemel_drawn_model_clear(&drawn);
    }
  }
}

static void aims(const void *data) {
  static const char *const ops[] = {"Pad", "Conv", "LSTM", "If", "Erf", "ReduceL2", "QLinearConv"};
  (void)data;
  for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
    gemel_model_options options = {.size = sizeof options, .operators = ops[k]};
    for (uint64_t i = 0; i < 12; i++) {
      gemel_drawn_model drawn = draw(i, &options);
      CT_CHECK(has_word(drawn.operators, ops[k]));
      gemel_drawn_model_clear(&drawn);
    }
  }
  for (int opset = 7; opset <= 23; opset++) {
    gemel_model_options options = {.size = sizeof options, .operators = "Pad,Clip", .opset = opset};
    gemel_drawn_model drawn = draw(1, &options);
    CT_CHECK(has_word(drawn.operators, "Pad") || has_word(drawn.operators, "Clip"));
    gemel_drawn_model_clear(&drawn);
  }
}

static void refuses(const gemel_model_options *options, gemel_status wanted, const char *text) {
  gemel_drawn_model drawn = {.size = sizeof drawn};
  gemel_error error = {0};
  CT_EQ_INT(gemel_draw_onnx_model(SEED, 1, options, &drawn, &error), wanted);
  CT_CHECK(strstr(error.text, text) != NULL);
  CT_CHECK(drawn.bytes == NULL);
}

static void refused(const void *data) {
  (void)data;
  refuses(&(gemel_model_options){sizeof(gemel_model_options), "Convv", NULL, 0}, GEMEL_NOT_FOUND,
          "did you mean Conv?");
  refuses(&(gemel_model_options){sizeof(gemel_model_options), NULL, "conv_nrom", 0},
          GEMEL_NOT_FOUND, "did you mean conv_norm?");
  refuses(&(gemel_model_options){sizeof(gemel_model_options), NULL, NULL, 6}, GEMEL_BAD_ARGUMENT,
          "7 to 23");
  refuses(&(gemel_model_options){0}, GEMEL_BAD_ARGUMENT, "size");
  refuses(&(gemel_model_options){sizeof(gemel_model_options), "Attention", "unit", 7},
          GEMEL_NOT_FOUND, "no model");
  CT_EQ_INT(gemel_draw_onnx_model(SEED, 1, NULL, NULL, NULL), GEMEL_BAD_ARGUMENT);
  gemel_drawn_model_clear(NULL);
}

/* Each allocation in turn is refused. What OpenMP and the like hold isn't gemel's. */
static void no_memory(const void *data) {
  (void)data;
  for (long k = 1, was_refused = 1; was_refused; k += k < 60 ? 1 : 37) {
    gemel_drawn_model drawn = {.size = sizeof drawn};
    gemel_error error = {0};
    watch_memory(k);
    gemel_status status = gemel_draw_onnx_model(SEED, 3, NULL, &drawn, &error);
    gemel_drawn_model_clear(&drawn);
    was_refused = unwatch_memory();
    CT_CHECK(was_refused ? status == GEMEL_NO_MEMORY || status == GEMEL_OK : status == GEMEL_OK);
  }
}

static const ct_test tests[] = {
    CT_TEST("again", again, NULL),           CT_TEST("old_forms", old_forms, NULL),
    CT_TEST("deviations", deviations, NULL), CT_TEST("reach", reach, NULL),
    CT_TEST("templates", templates, NULL),   CT_TEST("aims", aims, NULL),
    CT_TEST("refused", refused, NULL),       CT_TEST("no_memory", no_memory, NULL),
};

void ct_register(void) {
  ct_suite("models", tests, CT_COUNT(tests));
}
