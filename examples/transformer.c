/* SPDX-License-Identifier: MIT
 *
 * A transformer block, with causal attention of two heads, trained by Adam to say what comes next
 * in a rhyme of letters.
 *
 *   cc -std=c11 transformer.c $(pkg-config --cflags --libs gemel) && ./a.out
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>

static const char text[] = "the cat sat on the mat, the rat sat on the hat, ";
static const char letters[] = " ,acehmnorst";
enum { LENGTH = sizeof text - 2, STEPS = 101 }; /* letters that another follows */

/* x[T, 16] as [2, T, 8]: a matrix a head. */
static gemel_value heads(gemel_value x) {
  return gemel_permute(gemel_reshape_to(x, -1, 2, 8), 1, 0, 2);
}

static gemel_value block(gemel_graph *g, gemel_value x) {
  gemel_value qkv =
      gemel_matmul(gemel_layer_norm(x, -1), gemel_declare(g, "state qkv: f32[16, 48]"));
  gemel_value q = gemel_slice(qkv, 1, 0, 16), k = gemel_slice(qkv, 1, 16, 32);
  gemel_value v = gemel_slice(qkv, 1, 32, 48);
  gemel_value seen = gemel_attention_with(heads(q), heads(k), heads(v), .causal = 1);
  seen = gemel_reshape_to(gemel_permute(seen, 1, 0, 2), -1, 16);
  x = gemel_add(x, gemel_matmul(seen, gemel_declare(g, "state out: f32[16, 16]")));
  gemel_value up = gemel_declare(g, "state up: f32[16, 64]");
  gemel_value wide = gemel_gelu(gemel_matmul(gemel_layer_norm(x, -1), up));
  return gemel_add(x, gemel_matmul(wide, gemel_declare(g, "state down: f32[64, 16]")));
}

static void build(gemel_graph *g) {
  gemel_value ids = gemel_declare(g, "ids: i64[47]"), next = gemel_declare(g, "next: i64[47]");
  gemel_value x = gemel_embedding(ids, gemel_declare(g, "state embedding: f32[12, 16]"));
  x = gemel_add(x, gemel_declare(g, "state places: f32[47, 16]"));
  x = gemel_layer_norm(block(g, x), -1);
  gemel_value scores = gemel_matmul(x, gemel_declare(g, "state head: f32[16, 12]"));
  gemel_value loss = gemel_mean(gemel_cross_entropy(scores, next, -1));
  gemel_output(loss, "loss");
  gemel_adam_with(loss, .rate = 0.01);
}

/* The weight begins as numbers between -0.3 and 0.3. */
static void begin(gemel_function *train, const char *name) {
  static float numbers[64 * 48];
  gemel_tensor *value = gemel_shared_get(gemel_function_state(train, name));
  gemel_view view = gemel_tensor_view(value);
  for (int64_t k = 0; k < gemel_tensor_elements(value); k++) {
    numbers[k] = (float)(0.6 * rand() / RAND_MAX - 0.3);
  }
  view.data = numbers;
  gemel_tensor *random = gemel_tensor_copy(&view, NULL);
  gemel_shared_set(gemel_function_state(train, name), random, NULL);
  gemel_tensor_unref(random);
  gemel_tensor_unref(value);
}

int main(void) {
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = gemel_graph_new(context, &error);
  build(graph);
  gemel_function *train = gemel_compile_with(graph, &error, .make_states = 1);
  begin(train, "embedding"), begin(train, "places"), begin(train, "qkv"), begin(train, "out");
  begin(train, "up"), begin(train, "down"), begin(train, "head");
  int64_t ids[LENGTH + 1];
  float loss = 0;
  for (int k = 0; k <= LENGTH; k++) {
    ids[k] = strchr(letters, text[k]) - letters;
  }
  for (int step = 0; step < STEPS && error.status == GEMEL_OK; step++) {
    gemel_call_arrays(train, GEMEL_LIST(void *, ids, ids + 1), GEMEL_LIST(void *, &loss), &error);
    if (step % 50 == 0) {
      printf("step %d: loss %.6f\n", step, loss);
    }
  }
  puts(error.status == GEMEL_OK ? "done" : error.text);
  gemel_function_free(train);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return error.status != GEMEL_OK;
}
