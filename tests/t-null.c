/*
 * NULL for every pointer of every public function, and null values: nothing crashes, and what can
 * say so says that it failed. The calls are made from the headers by null-calls.awk; each is made
 * in a process of its own, so that one crash is one failure.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"
#include "support/onnx-text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <gemel/gemel.h>
#include <gemel/ops.h>
#ifdef HAVE_VERIFY
#include <gemel/models.h>
#include <gemel/verify.h>
#endif

/* ---- A valid one of each type ---- */

static gemel_context *context;
static gemel_graph *graph;
static gemel_function *function;
static gemel_loop *loop;
static gemel_call_profile *call_profile;
static gemel_tensor *tensor;
static gemel_shared *shared;
static gemel_value value;
static gemel_dim two;
static gemel_type type;

static const gemel_value null_value = {NULL, 0, 0};
static gemel_value result_value;
static gemel_error error;
static gemel_attr attr;
static gemel_dtype dtype;
static gemel_tensor *no_tensor;
static gemel_tensor **no_tensors;
static char *no_text, **no_texts;
static size_t count;
static int64_t numbers[] = {1, 1, 1, 1};
static const double a_double = 1;
static const char *texts[] = {"x"};
static char buffer[256];
static void *arrays[1] = {buffer};
static gemel_options options = {.size = sizeof options, .threads = 1, .profile = 1};
static const char one_rule[] = "rule x in canonicalize: -(-x) => x";
static gemel_rules *rules;
static gemel_rewrite_profile *profile;
static gemel_lift_report *report;
static message model_bytes;
static gemel_onnx *model;
static gemel_hlo *module;
static gemel_onnx_options onnx_options = {.size = sizeof onnx_options};
static gemel_edit *edit; /* within a pass */
static int (*run_in_pass)(void);
static int said;
/* Makes the call at hand, if there is one. */
static gemel_status pass_rewrite(gemel_edit *at_work, const void *data, gemel_error *e) {
  (void)data, (void)e;
  edit = at_work;
  said = run_in_pass != NULL && run_in_pass();
  return GEMEL_OK;
}
static gemel_status pass_generate(gemel_graph *g, uint64_t (*random)(void *), void *user,
                                  const void *data) {
  (void)random, (void)user, (void)data;
  return gemel_graph_error(g)->status;
}
static const gemel_pass pass = {
    .size = sizeof pass, .name = "own", .rewrite = pass_rewrite, .generate = pass_generate};
static gemel_rewrite_options rewrite = {.size = sizeof rewrite};
static gemel_lift_options lift = {.size = sizeof lift, .space = 1};

/* A module of one instruction. */
static gemel_hlo *new_module(void) {
  static const char text[] = "HloModule m\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n";
  return gemel_hlo_parse(text, sizeof text - 1, "module", NULL);
}

/* A model without nodes. */
static gemel_onnx *new_model(void) {
  model_bytes = onnx_model("g () => () {}");
  return gemel_onnx_parse(model_bytes.bytes, model_bytes.length, "model", NULL, NULL);
}

static int discard(void *user, const void *bytes, size_t size) {
  (void)user, (void)bytes, (void)size;
  return 0;
}

static void ignore(void *user) {
  (void)user;
}

static gemel_view view(void) {
  return gemel_tensor_view(tensor);
}

static gemel_operation operation(void) {
  gemel_operation own = *gemel_operation_find(context, "exp");
  own.name = "own";
  return own;
}

