/* SPDX-License-Identifier: MIT
 *
 * Z3 by its C interface. On an error Z3 calls a handler, which does nothing here, and notes a code:
 * the answer is unknown then. Limits are parameters of one solver, as what an option in the text
 * sets may be the whole process's.
 */
#include "base/smt.h"

#include <string.h>
#ifdef HAVE_Z3
#include <pthread.h>
#include <z3.h>
#endif

gemel__smt_word gemel__smt_integer(gemel__smt_wide x) {
  gemel__smt_word word;
  char *at = word.text + sizeof word.text;
  int negative = x < 0;
  *--at = '\0';
  if (negative) {
    *--at = ')';
  }
  do {
    int digit = (int)(x % 10);
    *--at = (char)('0' + (digit < 0 ? -digit : digit));
    x /= 10;
  } while (x != 0);
  if (negative) {
    at -= 3;
    memcpy(at, "(- ", 3);
  }
  memmove(word.text, at, strlen(at) + 1);
  return word;
}

#ifdef HAVE_Z3

int gemel__smt_has_solver(void) {
  return 1;
}

static void go_on(Z3_context c, Z3_error_code code) {
  (void)c, (void)code;
}

static void set_limits(Z3_context c, Z3_solver solver, const gemel__smt_question *question) {
  Z3_params params = Z3_mk_params(c);
  if (params == NULL) {
    return; /* Z3 has noted an error */
  }
  Z3_params_inc_ref(c, params);
  Z3_params_set_uint(c, params, Z3_mk_string_symbol(c, "rlimit"), question->work);
  Z3_params_set_bool(c, params, Z3_mk_string_symbol(c, "ctrl_c"), 0);
  if (question->megabytes > 0) {
    Z3_params_set_uint(c, params, Z3_mk_string_symbol(c, "max_memory"), question->megabytes);
  }
  if (question->linear) {
    Z3_params_set_bool(c, params, Z3_mk_string_symbol(c, "arith.nl.nra"), 0);
  }
  Z3_solver_set_params(c, solver, params);
  Z3_params_dec_ref(c, params);
}

static void tell_number(Z3_context c, Z3_model model, Z3_func_decl constant,
                        const gemel__smt_question *question) {
  Z3_ast value = Z3_model_get_const_interp(c, model, constant);
  if (value != NULL && Z3_is_algebraic_number(c, value)) {
    value = Z3_get_algebraic_number_upper(c, value, 60);
  }
  if (value != NULL && Z3_is_numeral_ast(c, value)) {
    fmpq_t x;
    fmpq_init(x);
    if (fmpq_set_str(x, Z3_get_numeral_string(c, value), 10) == 0) {
      question->take(question->user, Z3_get_symbol_string(c, Z3_get_decl_name(c, constant)), x);
    }
    fmpq_clear(x);
  }
}

static void tell_numbers(Z3_context c, Z3_solver solver, const gemel__smt_question *question) {
  Z3_model model = Z3_solver_get_model(c, solver);
  if (model != NULL) {
    Z3_model_inc_ref(c, model);
    for (unsigned k = 0; k < Z3_model_get_num_consts(c, model); k++) {
      tell_number(c, model, Z3_model_get_const_decl(c, model, k), question);
    }
    Z3_model_dec_ref(c, model);
  }
}

static gemel__smt_answer ask(Z3_context c, Z3_solver solver, const gemel__smt_question *question) {
  Z3_lbool answer;
  Z3_solver_from_string(c, solver, question->text);
  if (Z3_get_error_code(c) != Z3_OK) {
    return GEMEL__SMT_UNKNOWN;
  }
  set_limits(c, solver, question);
  if (Z3_get_error_code(c) != Z3_OK) {
    return GEMEL__SMT_UNKNOWN;
  }
  answer = Z3_solver_check(c, solver);
  if (Z3_get_error_code(c) != Z3_OK || answer == Z3_L_UNDEF) {
    return GEMEL__SMT_UNKNOWN;
  }
  if (answer == Z3_L_FALSE) {
    return GEMEL__SMT_NEVER;
  }
  if (question->take != NULL) {
    tell_numbers(c, solver, question);
  }
  return Z3_get_error_code(c) == Z3_OK ? GEMEL__SMT_POSSIBLE : GEMEL__SMT_UNKNOWN;
}

static Z3_context new_context(void) {
  Z3_config config = Z3_mk_config();
  Z3_context c = Z3_mk_context(config);
  Z3_del_config(config);
  return c;
}

/* Makes Z3 initialise its globals before two threads can do so at once. */
static void warm_up(void) {
  Z3_context c = new_context();
  if (c != NULL) {
    Z3_del_context(c);
  }
}

gemel__smt_answer gemel__smt_ask(const gemel__smt_question *question) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  gemel__smt_answer answer = GEMEL__SMT_UNKNOWN;
  pthread_once(&once, warm_up);
  Z3_context c = new_context();
  if (c == NULL) {
    return answer;
  }
  Z3_set_error_handler(c, go_on);
  Z3_solver solver = question->linear ? Z3_mk_simple_solver(c) : Z3_mk_solver(c);
  if (solver != NULL) {
    Z3_solver_inc_ref(c, solver);
    answer = ask(c, solver, question);
    Z3_solver_dec_ref(c, solver);
  }
  Z3_del_context(c);
  return answer;
}

#else /* built without Z3 */

int gemel__smt_has_solver(void) {
  return 0;
}

gemel__smt_answer gemel__smt_ask(const gemel__smt_question *question) {
  (void)question;
  return GEMEL__SMT_UNKNOWN;
}

#endif
