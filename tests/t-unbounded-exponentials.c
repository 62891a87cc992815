/*
 * Quotients, exponentials and logarithms of reals in the prover (verify/unbounded/exponentials.c):
 * right rules that are proved, and twins of them with something changed, of which none may be.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include "support/proved.h"

static const proved_case right[] = {
    {"exp_sum", "exp(x + y) => exp(x) * exp(y) where float(x)", ALL},
    {"exp_diff", "exp(x - y) => exp(x) / exp(y) where float(x)", ALL},
    {"exp_twice", "exp(2 * x) => sqr(exp(x)) where float(x)", ALL},
    {"exp_thrice", "exp(3 * x - y) => exp(x) * exp(x) * exp(x) / exp(y) where float(x)", ALL},
    {"exp_minus", "exp(-x) => 1 / exp(x) where float(x)", ALL},
    {"exp_back", "exp(x + y - x) => exp(y) where float(x)", ALL},
    {"exp_half", "exp(x / 2) * exp(x / 2) => exp(x) where float(x)", ALL},
    {"exp_nine", "exp(9 * x) => exp(4 * x + 5 * x) where float(x)", ALL},
    {"exp_of_sum", "exp(sum(x, axes = a) + y) => exp(sum(x, axes = a)) * exp(y) where float(x)", 2},
    {"log_prod", "log(exp(x) * exp(y)) => x + y where float(x)", ALL},
    {"log_quot", "log(exp(x) / exp(y)) => x - y where float(x)", ALL},
    {"log_rest", "log(x / exp(y)) => log(x) - y where float(x)", ALL},
    {"log_rest2", "log(exp(y) * x) => log(x) + y where float(x)", ALL},
    {"log_inv", "log(1 / x) => -log(x) where float(x)", ALL},
    {"inv_prod", "z / (x * y) => z / x / y where float(x)", ALL},
    {"inv_inv", "z / (x / y) => z * y / x where float(x), nonzero(y)", ALL},
    {"inv_neg", "z / (x * -2) => -(z / x / 2) where float(x)", ALL},
};

static const proved_case wrong[] = {
    {"exp_sum", "exp(x + y) => exp(x) + exp(y) where float(x)", 0},
    {"exp_diff", "exp(x - y) => exp(y) / exp(x) where float(x)", 0},
    {"exp_twice", "exp(2 * x) => 2 * exp(x) where float(x)", 0},
    {"exp_thrice", "exp(3 * x - y) => exp(x) * exp(x) / exp(y) where float(x)", 0},
    {"exp_minus", "exp(-x) => -exp(x) where float(x)", 0},
    {"exp_half", "exp(x / 2) => exp(x) / 2 where float(x)", 0},
    {"exp_of_sum", "exp(sum(x, axes = a)) => sum(exp(x), axes = a) where float(x)", 0},
    {"log_prod", "log(exp(x) * exp(y)) => x * y where float(x)", 0},
    {"log_quot", "log(exp(x) / exp(y)) => x + y where float(x)", 0},
    {"log_rest", "log(x / exp(y)) => log(x) + y where float(x)", 0},
    {"log_two", "log(2 * exp(x)) => x where float(x)", 0},
    {"log_sum", "log(exp(x) + exp(y)) => x + y where float(x)", 0},
    {"log_parts", "log(x * y) => log(x) + log(y) where float(x)", 0},
    {"log_shift",
     "log(sum(exp(x - c), axes = a)) => log(sum(exp(x), axes = a)) where scalar(c), float(x)", 0},
    {"log_shift2",
     "log(sum(exp(c) * x, axes = a)) => log(sum(x, axes = a)) - c where scalar(c), float(x)", 0},
    {"inv_prod", "z / (x * y) => z / x * y where float(x)", 0},
    {"inv_neg", "z / (x * -2) => z / x / 2 where float(x)", 0},
    {"inv_sum", "z / sum(c * x, axes = a) => z * c / sum(x, axes = a) where scalar(c), float(x)",
     0},
    {"inv_of_sum", "z / (x + y) => z / x + z / y where float(x)", 0},
    {"sum_over", "sum(x / sum(x)) => 1 where float(x)", 0},
    {"sum_over2",
     "sum(exp(x - c)/ sum(exp(x))) => exp(c) where float(x), elements(x) == 3, scalar(c)", 0},
    {"sum_over3",
     "sum(x / sum(x, axes = [0], keepdims = 1), axes = [1]) => sum(x, axes = [1]) * 0 + 1 where "
     "float(x), rank(x) == 2",
     0},
    {"inv_zero", "z / (x * 0) => z * 0 where float(x)", 0},
};

void ct_register(void) {
  for (size_t k = 0; k < CT_COUNT(right); k++) {
    CT_ADD_TO("exponentials", "right", right[k].name, check_proved, &right[k]);
  }
  for (size_t k = 0; k < CT_COUNT(wrong); k++) {
    CT_ADD_TO("exponentials", "wrong", wrong[k].name, check_proved, &wrong[k]);
  }
}