#define VALID_char_p buffer
#define VALID_char_p_p &no_text
#define VALID_char_p_p_p &no_texts
#define VALID_const_char_p "x"
#define VALID_const_char_p_const_p texts
#define VALID_const_gemel_attr_p &attr
#define VALID_const_gemel_context_p context
#define VALID_const_gemel_device_p gemel_host()
#define VALID_const_gemel_onnx_p model
#define VALID_const_gemel_hlo_p module
#define VALID_gemel_hlo_p new_module()
#define VALID_const_gemel_onnx_options_p &onnx_options
#define VALID_gemel_onnx_p new_model()
#define VALID_const_char_p_p (const char **)texts
#define VALID_const_gemel_dim_p &two
#define VALID_const_gemel_graph_p graph
#define VALID_const_gemel_kernel_p gemel_operation_find(context, "exp")->kernels
#define VALID_const_gemel_operation_p &own
#define VALID_const_gemel_options_p &options
#define VALID_builder_options_p NULL
#define VALID_const_gemel_pair_example_p &pair.example
#define VALID_const_gemel_pass_p &pass
#define VALID_const_gemel_rewrite_profile_p profile
#define VALID_const_gemel_lift_options_p &lift
#define VALID_const_gemel_lift_report_p report
#define VALID_const_gemel_rewrite_options_p &rewrite
#define VALID_const_gemel_rule_p gemel_rules_at(rules, 0)
#define VALID_const_gemel_rules_p rules
#define VALID_const_gemel_shared_p shared
#define VALID_const_gemel_tensor_p tensor
#define VALID_const_double_p &a_double
#define VALID_const_gemel_value_p &value
#define VALID_const_gemel_view_p &a_view
#define VALID_void_p_const_p arrays
#define VALID_const_int64_t_p numbers
#define VALID_const_void_p buffer
#define VALID_double 1.0
#define VALID_function_p ignore
#define VALID_gemel_attr_p &attr
#define VALID_gemel_call_profile_p gemel_function_profile(function, NULL)
#define VALID_const_gemel_call_profile_p call_profile
#define VALID_gemel_context_p context
#define VALID_gemel_dumped_p NULL
#define VALID_gemel_dlpack_p gemel_tensor_to_dlpack(tensor, 0, NULL)
#define VALID_gemel_dlpack_unversioned_p gemel_tensor_to_dlpack_unversioned(tensor, NULL)
#define VALID_gemel_dim two
#define VALID_gemel_dtype GEMEL_F32
#define VALID_gemel_dtype_p &dtype
#define VALID_const_gemel_edit_p edit
#define VALID_gemel_edit_p edit
#define VALID_gemel_error_p &error
#define VALID_gemel_function_p function
#define VALID_gemel_loop_p loop
#define VALID_const_gemel_loop_p loop
#define VALID_const_gemel_loop_options_p NULL
#define VALID_const_gemel_eye_options_p NULL
#define VALID_const_gemel_adam_options_p NULL
#define VALID_gemel_shared_p_p_p NULL
#define VALID_gemel_shared_p_const_p NULL
#define VALID_const_gemel_sgd_options_p NULL
#define VALID_const_gemel_causal_mask_options_p NULL
#define VALID_const_gemel_function_p function
#define VALID_gemel_graph_p graph
#define VALID_gemel_location GEMEL_HERE
#define VALID_gemel_lift_report_p gemel_lift_report_new()
#define VALID_gemel_rewrite_profile_p gemel_rewrite_profile_new()
#define VALID_gemel_rules_p gemel_rules_ref(rules)
#define VALID_gemel_shared_p gemel_shared_ref(shared)
#define VALID_gemel_status GEMEL_OK
#define VALID_gemel_tensor_p tensor
#define VALID_gemel_tensor_p_const_p &tensor
#define VALID_gemel_tensor_p_p &no_tensor
#define VALID_gemel_tensor_p_p_p &no_tensors
#define VALID_gemel_type type
#define VALID_gemel_value value
#define VALID_gemel_value_p &result_value
#define VALID_gemel_write discard
#define VALID_int 1
#define VALID_int64_t 1
#define VALID_int64_t_p numbers
#define VALID_size_t 1
#define VALID_size_t_p &count
#define VALID_uint32_t 0
#define VALID_uint64_t 0
#define VALID_unsigned 0
#define VALID_void_p buffer
#ifdef HAVE_VERIFY
static gemel_pair_result pair = {.size = sizeof pair};
static gemel_record record = {.size = sizeof record};
static gemel_verify_options verify = {.size = sizeof verify, .instances = 1, .ops = "exp"};
static gemel_verify_summary summary = {.size = sizeof summary};
static gemel_certify_counts certified;
static gemel_drawn_model drawn = {.size = sizeof drawn};
/* With these nothing is drawn, so that there are no bytes to free. */
static const gemel_model_options no_models;
#define VALID_const_gemel_model_options_p &no_models
#define VALID_gemel_drawn_model_p &drawn
#define VALID_gemel_certify_counts_p &certified
#define VALID_const_gemel_record_p &record
static const gemel_proof proof = {.size = sizeof proof, .rule = "r", .why = ""};
static void ignore_proof(void *user, const gemel_proof *given) {
  (void)user, (void)given;
}
#define VALID_const_gemel_proof_p &proof
static const gemel_prove_options prove_options = {
    .size = sizeof prove_options, .ranks = 1, .sink = ignore_proof};
