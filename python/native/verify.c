/* SPDX-License-Identifier: MIT
 *
 * The harness for Python: pairs of graphs, rules, proofs. All of it runs without the interpreter's
 * lock. What comes back while it runs, records and the question whether to go on, takes the lock:
 * so Ctrl-C, the limit of time and the caller's progress function end a call soon, with what was
 * found by then or with the exception.
 */
#include "native.h"
#include <gemel/verify.h>
#include <string.h>
#include <time.h>

/* ---- A run ---- */

typedef struct python_run {
  PyObject *records;  /* a list of dicts */
  PyObject *progress; /* a callable, or None */
  double until;       /* when it is to end; 0: no limit */
  double told;        /* when the callable was called last */
  int out_of_time;
  PyObject *type, *value, *traceback; /* the exception that ends it */
} python_run;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Keeps the exception that was raised in a callback, for when the run has ended. */
static void keep_exception(python_run *r) {
  if (r->type == NULL) {
    PyErr_Fetch(&r->type, &r->value, &r->traceback);
  } else {
    PyErr_Clear();
  }
}

/* Raises it; 1 if there was one. */
static int raise_kept(python_run *r) {
  if (r->type == NULL) {
    return 0;
  }
  PyErr_Restore(r->type, r->value, r->traceback);
  return 1;
}

static int run_begin(python_run *r, PyObject *progress, double seconds) {
  memset(r, 0, sizeof *r);
  r->progress = progress;
  r->until = seconds > 0 ? now() + seconds : 0;
  r->records = PyList_New(0);
  return r->records != NULL ? 0 : -1;
}

static void tell(python_run *r, const char *doing, double time) {
  const double often = 0.1; /* seconds */
  if (r->progress != Py_None && time - r->told >= often) {
    PyObject *result = PyObject_CallFunction(r->progress, "s", doing);
    r->told = time;
    Py_XDECREF(result);
  }
}

static int tick(void *user, const char *doing) {
  python_run *r = user;
  double time = now();
  PyGILState_STATE state = PyGILState_Ensure();
  if (r->type == NULL && PyErr_CheckSignals() == 0) {
    tell(r, doing, time);
  }
  if (PyErr_Occurred()) {
    keep_exception(r);
  }
  PyGILState_Release(state);
  r->out_of_time |= r->until > 0 && time >= r->until;
  return r->type != NULL || r->out_of_time;
}

/* ---- Records ---- */

PyObject *pair_words(unsigned bits) {
  static const char *const names[] = {
#define NAME(E, name, meaning) #name,
      GEMEL_NEEDS_TABLE(NAME) GEMEL_PAIR_TABLE(NAME)
#undef NAME
  };
  PyObject *list = PyList_New(0);
  for (unsigned k = 0; list != NULL && k < sizeof names / sizeof *names; k++) {
    PyObject *word = bits >> k & 1 ? PyUnicode_FromString(names[k]) : NULL;
    if (word != NULL) {
      PyList_Append(list, word);
      Py_DECREF(word);
    }
  }
  return list;
}

