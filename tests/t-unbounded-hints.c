/*
 * Hints of proofs that failed (verify/unbounded/hint.h): models of questions, and wrong rules that
 * only an instance by a hint refutes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <gemel/verify.h>
#include <string.h>
#include "support/heard.h"
#include "unbounded/ask.h"
#include "unbounded/term.h"

/* Numbers by which A >= B doesn't follow: an example's, and the solver's, of which there is one. */
static void models(const void *data) {
  gemel__pterms terms, *t = &terms;
  gemel__ask of_terms, *ask = &of_terms;
  (void)data;
  gemel__pterms_init(t);
  gemel__ask_init(ask, t);
  gemel__pterm a = gemel__p_symbol(t, GEMEL__PSORT_INTEGER, "a");
  gemel__pterm b = gemel__p_symbol(t, GEMEL__PSORT_INTEGER, "b");
  const gemel__pterm both[3] = {a, b, gemel__p_add(t, a, b)};
  int64_t numbers[3];
  unsigned char has[3];
  ask->wants_model = 1;
  CT_EQ_INT(gemel__ask_follows(ask, NULL, 0, gemel__p_at_least(t, a, b)), GEMEL__FOLLOWS_NO);
  gemel__ask_numbers(ask, 3, both, numbers, has);
  CT_CHECK(ask->model.is && has[0] && has[1] && has[2] && numbers[0] < numbers[1]);
  CT_EQ_INT(numbers[2], numbers[0] + numbers[1]);
  gemel__pterm least = gemel__p_at_least(t, gemel__p_number(t, -97), a);
  CT_EQ_INT(gemel__ask_follows(ask, &least, 1, gemel__p_at_least(t, gemel__p_number(t, -98), a)),
            GEMEL__FOLLOWS_NO);
  gemel__ask_numbers(ask, 2, both, numbers, has);
  CT_CHECK(ask->model.is && numbers[0] == -97 && numbers[1] == 1);
  CT_EQ_INT(gemel__ask_follows(ask, &least, 1, least), GEMEL__FOLLOWS_YES);
  CT_CHECK(!ask->model.is);
  gemel__ask_clear(ask);
  gemel__pterms_clear(t);
}

/* Wrong at a size or a step that isn't drawn: what the proof can't do without is tried. */
static size_t refuted_with(const char *text, int proofs) {
  return hear_rules(text, (gemel_verify_options){.instances = 24,
                                                 .tiers = 1u << GEMEL_TIER_REAL,
                                                 .proofs = proofs})
      .refuted;
}

static void hinted(const void *data) {
  static const char *const texts[] = {
      "rule step_of_thirteen in canonicalize:\n"
      "  subtensor(subtensor(x, start = a, size = b, step = c), start = d, size = e, step = f)\n"
      "    => subtensor(x, start = a + c + max(0, c - 12), size = e, step = f)\n"
      "  where d == 1, e == 1, c >= 1\n",
      "rule margin_of_97 in canonicalize:\n"
      "  pad(pad(x, v, low = l, high = h, interior = i), v, low = m, high = n, interior = i)\n"
      "    => pad(x, v, low = l + m + max(0, 1 - abs(3 * l - 291)), high = h + n, interior = i)\n"
      "  where l >= 0, h >= 0, m >= 0, n >= 0, i == 0\n",
      "rule margin_of_nine_sizes in canonicalize:\n"
      "  subtensor(pad(x, v, low = l, high = h, interior = i), start = d, size = b, step = c)\n"
      "    => subtensor(x, start = d - l + max(0, 1 - abs(l - 9 * shape(x))), size = b, step = c)\n"
      "  where b < shape(x), i == 0, d == l, c == 1, l >= 0, h >= 0\n"};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(texts); k++) {
    ct_context("%s", texts[k]);
    CT_EQ_UINT(refuted_with(texts[k], 0), 0);
    CT_EQ_UINT(refuted_with(texts[k], 1), 1);
  }
}

static const ct_test tests[] = {
    CT_TEST("models", models, NULL),
    CT_TEST("hinted", hinted, NULL),
};

void ct_register(void) {
  ct_suite("hints", tests, CT_COUNT(tests));
}