#define SAYS_gemel_proof(call) ((call).elements == NULL)
#define VALID_const_gemel_prove_options_p &prove_options
#define VALID_const_gemel_verify_options_p &verify
#define VALID_gemel_pair_result_p &pair
#define VALID_gemel_tier GEMEL_TIER_REAL
#define VALID_gemel_verdict GEMEL_VERDICT_PASSED
#define VALID_gemel_verify_summary_p &summary
/* A call exists only inside a reference (tests/t-own.c): here it is NULL each time. */
#define VALID_const_gemel_reference_call_p NULL
#define VALID_gemel_reference_call_p NULL
#define VALID_const_gemel_element_p (const gemel_element *)(const void *)buffer
#define VALID_gemel_element_p (gemel_element *)(void *)buffer
#define VALID_const_gemel_element_p_const_p NULL
static const gemel_reference reference = {.size = sizeof reference};
#define VALID_const_gemel_reference_p &reference
#define SAYS_gemel_reference_shape(call) ((call).count == 0)
#define SAYS_const_gemel_element_p SAYS_NULL
#define SAYS_gemel_element_p SAYS_NULL
#define SAYS_const_gemel_attr_p SAYS_NULL
#define SAYS_const_void_p SAYS_NULL
#endif

/* ---- What says "nothing" or "failed" in a result ---- */

#define SAYS_gemel_status(call) ((call) != GEMEL_OK)
#define SAYS_unsigned(call) ((call) == 0)
#define SAYS_gemel_value(call) gemel_is_null(call)
#define SAYS_gemel_dim(call) gemel_dim_is_none(call)
#define SAYS_gemel_type(call) gemel_type_is_none(call)
#define SAYS_NULL(call) ((call) == NULL)
#define SAYS_char_p SAYS_NULL
#define SAYS_const_gemel_call_row_p SAYS_NULL
#define SAYS_const_gemel_call_summary_p SAYS_NULL
#define SAYS_const_gemel_device_p SAYS_NULL
#define SAYS_const_gemel_dim_p SAYS_NULL
#define SAYS_const_gemel_graph_p SAYS_NULL
#define SAYS_const_gemel_lift_counts_p SAYS_NULL
#define SAYS_const_gemel_lift_row_p SAYS_NULL
#define SAYS_const_gemel_lift_stay_p SAYS_NULL
#define SAYS_const_gemel_operation_p SAYS_NULL
#define SAYS_const_gemel_pass_p SAYS_NULL
#define SAYS_const_gemel_rewrite_row_p SAYS_NULL
#define SAYS_const_gemel_rule_info_p SAYS_NULL
#define SAYS_const_gemel_rule_p SAYS_NULL
#define SAYS_const_int64_t_p SAYS_NULL
#define SAYS_gemel_call_profile_p SAYS_NULL
#define SAYS_gemel_context_p SAYS_NULL
#define SAYS_gemel_dumped_p SAYS_NULL
#define SAYS_gemel_dlpack_p SAYS_NULL
#define SAYS_gemel_dlpack_unversioned_p SAYS_NULL
#define SAYS_gemel_function_p SAYS_NULL
#define SAYS_gemel_graph_p SAYS_NULL
#define SAYS_gemel_loop_p SAYS_NULL
#define SAYS_gemel_onnx_p SAYS_NULL
#define SAYS_gemel_hlo_p SAYS_NULL
#define SAYS_gemel_rules_p SAYS_NULL
#define SAYS_gemel_shared_p SAYS_NULL
#define SAYS_gemel_tensor_p SAYS_NULL
#define SAYS_void_p SAYS_NULL
#define SAYS_zero(call) ((call) == 0)
#define SAYS_int SAYS_zero
#define SAYS_int64_t SAYS_zero
#define SAYS_size_t SAYS_zero
/* these have no way to say it; a text is never NULL where a static one can be given */
#define SAYS_anything(call) ((call), 1)
#define SAYS_const_char_p SAYS_anything
#define SAYS_const_gemel_error_p(call) ((call)->status != GEMEL_OK)
#define SAYS_gemel_attr(call) ((call).name == NULL || 1)
#define SAYS_gemel_dtype SAYS_anything
#define SAYS_gemel_kind SAYS_anything
#define SAYS_gemel_location(call) ((call).file != NULL)
#define SAYS_gemel_view(call) ((call).data == NULL)
#define SAYS_void SAYS_anything

