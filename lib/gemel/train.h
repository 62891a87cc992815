/* SPDX-License-Identifier: MIT
 *
 * Training: steps of optimisers as updates of a graph's states, and the states of a graph as shared
 * variables, which are saved to one file and loaded from it.
 *
 *   gemel_value w = gemel_declare(graph, "state w: f32[784, 10]");
 *   ...
 *   gemel_adam(loss);                                    each call is a step of Adam
 *   gemel_adam_with(loss, .rate = 1e-4, .decay = 0.01);  AdamW, in C, with options by name
 *   gemel_states_new(graph, &n, &states, &error);        zeros, to be filled with what training
 * starts from
 *
 * What appends to a graph is one thread's at a time, as all builders are; the other functions may
 * be called on several threads at once.
 */
#ifndef GEMEL_TRAIN_H
#define GEMEL_TRAIN_H

#include <gemel/graph.h>
#include <gemel/shared.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an optimiser is told: a member that is 0 is what stands behind it. */
typedef struct gemel_sgd_options {
  double rate;     /* 0.01 */
  double momentum; /* 0: there is none */
  double decay;    /* 0: that much of a weight is added to its gradient */
} gemel_sgd_options;

typedef struct gemel_adam_options {
  double rate;    /* 0.001 */
  double beta1;   /* 0.9 */
  double beta2;   /* 0.999 */
  double epsilon; /* 1e-8 */
  double decay;   /* 0: rate times that much is taken from a weight itself: AdamW */
} gemel_adam_options;

/* Makes a call a step of stochastic gradient descent that lessens LOSS, a scalar of a float dtype:
 * each state of its graph that is of a float dtype and has no update yet gets one. With momentum,
 * each such state W has one more, called W_momentum, of W's type, that begins as 0. OPTIONS may be
 * NULL. Returns GEMEL_OK or the status of the graph's error: as gemel_grad, gemel_state and
 * gemel_update; GEMEL_BAD_ARGUMENT (there is no such state). Source: PyTorch's torch.optim.SGD. */
gemel_status gemel_sgd_at(gemel_value loss, const gemel_sgd_options *options, gemel_location where);
#define gemel_sgd(loss) gemel_sgd_at(loss, NULL, GEMEL_HERE)

/* The same by Adam: a state W has two more, W_mean and W_square, that begin as 0, and the graph has
 * adam_steps, i64, the number of steps before. Errors: as gemel_sgd_at. Source: Kingma and Ba,
 * Adam, 2015, algorithm 1; Loshchilov and Hutter, Decoupled weight decay regularization, 2019,
 * algorithm 2. */
gemel_status gemel_adam_at(gemel_value loss, const gemel_adam_options *options,
                           gemel_location where);
#define gemel_adam(loss) gemel_adam_at(loss, NULL, GEMEL_HERE)

#ifndef __cplusplus
#define gemel_sgd_with(loss, ...) gemel_sgd_at(loss, &(gemel_sgd_options){__VA_ARGS__}, GEMEL_HERE)
#define gemel_adam_with(loss, ...)                                                                 \
  gemel_adam_at(loss, &(gemel_adam_options){__VA_ARGS__}, GEMEL_HERE)
#endif

/* A shared variable of zeros for each state of GRAPH, in the order that gemel_options.states wants:
 * *STATES has *N of them, and is to be freed with gemel_states_free. The sizes of states must be
 * numbers. On failure both are as before: GEMEL_BAD_SHAPE (a size that is a symbol),
 * GEMEL_BAD_ARGUMENT (NULL), GEMEL_NO_MEMORY. */
gemel_status gemel_states_new(const gemel_graph *graph, size_t *n, gemel_shared ***states,
                              gemel_error *error);

/* Gives back a reference to each variable, and the array; NULL is ignored. Those of a function that
 * makes its own (gemel_options.make_states) are had by gemel_function_states. */
void gemel_states_free(size_t n, gemel_shared **states);

/* The variable among STATES of the state of GRAPH called NAME, borrowed; NULL if there is none. */
gemel_shared *gemel_states_find(const gemel_graph *graph, size_t n, gemel_shared *const *states,
                                const char *name);

/* Writes the values of STATES, under the names of GRAPH's states, to a .safetensors file, whole or
 * not at all. Errors: GEMEL_BAD_ARGUMENT (N isn't the number of states, NULL), those of
 * gemel_safetensors_save. */
gemel_status gemel_states_save(const gemel_graph *graph, size_t n, gemel_shared *const *states,
                               const char *path, gemel_error *error);

/* Reads them: each state must be in the file, with its dtype and shape; what else is in it is left
 * alone. On failure no variable has changed: GEMEL_NOT_FOUND (a state that isn't in the file,
 * named), GEMEL_BAD_TYPE, GEMEL_BAD_SHAPE (it is of another type), GEMEL_BAD_ARGUMENT (as above),
 * those of gemel_safetensors_load and gemel_shared_set. */
gemel_status gemel_states_load(const gemel_graph *graph, size_t n, gemel_shared *const *states,
                               const char *path, gemel_error *error);

#ifdef __cplusplus
}
#endif
#endif
