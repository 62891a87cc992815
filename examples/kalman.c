/* SPDX-License-Identifier: MIT
 *
 * A Kalman filter that learns its parameters. Something moves along a line, pushed at random, and
 * is seen through noise. The filter, a loop over what is seen, says how likely all of it is for
 * given strengths of push and noise; going up the gradient of that finds them.
 *
 *   cc -std=c11 kalman.c $(pkg-config --cflags --libs gemel) && ./a.out [ROUNDS [SEED]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <gemel/gemel.h>

enum { STEPS = 1000 };

static const double push = 0.3, noise = 2; /* standard deviations: what is to be found */

/* ---- The graph ---- */

static gemel_value matrix(gemel_graph *graph, double a, double b, double c, double d) {
  return gemel_reshape_to(gemel_vector(graph, GEMEL_F64, a, b, c, d), 2, 2);
}

/* The products of the elements of two vectors, a matrix. */
static gemel_value outer(gemel_value x, gemel_value y) {
  return gemel_mul(gemel_expand_dims(x, 1), gemel_expand_dims(y, 0));
}

/* The mean logarithm of the density of each number SEEN, where Q and R are the variances of push
 * and noise. Of position and speed the filter keeps mean and covariance. A step moves both on, and
 * then shifts the mean by a part of the error of what it expected to see. */
static gemel_value log_likelihood(gemel_value seen, gemel_value q, gemel_value r) {
  gemel_graph *graph = seen.graph;
  gemel_value half = gemel_vector(graph, GEMEL_F64, 0.5, 1); /* a push of 1, in one step */
  gemel_loop *loop = gemel_loop_begin(graph, NULL);
  gemel_value mean = gemel_loop_state(loop, gemel_zeros(graph, GEMEL_F64, 2));
  gemel_value covariance = gemel_loop_state(loop, matrix(graph, 100, 0, 0, 100));
  gemel_value move = gemel_loop_constant(loop, matrix(graph, 1, 1, 0, 1));
  gemel_value pushed = gemel_loop_constant(loop, gemel_mul(outer(half, half), q));

  gemel_value m = gemel_dot(move, mean);
  gemel_value p = gemel_dot(gemel_dot(move, covariance), gemel_transpose(move));
  p = gemel_add(p, pushed);
  gemel_value first = gemel_index(p, 0, 0); /* how position goes with both */
  gemel_value error = gemel_sub(gemel_loop_row(loop, seen), gemel_index(m, 0, 0));
  gemel_value variance = gemel_add(gemel_index(first, 0, 0), gemel_loop_constant(loop, r));
  gemel_value gain = gemel_div(first, variance);
  gemel_loop_next(loop, mean, gemel_add(m, gemel_mul(gain, error)));
  gemel_loop_next(loop, covariance, gemel_sub(p, outer(gain, first)));
  gemel_value surprise = gemel_add(gemel_div(gemel_sqr(error), variance), gemel_log(variance));
  gemel_loop_stack(loop, surprise);
  gemel_loop_end(loop);

  gemel_value all = gemel_mean(gemel_loop_stacked(loop, surprise));
  gemel_loop_free(loop);
  all = gemel_add(all, gemel_scalar_like(all, log(2 * acos(-1))));
  return gemel_mul(all, gemel_scalar_like(all, -0.5));
}

/* A call says how likely SEEN is, and takes a step up the gradient, by the variances' logarithms.
 */
static gemel_graph *build(gemel_context *context, gemel_error *error) {
  gemel_graph *graph = gemel_graph_new(context, error);
  gemel_value seen = gemel_declare(graph, "seen: f64[T]");
  gemel_value states[2] = {gemel_declare(graph, "state log_q: f64[]"),
                           gemel_declare(graph, "state log_r: f64[]")};
  gemel_value slopes[2];
  gemel_value fit = log_likelihood(seen, gemel_exp(states[0]), gemel_exp(states[1]));
  gemel_output(fit, "fit");
  if (gemel_grad(1, &fit, NULL, 2, states, slopes, error) == GEMEL_OK) {
    for (int k = 0; k < 2; k++) {
      gemel_update(states[k], gemel_add(states[k], slopes[k]));
    }
  }
  return graph;
}

/* ---- The data ---- */

static uint64_t seed = 1;

static double uniform(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void) {
  return sqrt(-2 * log(uniform())) * cos(2 * acos(-1) * uniform());
}

static void simulate(double *seen) {
  double position = 0, speed = 0;
  for (int t = 0; t < STEPS; t++) {
    double a = push * normal();
    position += speed + a / 2;
    speed += a;
    seen[t] = position + noise * normal();
  }
}

/* ---- Learning ---- */

/* A variable that holds log(1). */
static gemel_shared *make_variable(gemel_error *error) {
  gemel_tensor *zero = gemel_tensor_new(GEMEL_F64, 0, NULL, error);
  gemel_shared *shared = zero != NULL ? gemel_shared_new(zero, error) : NULL;
  gemel_tensor_unref(zero);
  return shared;
}

/* The standard deviation that VARIABLE stands for. */
static double deviation(const gemel_shared *variable) {
  gemel_tensor *value = gemel_shared_get(variable);
  double log_variance = *(const double *)gemel_tensor_data(value);
  gemel_tensor_unref(value);
  return exp(log_variance / 2);
}

static int learn(gemel_function *function, gemel_shared *const *variables, int rounds,
                 gemel_error *error) {
  gemel_tensor *seen = gemel_tensor_new(GEMEL_F64, GEMEL_LIST(int64_t, STEPS), error);
  gemel_tensor *fit = NULL;
  int k = 0;
  if (seen != NULL) {
    simulate(gemel_tensor_data(seen));
  }
  for (; seen != NULL && k <= rounds; k++) {
    double q = deviation(variables[0]), r = deviation(variables[1]);
    if (gemel_call(function, 1, &seen, 1, &fit, error) != GEMEL_OK) {
      break;
    }
    if (k % 50 == 0) {
      printf("round %3d: log-likelihood %.4f, push %.3f (is %g), noise %.3f (is %g)\n", k,
             *(const double *)gemel_tensor_data(fit), q, push, r, noise);
    }
  }
  gemel_tensor_unref(seen);
  gemel_tensor_unref(fit);
  return k > rounds;
}

int main(int argc, char **argv) {
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = context != NULL ? build(context, &error) : NULL;
  gemel_shared *variables[] = {make_variable(&error), make_variable(&error)};
  gemel_options options = {.size = sizeof options, .states = variables, .n_states = 2};
  gemel_function *function = graph != NULL ? gemel_compile(graph, &options, &error) : NULL;
  seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  int done = function != NULL && learn(function, variables, argc > 1 ? atoi(argv[1]) : 150, &error);
  if (!done) {
    fprintf(stderr, "%s\n", error.text);
  }
  gemel_function_free(function);
  gemel_shared_unref(variables[0]);
  gemel_shared_unref(variables[1]);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return !done;
}