/* ---- The calls ---- */

typedef struct null_call {
  const char *name;
  int nulled; /* which parameter is NULL; 0: all of them */
  const char *what;
  int (*run)(void);
} null_call;

/* One function a call; "own" and "a_view" are made afresh. */
#define CALL(name, nulled, result, what, call)                                                     \
  static int run_##name##_##nulled(void) {                                                         \
    gemel_operation own = operation();                                                             \
    gemel_view a_view = view();                                                                    \
    (void)own, (void)a_view;                                                                       \
    return SAYS_##result(call);                                                                    \
  }
#include "tests/null-calls.h"
#undef CALL

static const null_call calls[] = {
#define CALL(name, nulled, result, what, call) {#name, nulled, #what, run_##name##_##nulled},
#include "tests/null-calls.h"
#undef CALL
};

/* What is an object to work on: without it there is nothing to do. Other pointers may be optional,
 * and then only must not crash. */
static int must_fail(const null_call *c) {
  static const char *const objects[] = {"gemel_context_p",
                                        "gemel_graph_p",
                                        "const_gemel_graph_p",
                                        "gemel_function_p",
                                        "gemel_loop_p",
                                        "const_gemel_loop_p",
                                        "gemel_tensor_p",
                                        "const_gemel_tensor_p",
                                        "gemel_shared_p",
                                        "const_gemel_shared_p",
                                        "const_gemel_value_p",
                                        "const_gemel_rules_p",
                                        "const_gemel_rule_p",
                                        "const_gemel_rewrite_profile_p",
                                        "const_gemel_lift_report_p",
                                        "gemel_edit_p",
                                        "const_gemel_edit_p",
                                        "const_gemel_device_p",
                                        "const_gemel_function_p",
                                        "const_gemel_onnx_p",
                                        "const_gemel_hlo_p",
                                        "const_gemel_call_profile_p",
                                        "gemel_dlpack_p",
                                        "gemel_dlpack_unversioned_p"};
  if (strcmp(c->name, "gemel_is_null") == 0 || strstr(c->name, "_format") != NULL ||
      strcmp(c->name, "gemel_set_allocator") == 0 ||            /* NULL: malloc */
      strcmp(c->name, "gemel_context_new") == 0 ||              /* no object needed */
      (strcmp(c->name, "gemel_grad") == 0 && c->nulled == 3)) { /* no seeds: ones */
    return 0;
  }
  for (size_t k = 0; k < CT_COUNT(objects); k++) {
    if (strcmp(c->what, objects[k]) == 0) {
      return 1;
    }
  }
  return c->nulled == 0;
}

