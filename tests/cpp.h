/*
 * What the tests of <gemel/gemel.hpp> share: expressions and the numbers that they give, statements
 * and what they throw.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_CPP_H
#define GEMEL_TESTS_CPP_H

#include <gemel/gemel.hpp>

#include "ct.h"

#include <functional>

using gemel::tensor;
using gemel::value;
using numbers = std::vector<double>;

/* Runs a graph of inputs x and y, vectors of f64, whose output BUILD makes. */
static inline numbers run(const std::function<value(value, value)> &build, const numbers &x,
                          const numbers &y) {
  gemel::graph g;
  value a = g.input("x: f64[N]"), b = g.input("y: f64[N]");
  g.output(build(a, b), "z");
  return gemel::evaluate(g, {tensor(x), tensor(y)})[0].elements<double>();
}

#define GIVES(expression, ...)                                                                     \
  CT_CHECK((run(                                                                                   \
                [&](value x, value y) -> value {                                                   \
                  (void)x, (void)y;                                                                \
                  return expression;                                                               \
                },                                                                                 \
                {1, 4}, {2, -3}) == numbers{__VA_ARGS__}))

/* The message names the line once, at its beginning (__FILE__'s folders before it), and no function
 * of C. */
static inline void check_message(const std::string &text, const std::string &file, int line) {
  std::string place = file.substr(file.rfind('/') + 1) + ":" + std::to_string(line) + ": ";
  std::size_t at = text.find(place);
  ct_context("%s", text.c_str());
  CT_CHECK(at != std::string::npos && text.find(' ') > at);
  CT_CHECK(text.find(place, at + 1) == std::string::npos);
  CT_CHECK(text.find("gemel_") == std::string::npos);
  ct_context(NULL);
}

/* The statement throws, with this status, and the message names its line. */
#define THROWS(statement, wanted)                                                                  \
  do {                                                                                             \
    bool thrown = false;                                                                           \
    try {                                                                                          \
      statement;                                                                                   \
    } catch (const gemel::error &e) {                                                              \
      thrown = true;                                                                               \
      CT_EQ_INT(e.status(), wanted);                                                               \
      check_message(e.what(), __FILE__, __LINE__);                                                 \
    }                                                                                              \
    CT_CHECK(thrown);                                                                              \
  } while (0)

/* The status that FN throws; GEMEL_OK: it throws nothing. */
static inline gemel_status thrown_by(const std::function<void()> &fn) {
  try {
    fn();
  } catch (const gemel::error &e) {
    CT_EQ_INT(e.details().status, e.status());
    CT_CHECK(e.what()[0] != '\0');
    return e.status();
  }
  return GEMEL_OK;
}

#endif
