/* SPDX-License-Identifier: MIT
 *
 * A network of two layers learns to read handwritten digits, by gradient descent with momentum.
 * Weights and momenta are states: they live in shared variables, a call of the training function
 * replaces them, and a second function reads the same variables to classify what was held back.
 *
 *   cc -std=c11 digits.c $(pkg-config --cflags --libs gemel) && ./a.out [SEED]
 *
 * How it is trained, and on what, is in digits.h.
 */
#include "digits.h"

static const char training_text[] =
    "graph train(images: u8[64, 8, 8], labels: u8[64], rate: f32[], state w1: f32[64, 256],"
    "            state b1: f32[256], state w2: f32[256, 10], state b2: f32[10]) {"
    "  x = reshape(cast(images, dtype = f32), shape = [64, 64]) / 16"
    "  h = relu(dot(x, w1) + b1)"
    "  logits = dot(h, w2) + b2"
    "  return loss = sum(cross_entropy(logits, labels)) / 64"
    "}";

static const char classifying_text[] =
    "graph classify(images: u8[N, 8, 8], state w1: f32[64, 256], state b1: f32[256],"
    "               state w2: f32[256, 10], state b2: f32[10]) {"
    "  x = reshape(cast(images, dtype = f32), shape = [N, 64]) / 16"
    "  h = relu(dot(x, w1) + b1)"
    "  return class = argmax(dot(h, w2) + b2, axis = 1)"
    "}";

int main(int argc, char **argv) {
  static const model network = {
      .training = training_text,
      .classifying = classifying_text,
      .n_parameters = 4,
      .parameters = {{2, {64, 256}, 64}, {1, {256}, 0}, {2, {256, 10}, 256}, {1, {10}, 0}},
      .epochs = 60,
      .rates = {0.3f, 0.05f}};
  return learn_digits(&network, argc, argv);
}
