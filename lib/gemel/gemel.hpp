/* SPDX-License-Identifier: MIT
 *
 * gemel from C++17: handles that own, operators, exceptions. Needs libgemel alone.
 *
 *   gemel::graph g;
 *   gemel::value x = g.input("x: f32[N, 3]");
 *   g.output(gemel::sum(gemel::softmax(x, 1) * x + 1), "y");
 *   gemel::tensor rows(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
 *   float y = gemel::evaluate(g, {rows})[0].item<float>();
 *
 * A handle (context, graph, tensor, shared) refers to one object of C; a copy takes a reference
 * more. get() is the pointer for functions of C, borrowed. A value is a gemel_value, and belongs to
 * its graph, which must live as long: any builder of C takes it, and checked() makes a value of
 * what that returns. A function that is called as one of C (exp for gemel_exp, slice for
 * gemel_slice_step) does what that does, and throws in place of the null value.
 * An operation of a program's own is registered by <gemel/operation.hpp>.
 * What fails throws gemel::error, with C's message, which names the line of the program; the
 * graph's own error is cleared then, and building may go on. Only containers of C++ throw anything
 * else, std::bad_alloc. Threads: as the functions of C.
 */
#ifndef GEMEL_GEMEL_HPP
#define GEMEL_GEMEL_HPP

#include <memory>
#include <optional>
#include <string>
#include <vector>
#include <gemel/nn.hpp>
#include <gemel/ops.hpp>
#include <gemel/tensor.hpp>
#include <gemel/value.hpp>

