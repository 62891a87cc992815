/* SPDX-License-Identifier: MIT
 *
 * A network of two convolutions, each with pooling behind it, and a layer learns to read
 * handwritten digits, by gradient descent with momentum. Weights and momenta are states: they live
 * in shared variables, a call of the training function replaces them, and a second function reads
 * the same variables to classify what was held back.
 *
 *   cc -std=c11 lenet.c $(pkg-config --cflags --libs gemel) && ./a.out [SEED]
 *
 * How it is trained, and on what, is in digits.h.
 */
#include "digits.h"

static const char training_text[] =
    "graph train(images: u8[64, 8, 8], labels: u8[64], rate: f32[], state w1: f32[16, 1, 3, 3],"
    "            state b1: f32[16], state w2: f32[32, 16, 3, 3], state b2: f32[32],"
    "            state w3: f32[128, 10], state b3: f32[10]) {"
    "  x = dimshuffle(cast(images, dtype = f32) / 16, order = [0, -1, 1, 2])"
    "  h1 = relu(corr(x, w1, padding = \"half\") + dimshuffle(b1, order = [0, -1, -1]))"
    "  p1 = max_pool(h1, size = [2, 2], stride = [2, 2])"
    "  h2 = relu(corr(p1, w2, padding = \"half\") + dimshuffle(b2, order = [0, -1, -1]))"
    "  p2 = max_pool(h2, size = [2, 2], stride = [2, 2])"
    "  logits = dot(reshape(p2, shape = [64, 128]), w3) + b3"
    "  return loss = sum(cross_entropy(logits, labels)) / 64"
    "}";

static const char classifying_text[] =
    "graph classify(images: u8[N, 8, 8], state w1: f32[16, 1, 3, 3], state b1: f32[16],"
    "               state w2: f32[32, 16, 3, 3], state b2: f32[32], state w3: f32[128, 10],"
    "               state b3: f32[10]) {"
    "  x = dimshuffle(cast(images, dtype = f32) / 16, order = [0, -1, 1, 2])"
    "  h1 = relu(corr(x, w1, padding = \"half\") + dimshuffle(b1, order = [0, -1, -1]))"
    "  p1 = max_pool(h1, size = [2, 2], stride = [2, 2])"
    "  h2 = relu(corr(p1, w2, padding = \"half\") + dimshuffle(b2, order = [0, -1, -1]))"
    "  p2 = max_pool(h2, size = [2, 2], stride = [2, 2])"
    "  return class = argmax(dot(reshape(p2, shape = [N, 128]), w3) + b3, axis = 1)"
    "}";

int main(int argc, char **argv) {
  static const model network = {.training = training_text,
                                .classifying = classifying_text,
                                .n_parameters = 6,
                                .parameters = {{4, {16, 1, 3, 3}, 9},
                                               {1, {16}, 0},
                                               {4, {32, 16, 3, 3}, 144},
                                               {1, {32}, 0},
                                               {2, {128, 10}, 128},
                                               {1, {10}, 0}},
                                .epochs = 15,
                                .rates = {0.05f, 0.01f}};
  return learn_digits(&network, argc, argv);
}