/* Calls that the other arguments don't suit: frees of what was not allocated, hours of work. */
static int left_out(const null_call *c) {
  return (strcmp(c->name, "gemel_npz_free") == 0 && c->nulled != 0) ||
         (strcmp(c->name, "gemel_verify_operations") == 0 && c->nulled == 2);
}

/* A call that is only there for a pass. */
static int call_in_pass(int (*run)(void)) {
  gemel_rewrite_options alone = {.size = sizeof alone, .include = "own"};
  gemel_register_pass(context, &pass, NULL);
  run_in_pass = run;
  gemel_graph_unref(gemel_rewrite(graph, &alone, NULL));
  return said;
}

static int makes_nothing(const null_call *c) {
  return strncmp(c->name, "gemel_edit_", 11) == 0 ? call_in_pass(c->run) : c->run();
}

static void null(const void *data) {
  const null_call *c = data;
  int status = 0;
  const char *folder = ct_scratch(); /* for what is written to the file "x" */
  pid_t child = fork();
  CT_REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);
    _exit(chdir(folder) == 0 && (makes_nothing(c) || !must_fail(c)) ? 0 : 1);
  }
  CT_REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) {
    CT_FAIL("signal %d", WTERMSIG(status));
  } else {
    CT_EQ_INT(WEXITSTATUS(status), 0);
  }
}

/* The table names functions of all headers, or else the script has lost them. */
static void whole(const void *data) {
  static const char *const some[] = {"gemel_parse",
                                     "gemel_add_at",
                                     "gemel_sum_at",
                                     "gemel_call",
                                     "gemel_npy_save",
                                     "gemel_jvp",
                                     "gemel_dim_is_constant",
                                     "gemel_dim_add",
                                     "gemel_register_operation",
                                     "gemel_dtype_find"};
  (void)data;
  for (size_t j = 0; j < CT_COUNT(some); j++) {
    size_t k = 0;
    while (k < CT_COUNT(calls) && strcmp(calls[k].name, some[j]) != 0) {
      k++;
    }
    ct_context("%s", some[j]);
    CT_CHECK(k < CT_COUNT(calls));
  }
  CT_CHECK(CT_COUNT(calls) > 250);
}

static const ct_test tests[] = {CT_TEST("whole", whole, NULL)};

static void free_objects(void) {
  gemel_lift_report_free(report);
  gemel_onnx_free(model);
  gemel_hlo_free(module);
  gemel_rewrite_profile_free(profile);
  gemel_rules_unref(rules);
  gemel_shared_unref(shared);
  gemel_tensor_unref(tensor);
  gemel_call_profile_free(call_profile);
  gemel_function_free(function);
  gemel_loop_free(loop);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static void make_objects(void) {
  int64_t shape = 2;
  atexit(free_objects);
  context = gemel_context_new(NULL);
  graph = gemel_graph_new(context, NULL);
  two = gemel_dim_constant(context, 2);
  type = gemel_type_of_shape(context, GEMEL_F32, 1, &shape);
  value = gemel_input(graph, "x", type);
  gemel_output(gemel_exp(value), "y");
  loop = gemel_loop_begin(graph, NULL);
  function = gemel_compile(graph, &options, NULL);
  call_profile = gemel_function_profile(function, NULL);
  tensor = gemel_tensor_new(GEMEL_F32, 1, &shape, NULL);
  shared = gemel_shared_new(tensor, NULL);
  attr = gemel_attr_int("axis", 0);
  rules = gemel_rules_parse(context, one_rule, strlen(one_rule), "one.rules", NULL);
  profile = gemel_rewrite_profile_new();
  model = new_model();
  module = new_module();
  report = gemel_lift_report_new();
}

void ct_register(void) {
  make_objects();
  ct_suite("null", tests, CT_COUNT(tests));
  for (size_t k = 0; k < CT_COUNT(calls); k++) {
    char name[120];
    snprintf(name, sizeof name, "%s/%d/%s", calls[k].name, calls[k].nulled, calls[k].what);
    if (!left_out(&calls[k])) {
      CT_ADD("null", name, null, &calls[k]);
    }
  }
}