/* Text of gemel's, as a str whatever its bytes. */
static PyObject *text_object(const char *text) {
  if (text == NULL) {
    Py_INCREF(Py_None);
    return Py_None;
  }
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static PyObject *proof_object(const gemel_proof *p) {
  if (p == NULL) {
    Py_INCREF(Py_None);
    return Py_None;
  }
  return Py_BuildValue("{s:N,s:N,s:i,s:O,s:N,s:n,s:n,s:n,s:N,s:O}", "rule", text_object(p->rule),
                       "elements", text_object(p->elements), "ranks", p->ranks, "all_ranks",
                       p->all_ranks ? Py_True : Py_False, "why", text_object(p->why), "scenes",
                       (Py_ssize_t)p->scenes, "questions", (Py_ssize_t)p->questions, "checked",
                       (Py_ssize_t)p->checked, "counterexample", text_object(p->counterexample),
                       "recorded", p->recorded ? Py_True : Py_False);
}

static PyObject *record_object(const gemel_record *r) {
  return Py_BuildValue(
      "{s:N,s:N,s:s,s:s,s:s,s:N,s:n,s:n,s:K,s:d,s:d,s:d,s:N,s:N,s:N,s:N,s:N}", "kind",
      text_object(r->kind), "name", text_object(r->name), "tier", gemel_tier_name(r->tier),
      "verdict", gemel_verdict_name(r->verdict), "how", gemel_evidence_name(r->how), "detail",
      text_object(r->detail != NULL ? r->detail : ""), "instances", (Py_ssize_t)r->instances,
      "elements", (Py_ssize_t)r->elements, "seed", (unsigned long long)r->seed, "seconds",
      r->seconds, "worst", r->worst, "error_probability", r->error_probability, "counterexample",
      text_object(r->counterexample), "needs", pair_words(r->needs), "declared",
      pair_words(r->declared), "text", text_object(r->text), "proof", proof_object(r->proof));
}

static void keep(python_run *r, PyObject *object) {
  if (object == NULL || PyList_Append(r->records, object) != 0) {
    keep_exception(r);
  }
  Py_XDECREF(object);
}

static void sink_record(void *user, const gemel_record *record) {
  PyGILState_STATE state = PyGILState_Ensure();
  keep(user, record_object(record));
  PyGILState_Release(state);
}

static void sink_proof(void *user, const gemel_proof *proof) {
  PyGILState_STATE state = PyGILState_Ensure();
  keep(user, proof_object(proof));
  PyGILState_Release(state);
}

/* What a run comes to: its exception, ERROR's if STATUS isn't GEMEL_OK, or RESULT, which is taken
 * over. */
static PyObject *run_end(python_run *r, gemel_status status, const gemel_error *error,
                         PyObject *result) {
  if (raise_kept(r) || status != GEMEL_OK || result == NULL) {
    Py_XDECREF(result);
    Py_XDECREF(r->records);
    return PyErr_Occurred() ? NULL : raise_error(error);
  }
  PyObject *pair = Py_BuildValue("(NN)", result, r->records);
  return pair;
}

/* ---- Pairs ---- */

static PyObject *result_object(const gemel_pair_result *result, const python_run *r) {
  char example[GEMEL_EXAMPLE_TEXT];
  gemel_pair_example_text(&result->example, example, sizeof example);
  return Py_BuildValue(
      "{s:s,s:O,s:N,s:N,s:O,s:L,s:O,s:N,s:N,s:O,s:O}", "verdict",
      gemel_verdict_name(result->verdict), "bitwise", result->bitwise ? Py_True : Py_False, "needs",
      pair_words(result->needs), "refused", pair_words(result->refused), "improves",
      result->improves ? Py_True : Py_False, "symbols_up_to", (long long)result->symbols_up_to,
      "written", result->written ? Py_True : Py_False, "scaled", text_object(result->scaled),
      "example", text_object(example), "out_of_time", r->out_of_time ? Py_True : Py_False,
      "unfollowed", result->unfollowed ? Py_True : Py_False);
}

/* pair(first, second, name, allow, tiers, seed, seconds, threads, match, folder, unread, progress):
 * (result, records) */
static PyObject *pair(PyObject *module, PyObject *arguments) {
  (void)module;
  graph_object *a, *b;
  const char *name;
  unsigned allow;
  double seconds;
  Py_ssize_t threads;
  unsigned long long seed;
  int unread;
  PyObject *progress;
  gemel_verify_options options = {.size = sizeof options};
  gemel_pair_result result = {.size = sizeof result};
  gemel_error error;
  python_run r;
  if (!PyArg_ParseTuple(arguments, "O!O!sIIKdnzziO", graph_type, &a, graph_type, &b, &name, &allow,
                        &options.tiers, &seed, &seconds, &threads, &options.match,
                        &options.counterexample_folder, &unread, &progress) ||
      graph_idle(a) != 0 || graph_idle(b) != 0 || run_begin(&r, progress, seconds) != 0) {
    return NULL;
  }
  options.seed = seed;
  options.jobs = (size_t)threads;
  options.sink = sink_record;
  options.tick = tick;
  options.user = &r;
  gemel_status status;
  a->busy++;
  b->busy++;
  Py_BEGIN_ALLOW_THREADS;
  status = unread ? gemel_pair_add_unread(a->graph, b->graph, &error) : GEMEL_OK;
  if (status == GEMEL_OK) {
    status = gemel_verify_pair(a->graph, b->graph, name, allow, &options, &result, &error);
  }
  Py_END_ALLOW_THREADS;
  a->busy--;
  b->busy--;
  return run_end(&r, status, &error, result_object(&result, &r));
}

/* load_dump(folder): (graph, inputs, outputs); no outputs of a call that ended in an error */
static PyObject *load_dump(PyObject *module, PyObject *arguments) {
  (void)module;
  const char *folder;
  gemel_error error;
  if (!PyArg_ParseTuple(arguments, "s", &folder)) {
    return NULL;
  }
  gemel_context *context = gemel_context_new(&error);
  gemel_dumped *dumped = context != NULL ? gemel_dump_load(context, folder, &error) : NULL;
  gemel_context_unref(context);
  if (dumped == NULL) {
    return raise_error(&error);
  }
  PyObject *inputs = PyList_New(0), *outputs = PyList_New(0);
  size_t n = dumped->n_inputs + (dumped->outputs != NULL ? dumped->n_outputs : 0);
  for (size_t k = 0; k < n && inputs != NULL && outputs != NULL; k++) {
    gemel_tensor *tensor =
        k < dumped->n_inputs ? dumped->inputs[k] : dumped->outputs[k - dumped->n_inputs];
    PyObject *object = tensor != NULL ? wrap_tensor(gemel_tensor_ref(tensor)) : NULL;
    if (object != NULL) {
      PyList_Append(k < dumped->n_inputs ? inputs : outputs, object);
      Py_DECREF(object);
    }
  }
  PyObject *graph = wrap_graph(gemel_graph_ref(dumped->graph));
  gemel_dump_free(dumped);
  return Py_BuildValue("(NNN)", graph, inputs, outputs);
}

/* ---- Rules ---- */

/* Rules from text, in a context of their own. */
typedef struct rules_subject {
  gemel_context *context;
  gemel_rules *rules;
} rules_subject;

static gemel_status read_rules(rules_subject *s, const char *text, size_t length, const char *file,
                               gemel_error *error) {
  s->context = gemel_context_new(error);
  s->rules = s->context != NULL ? gemel_rules_parse(s->context, text, length, file, error) : NULL;
  return s->rules != NULL ? GEMEL_OK : error->status;
}

static void free_subject(rules_subject *s) {
  gemel_rules_unref(s->rules);
  gemel_context_unref(s->context);
}

/* verify_rules(text, file, tiers, seed, instances, seconds, threads, quick, proofs, progress):
 * (out of time?, records) */
static PyObject *verify_rules(PyObject *module, PyObject *arguments) {
  (void)module;
  const char *text, *file;
  Py_ssize_t length, instances, threads;
  double seconds;
  unsigned long long seed;
  PyObject *progress;
  gemel_verify_options options = {.size = sizeof options};
  gemel_error error = {0};
  python_run r;
  rules_subject s = {0};
  if (!PyArg_ParseTuple(arguments, "s#sIKndniiO", &text, &length, &file, &options.tiers, &seed,
                        &instances, &seconds, &threads, &options.quick, &options.proofs,
                        &progress) ||
      run_begin(&r, progress, seconds) != 0) {
    return NULL;
  }
  options.seed = seed;
  options.instances = (size_t)instances;
  options.jobs = (size_t)threads;
  options.sink = sink_record;
  options.tick = tick;
  options.user = &r;
  gemel_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = read_rules(&s, text, (size_t)length, file, &error);
  if (status == GEMEL_OK) {
    status = gemel_verify_rules(s.context, s.rules, NULL, &options, NULL, &error);
  }
  free_subject(&s);
  Py_END_ALLOW_THREADS;
  return run_end(&r, status, &error, PyBool_FromLong(r.out_of_time));
}

/* prove_rules(text, file, ranks, seconds, threads, folder, progress): (out of time?, proofs) */
static PyObject *prove_rules(PyObject *module, PyObject *arguments) {
  (void)module;
  const char *text, *file;
  Py_ssize_t length, threads;
  double seconds;
  PyObject *progress;
  gemel_prove_options options = {.size = sizeof options};
  gemel_error error = {0};
  python_run r;
  rules_subject s = {0};
  if (!PyArg_ParseTuple(arguments, "s#sidnzO", &text, &length, &file, &options.ranks, &seconds,
                        &threads, &options.record_folder, &progress) ||
      run_begin(&r, progress, seconds) != 0) {
    return NULL;
  }
  options.jobs = (size_t)threads;
  options.sink = sink_proof;
  options.tick = tick;
  options.user = &r;
  gemel_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = read_rules(&s, text, (size_t)length, file, &error);
  if (status == GEMEL_OK) {
    status = gemel_prove_rules(s.context, s.rules, NULL, &options, &error);
  }
  free_subject(&s);
  Py_END_ALLOW_THREADS;
  return run_end(&r, status, &error, PyBool_FromLong(r.out_of_time));
}

PyMethodDef verify_methods[] = {{"pair", pair, METH_VARARGS, NULL},
                                {"load_dump", load_dump, METH_VARARGS, NULL},
                                {"verify_rules", verify_rules, METH_VARARGS, NULL},
                                {"prove_rules", prove_rules, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};