namespace gemel {

/* ---- Derivatives ---- */

/* The gradients of y, a float scalar, by a value, or by several in one pass. */
inline value gradient(const operand &y, const operand &x) {
  return checked(gemel_gradient_at(y.v, x.v, y.where), y.v.graph, y.where);
}
/* Of several ys, each with a cotangent of its type; without seeds, of scalars. */
inline std::vector<value> gradients(const std::vector<value> &ys, const std::vector<value> &seeds,
                                    const std::vector<value> &wrt) {
  gemel_error e;
  std::vector<value> result(wrt.size());
  if (!seeds.empty() && seeds.size() != ys.size()) {
    fail(GEMEL_BAD_ARGUMENT, std::to_string(seeds.size()) + " seeds are given for " +
                                 std::to_string(ys.size()) + " values");
  }
  gemel_status status = gemel_grad(ys.size(), ys.data(), seeds.empty() ? nullptr : seeds.data(),
                                   wrt.size(), wrt.data(), result.data(), &e);
  if (status != GEMEL_OK) {
    gemel_graph_clear_error(ys.empty() ? nullptr : ys[0].graph);
    throw error(e);
  }
  return result;
}
inline std::vector<value> gradients(const value &y, const std::vector<value> &wrt) {
  return gradients(std::vector<value>{y}, {}, wrt);
}

/* Forward mode: the derivatives of ys where each of the xs moves along a tangent of its type. */
inline std::vector<value> jvp(const std::vector<value> &ys, const std::vector<value> &xs,
                              const std::vector<value> &tangents) {
  gemel_error e;
  std::vector<value> result(ys.size());
  if (tangents.size() != xs.size()) {
    fail(GEMEL_BAD_ARGUMENT, std::to_string(tangents.size()) + " tangents are given for " +
                                 std::to_string(xs.size()) + " values");
  }
  gemel_status status =
      gemel_jvp(ys.size(), ys.data(), xs.size(), xs.data(), tangents.data(), result.data(), &e);
  if (status != GEMEL_OK) {
    gemel_graph_clear_error(ys.empty() ? nullptr : ys[0].graph);
    throw error(e);
  }
  return result;
}
inline value jvp(const value &y, const value &x, const value &tangent) {
  return jvp(std::vector<value>{y}, std::vector<value>{x}, std::vector<value>{tangent})[0];
}

/* What may be assumed of an input's elements: bits GEMEL_FACT_…. */
inline void assume(const value &input, unsigned facts) {
  gemel_status status = gemel_assume(input, facts);
  if (status != GEMEL_OK) {
    fail(status, std::string("facts can't be assumed: ") + gemel_status_text(status));
  }
}

/* The outputs of BODY where its inputs are xs. */
inline std::vector<value> invoke(const graph &body, const std::vector<value> &xs,
                                 const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  return detail::outputs_of(
      checked(gemel_invoke_at(xs.size(), xs.data(), body.get(), {file, line}), xs, {file, line}),
      gemel_graph_output_count(body.get()));
}

/* ---- Loops ---- */

/* What a loop reads row by row: at the step for row t row t + offset. */
struct tap {
  value of;
  int64_t offset;
  tap(const value &x, int64_t o = 0) : of(x), offset(o) {
  }
};
/* What a step of a loop gives: the next states, values of which each step's is kept, and, unless it
 * is null, whether this was the last step. */
struct step {
  std::vector<value> next, stacks;
  value stop = value();
};
struct scan_options { /* as gemel_loop_options */
  std::optional<dim> length;
  bool reverse = false;
  value steps;
  std::optional<dim> truncate;
  bool recompute = false;
  std::int64_t every = 0;
};
/* What a loop comes to: of each state the last value, the rows, and these with the initial value;
 * of each value kept its rows; and how many steps there were. Without rows and length there is the
 * last value alone. */
struct scanned {
  std::vector<value> last, rows, history, stacks;
  value count;
};

namespace detail {

/* A loop of C, whose errors are thrown. */
struct loop {
  loop(gemel_graph *around, gemel_location where)
      : around_(around), where_(where), object_(nullptr, gemel_loop_free) {
    gemel_error e;
    if (around == nullptr) {
      gemel::checked(gemel_value{nullptr, 0, 0}, around, where);
    }
    object_.reset(gemel_loop_begin(around, &e));
    if (object_ == nullptr) {
      throw error(e);
    }
  }
  value checked(gemel_value v) const {
    return gemel::checked(v, around_, where_);
  }
  void check(gemel_status status) const {
    if (status != GEMEL_OK) {
      checked(gemel_value{nullptr, 0, 0});
    }
  }
  gemel_loop *get() const noexcept {
    return object_.get();
  }
  gemel_graph *around() const noexcept {
    return around_;
  }

private:
  gemel_graph *around_;
  gemel_location where_;
  std::unique_ptr<gemel_loop, void (*)(gemel_loop *)> object_;
};
} // namespace detail

/* The loop (gemel_loop_begin) whose step is what BODY(states, rows, constants), of vectors of
 * values, returns. It is called once, and what it uses must come from these. */
template <class Body>
inline scanned scan(const std::vector<value> &initial, const std::vector<tap> &sequences,
                    const std::vector<value> &constants, Body body,
                    const scan_options &options = {}, const char *file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
  gemel_location where{file, line};
  detail::loop l(!initial.empty()     ? initial[0].graph
                 : !sequences.empty() ? sequences[0].of.graph
                 : !constants.empty() ? constants[0].graph
                                      : nullptr,
                 where);
  std::vector<value> states, rows, same;
  for (const value &x : initial) {
    states.push_back(l.checked(gemel_loop_state_at(l.get(), x, where)));
  }
  for (const tap &x : sequences) {
    rows.push_back(l.checked(gemel_loop_tap_at(l.get(), x.of, x.offset, where)));
  }
  for (const value &x : constants) {
    same.push_back(l.checked(gemel_loop_constant_at(l.get(), x, where)));
  }
  step made = body(states, rows, same);
  if (made.next.size() != states.size()) {
    fail(GEMEL_BAD_ARGUMENT, std::string(file) + ":" + std::to_string(line) + ": a step gives " +
                                 std::to_string(made.next.size()) + " next values for " +
                                 std::to_string(states.size()) + " states");
  }
  for (std::size_t k = 0; k < states.size(); k++) {
    l.check(gemel_loop_next_at(l.get(), states[k], made.next[k], where));
  }
  for (const value &y : made.stacks) {
    l.checked(gemel_loop_stack_at(l.get(), y, where));
  }
  if (made.stop.graph != nullptr) {
    l.check(gemel_loop_until_at(l.get(), made.stop, where));
  }
  gemel_loop_options o = {};
  o.size = sizeof o;
  gemel_context *context = gemel_graph_context(l.around());
  o.length = options.length ? options.length->in(context) : GEMEL_DIM_NONE;
  o.reverse = options.reverse;
  o.steps = options.steps;
  o.truncate = options.truncate ? options.truncate->in(context) : GEMEL_DIM_NONE;
  o.recompute = options.recompute;
  o.every = options.every;
  l.check(gemel_loop_end_at(l.get(), &o, where));
  scanned result;
  for (const value &s : states) {
    result.last.push_back(l.checked(gemel_loop_last_at(l.get(), s, where)));
    if (options.length || !sequences.empty()) {
      result.rows.push_back(l.checked(gemel_loop_rows_at(l.get(), s, where)));
      result.history.push_back(l.checked(gemel_loop_history_at(l.get(), s, where)));
    }
  }
  for (const value &y : made.stacks) {
    result.stacks.push_back(l.checked(gemel_loop_stacked_at(l.get(), y, where)));
  }
  result.count = l.checked(gemel_loop_count_at(l.get(), where));
  return result;
}

/* The graph as the rules leave it. */
inline graph rewrite(const graph &g, const gemel_rewrite_options *options = nullptr) {
  gemel_error e;
  return graph(gemel_rewrite(g.get(), options, &e), e);
}

/* ---- Training ---- */

struct sgd_options { /* as gemel_sgd_options: 0 is what stands here */
  double rate = 0.01, momentum = 0, decay = 0;
};
struct adam_options { /* as gemel_adam_options */
  double rate = 0.001, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, decay = 0;
};

/* Makes each call a step that lessens LOSS: the states of its graph get updates. */
inline void sgd(const operand &loss, const sgd_options &how = {}) {
  gemel_sgd_options o = {how.rate, how.momentum, how.decay};
  if (gemel_sgd_at(loss.v, &o, loss.where) != GEMEL_OK) {
    checked(gemel_value{nullptr, 0, 0}, loss.v.graph, loss.where);
  }
}
inline void adam(const operand &loss, const adam_options &how = {}) {
  gemel_adam_options o = {how.rate, how.beta1, how.beta2, how.epsilon, how.decay};
  if (gemel_adam_at(loss.v, &o, loss.where) != GEMEL_OK) {
    checked(gemel_value{nullptr, 0, 0}, loss.v.graph, loss.where);
  }
}

/* A variable for each state of a graph, of zeros at first, for a function of it; one file holds
 * them all. */
class states : public std::vector<shared> {
public:
  explicit states(const graph &g) : graph_(g) {
    gemel_error e;
    gemel_shared **list = nullptr;
    std::size_t n = 0;
    check(gemel_states_new(g.get(), &n, &list, &e), e);
    auto release = [n](gemel_shared **made) { gemel_states_free(n, made); };
    std::unique_ptr<gemel_shared *, decltype(release)> all(list, release);
    for (std::size_t k = 0; k < n; k++) {
      push_back(shared(gemel_shared_ref(list[k])));
    }
  }
  using std::vector<shared>::operator[];
  shared operator[](const std::string &name) const {
    std::vector<gemel_shared *> list = pointers();
    gemel_shared *found = gemel_states_find(graph_.get(), list.size(), list.data(), name.c_str());
    return found != nullptr
               ? shared(gemel_shared_ref(found))
               : throw failure({"", 0}, GEMEL_NOT_FOUND, "there is no state called '" + name + "'");
  }
  void save(const std::string &path) const {
    gemel_error e;
    std::vector<gemel_shared *> list = pointers();
    check(gemel_states_save(graph_.get(), list.size(), list.data(), path.c_str(), &e), e);
  }
  void load(const std::string &path) {
    gemel_error e;
    std::vector<gemel_shared *> list = pointers();
    check(gemel_states_load(graph_.get(), list.size(), list.data(), path.c_str(), &e), e);
  }

private:
  std::vector<gemel_shared *> pointers() const {
    std::vector<gemel_shared *> list;
    for (const shared &s : *this) {
      list.push_back(s.get());
    }
    return list;
  }
  graph graph_;
};

/* ---- Running ---- */

/* A compiled graph, to be called with a tensor for each input that isn't a state bound to one of
 * STATES, in the graph's order; it returns a tensor for each output that isn't an update then. */
class function {
public:
  explicit function(const graph &g, const std::vector<shared> &states = {},
                    gemel_options options = {}) {
    gemel_error e;
    std::vector<gemel_shared *> bound;
    for (const shared &s : states) {
      bound.push_back(s.get());
    }
    options.size = sizeof options;
    options.states = bound.empty() ? nullptr : bound.data();
    options.n_states = bound.size();
    object_.reset(gemel_compile(g.get(), &options, &e));
    if (object_ == nullptr) {
      throw error(e);
    }
  }
  std::vector<tensor> operator()(const std::vector<tensor> &inputs) const {
    std::vector<tensor> outputs;
    (*this)(inputs, outputs);
    return outputs;
  }
  /* Fills the tensors in OUTPUTS, where they are of the right dtype and shape; makes those that
   * are null or missing. A loop that calls this way allocates no results. */
  void operator()(const std::vector<tensor> &inputs, std::vector<tensor> &outputs) const {
    gemel_error e;
    std::vector<gemel_tensor *> in, out(gemel_function_output_count(get()));
    for (const tensor &t : inputs) {
      in.push_back(t.get());
    }
    outputs.resize(out.size());
    for (std::size_t k = 0; k < out.size(); k++) {
      out[k] = outputs[k].get();
    }
    check(gemel_call(get(), in.size(), in.data(), out.size(), out.data(), &e), e);
    for (std::size_t k = 0; k < out.size(); k++) {
      if (!outputs[k]) {
        outputs[k] = tensor(out[k]);
      }
    }
  }
  gemel_function *get() const noexcept {
    return object_.get();
  }

private:
  struct deleter {
    void operator()(gemel_function *f) const {
      gemel_function_free(f);
    }
  };
  std::unique_ptr<gemel_function, deleter> object_;
};

/* Calls the graph once, as it is written. */
inline std::vector<tensor> evaluate(const graph &g, const std::vector<tensor> &inputs) {
  gemel_options options = {};
  options.as_written = 1;
  return function(g, {}, options)(inputs);
}

} // namespace gemel

#endif
