/* SPDX-License-Identifier: MIT
 *
 * gemel from C++17: handles that own, operators, exceptions. Nothing but this header and libgemel.
 *
 *   gemel::graph g;
 *   gemel::value x = g.input("x: f32[N, 3]");
 *   g.output(gemel::sum(x * x + 1), "y");
 *   gemel::tensor rows(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
 *   float y = gemel::evaluate(g, {rows})[0].item<float>();
 *
 * A handle (context, graph, tensor, shared) refers to one object of C; a copy takes a reference
 * more, as cheap as a std::shared_ptr's. get() is the pointer for functions of C, borrowed. A value
 * is a gemel_value, and belongs to its graph, which must live as long: any builder of <gemel/ops.h>
 * or <gemel/composite.h> takes it, and checked() makes a value of what that returns.
 *
 * A function that is called as one of C (exp for gemel_exp, slice for gemel_slice_step) does what
 * that does, and in place of the null value and an error on the graph throws.
 *
 * What fails throws gemel::error, with the message that C gives, which names the line of the
 * program; the graph's own error is cleared then, and building may go on. Besides std::bad_alloc
 * from the containers of C++ nothing else is thrown. Threads: as the functions of C.
 */
#ifndef GEMEL_GEMEL_HPP
#define GEMEL_GEMEL_HPP

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <gemel/gemel.h>

namespace gemel {

/* ---- Errors ---- */

class error : public std::runtime_error {
public:
  explicit error(const gemel_error &e) : std::runtime_error(e.text), details_(e) {
  }
  gemel_status status() const noexcept {
    return details_.status;
  }
  const gemel_error &details() const noexcept {
    return details_;
  }

private:
  gemel_error details_;
};

[[noreturn]] inline void fail(gemel_status status, const std::string &text) {
  gemel_error e = {status, 0, 0, {0}};
  std::strncpy(e.text, text.c_str(), sizeof e.text - 1);
  throw error(e);
}

inline void check(gemel_status status, const gemel_error &e) {
  if (status != GEMEL_OK) {
    throw error(e);
  }
}

/* ---- Handles ---- */

template <class T, T *(*Ref)(T *), void (*Unref)(T *)> class handle {
public:
  handle() noexcept = default;
  handle(const handle &other) noexcept : object_(Ref(other.object_)) {
  }
  handle(handle &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {
  }
  handle &operator=(handle other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~handle() {
    Unref(object_);
  }
  T *get() const noexcept {
    return object_;
  }
  explicit operator bool() const noexcept {
    return object_ != nullptr;
  }

protected:
  /* Takes over a reference; NULL says that E was filled in. */
  handle(T *object, const gemel_error &e) : object_(object) {
    if (object == nullptr) {
      throw error(e);
    }
  }
  static gemel_error &room() {
    thread_local gemel_error e;
    return e;
  }

private:
  T *object_ = nullptr;
};

class context : public handle<gemel_context, gemel_context_ref, gemel_context_unref> {
public:
  context() : handle(gemel_context_new(&room()), room()) {
  }
};

/* ---- Tensors ---- */

/* The dtype whose elements are stored as T: float, double, bool, or an integer. */
template <class T> constexpr gemel_dtype dtype_of() {
  static_assert(std::is_arithmetic<T>::value && sizeof(T) <= 8, "no dtype is stored as this");
  constexpr int step = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
  if constexpr (std::is_floating_point<T>::value) {
    return sizeof(T) == 4 ? GEMEL_F32 : GEMEL_F64;
  } else if constexpr (std::is_same<T, bool>::value) {
    return GEMEL_BOOL;
  } else {
    return static_cast<gemel_dtype>((std::is_signed<T>::value ? GEMEL_I8 : GEMEL_U8) + step);
  }
}

class tensor : public handle<gemel_tensor, gemel_tensor_ref, gemel_tensor_unref> {
public:
  tensor() = default;
  /* Takes over the reference that a function of C returned. */
  explicit tensor(gemel_tensor *object,
                  const gemel_error &e = {GEMEL_BAD_ARGUMENT, 0, 0, "no tensor"})
      : handle(object, e) {
  }
  /* A copy of ELEMENTS in row-major order, in SHAPE or as one axis. */
  template <class T>
  tensor(const std::vector<T> &elements, const std::vector<int64_t> &shape)
      : handle(
            gemel_tensor_new(dtype_of<T>(), static_cast<int>(shape.size()), shape.data(), &room()),
            room()) {
    if (gemel_tensor_elements(get()) != static_cast<int64_t>(elements.size())) {
      fail(GEMEL_BAD_SHAPE, std::to_string(elements.size()) +
                                " elements are given for a tensor of " +
                                std::to_string(gemel_tensor_elements(get())));
    }
    T *to = static_cast<T *>(gemel_tensor_data(get()));
    for (std::size_t k = 0; k < elements.size(); k++) {
      to[k] = elements[k];
    }
  }
  template <class T>
  explicit tensor(const std::vector<T> &elements)
      : tensor(elements, {static_cast<int64_t>(elements.size())}) {
  }
  /* A scalar. */
  template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>>
  explicit tensor(T number) : tensor(std::vector<T>{number}, {}) {
  }

  gemel_dtype dtype() const {
    return gemel_tensor_dtype(get());
  }
  std::vector<int64_t> shape() const {
    const int64_t *sizes = gemel_tensor_shape(get());
    return std::vector<int64_t>(sizes, sizes + gemel_tensor_rank(get()));
  }
  /* A copy of the elements in row-major order; T is the dtype's own. */
  template <class T> std::vector<T> elements() const {
    gemel_error e;
    if (!*this || dtype() != dtype_of<T>()) {
      fail(GEMEL_BAD_TYPE, std::string("elements of ") + gemel_dtype_name(dtype()) + " are not " +
                               gemel_dtype_name(dtype_of<T>()));
    }
    tensor packed(gemel_tensor_transfer(get(), gemel_host(), &e), e); /* row-major, on the host */
    const T *from = static_cast<const T *>(gemel_tensor_data(packed.get()));
    return std::vector<T>(from, from + gemel_tensor_elements(packed.get()));
  }
  /* The only element. */
  template <class T> T item() const {
    std::vector<T> all = elements<T>();
    if (all.size() != 1) {
      fail(GEMEL_BAD_SHAPE, "item() of a tensor of " + std::to_string(all.size()) + " elements");
    }
    return all[0];
  }
};

class shared : public handle<gemel_shared, gemel_shared_ref, gemel_shared_unref> {
public:
  explicit shared(const tensor &value) : handle(gemel_shared_new(value.get(), &room()), room()) {
  }
  tensor value() const {
    return tensor(gemel_shared_get(get()));
  }
  void set(const tensor &value) {
    gemel_error e;
    check(gemel_shared_set(get(), value.get(), &e), e);
  }
};

/* ---- Values ---- */

struct value : gemel_value {
  value() noexcept : gemel_value{nullptr, 0, 0} {
  }
  value(gemel_value v) noexcept : gemel_value(v) {
  }
  std::string type() const {
    char text[512];
    gemel_type_format(gemel_graph_context(graph), gemel_value_type(*this), text, sizeof text);
    return text;
  }
};
static_assert(sizeof(value) == sizeof(gemel_value), "a vector of values is an array for C");

/* What a function of values takes: a value, or a number, which gets the dtype of the value that it
 * is combined with (i64 beside a bool, f64 where a floating one meets another dtype than a float).
 * Knows the line where it was written: default arguments are evaluated at the call. */
struct operand {
  gemel_value v = {nullptr, 0, 0};
  bool is_number = false, is_real = false;
  double number = 0;
  gemel_location where;
  operand(const gemel_value &of, const char *file = __builtin_FILE(), int line = __builtin_LINE())
      : v(of), where{file, line} {
  }
  template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>>
  operand(T n, const char *file = __builtin_FILE(), int line = __builtin_LINE())
      : is_number(true), is_real(std::is_floating_point<T>::value),
        number(static_cast<double>(n)), where{file, line} {
  }
};

/* RESULT as a value, or the exception for GRAPH's error. */
inline value checked(gemel_value result, gemel_graph *graph, gemel_location where = {"", 0}) {
  if (result.graph == nullptr) {
    gemel_error e = *gemel_graph_error(graph);
    gemel_graph_clear_error(graph);
    if (graph == nullptr || e.status == GEMEL_OK) {
      std::string place = std::string(where.file) + ":" + std::to_string(where.line) + ": ";
      fail(GEMEL_NULL_VALUE, (where.line > 0 ? place : "") +
                                 (graph == nullptr ? "a null value" : "the graph can't change"));
    }
    throw error(e);
  }
  return result;
}
inline value checked(gemel_value result, const value &of) {
  return checked(result, of.graph);
}

/* N operands, as values: numbers have become constants like the last value among them. */
template <std::size_t N> struct operands {
  gemel_value v[N];
  gemel_value like = {nullptr, 0, 0};
  gemel_graph *graph = nullptr; /* the first one's, which keeps errors */
  gemel_location where;
  explicit operands(const operand (&given)[N]) : where(given[0].where) {
    for (const operand &x : given) {
      like = x.v.graph != nullptr ? x.v : like;
      graph = graph != nullptr ? graph : x.v.graph;
    }
    for (std::size_t k = 0; k < N; k++) {
      v[k] = given[k].is_number ? constant(given[k]) : given[k].v;
    }
  }

private:
  gemel_value constant(const operand &x) const {
    gemel_context *c = gemel_graph_context(like.graph);
    gemel_dtype dtype = gemel_type_dtype(c, gemel_value_type(like));
    int space = gemel_type_space(c, gemel_value_type(like));
    if (x.is_real && gemel_dtype_kind(dtype) != GEMEL_KIND_FLOAT) {
      dtype = GEMEL_F64;
    } else if (dtype == GEMEL_BOOL) {
      dtype = GEMEL_I64;
    }
    gemel_value scalar = gemel_scalar_at(like.graph, dtype, x.number, x.where);
    return space == GEMEL_SPACE_HOST ? scalar : gemel_transfer_at(scalar, space, x.where);
  }
};

/* Each elementwise operation and reduction under its name: exp(x), maximum(x, 0), where(c, x, y),
 * lt(x, y); sum(x), sum(x, {0, 1}), sum(x, {0}, true). */
#define GEMEL__CPP_1(name)                                                                         \
  inline value name(const operand &x) {                                                            \
    operands<1> o({x});                                                                            \
    return checked(gemel_##name##_at(o.v[0], o.where), o.graph, o.where);                          \
  }
#define GEMEL__CPP_2(name)                                                                         \
  inline value name(const operand &x, const operand &y) {                                          \
    operands<2> o({x, y});                                                                         \
    return checked(gemel_##name##_at(o.v[0], o.v[1], o.where), o.graph, o.where);                  \
  }
#define GEMEL__CPP_3(name)                                                                         \
  inline value name(const operand &x, const operand &y, const operand &z) {                        \
    operands<3> o({x, y, z});                                                                      \
    return checked(gemel_##name##_at(o.v[0], o.v[1], o.v[2], o.where), o.graph, o.where);          \
  }
#define GEMEL__CPP_REDUCTION(name, options)                                                        \
  inline value name(const operand &x) {                                                            \
    return checked(gemel_##name##_at(x.v, nullptr, x.where), x.v.graph, x.where);                  \
  }                                                                                                \
  inline value name(const operand &x, const std::vector<int64_t> &axes, bool keepdims = false) {   \
    static const int64_t none = 0;                                                                 \
    options o = {};                                                                                \
    o.axes = {axes.size(), axes.empty() ? &none : axes.data()};                                    \
    o.keepdims = keepdims;                                                                         \
    return checked(gemel_##name##_at(x.v, &o, x.where), x.v.graph, x.where);                       \
  }
#define GEMEL__CPP_ROW(name) GEMEL__CPP_REDUCTION(name, gemel_##name##_options)
GEMEL_ELEMENTWISE_TABLE(GEMEL__CPP_1, GEMEL__CPP_2, GEMEL__CPP_3)
GEMEL_REDUCTION_TABLE(GEMEL__CPP_ROW)
GEMEL__CPP_REDUCTION(mean, gemel_sum_options)
GEMEL__CPP_REDUCTION(var, gemel_var_options)
GEMEL__CPP_REDUCTION(min, gemel_max_options)
GEMEL__CPP_REDUCTION(any, gemel_sum_options)
GEMEL__CPP_REDUCTION(all, gemel_sum_options)
GEMEL__CPP_2(matmul)
GEMEL__CPP_1(transpose)
GEMEL__CPP_1(flatten)
GEMEL__CPP_2(mean_squared_error)
GEMEL__CPP_2(mean_absolute_error)
GEMEL__CPP_2(binary_cross_entropy)
#undef GEMEL__CPP_1
#undef GEMEL__CPP_2
#undef GEMEL__CPP_3
#undef GEMEL__CPP_ROW
#undef GEMEL__CPP_REDUCTION

inline value operator+(const operand &x, const operand &y) {
  return add(x, y);
}
inline value operator-(const operand &x, const operand &y) {
  return sub(x, y);
}
inline value operator*(const operand &x, const operand &y) {
  return mul(x, y);
}
inline value operator/(const operand &x, const operand &y) {
  return div(x, y);
}
inline value operator-(const operand &x) {
  return neg(x);
}

inline value cast(const operand &x, gemel_dtype dtype) {
  return checked(gemel_cast_at(x.v, dtype, x.where), x.v.graph, x.where);
}
inline value softmax(const operand &x, int64_t axis = -1) {
  gemel_softmax_options o = {axis};
  return checked(gemel_softmax_at(x.v, &o, x.where), x.v.graph, x.where);
}
inline value cross_entropy(const operand &logits, const operand &targets, int64_t axis = -1) {
  gemel_cross_entropy_options o = {axis};
  return checked(gemel_cross_entropy_at(logits.v, targets.v, &o, logits.where), logits.v.graph,
                 logits.where);
}
inline value argmax(const operand &x, int64_t axis) {
  return checked(gemel_argmax_at(x.v, axis, x.where), x.v.graph, x.where);
}
inline value argmin(const operand &x, int64_t axis) {
  return checked(gemel_argmin_at(x.v, axis, x.where), x.v.graph, x.where);
}
/* What is left of x, and the next key. */
inline std::pair<value, value> dropout(const operand &x, const operand &key, double rate) {
  gemel_value next = {nullptr, 0, 0};
  value left = checked(gemel_dropout_at(x.v, key.v, rate, &next, x.where), x.v.graph, x.where);
  return {left, checked(next, x.v.graph, x.where)};
}
inline value reshape(const operand &x, const std::vector<int64_t> &shape) {
  return checked(gemel_reshape_to_at(x.v, shape.size(), shape.data(), x.where), x.v.graph, x.where);
}
inline value permute(const operand &x, const std::vector<int64_t> &axes) {
  return checked(gemel_permute_at(x.v, axes.size(), axes.data(), x.where), x.v.graph, x.where);
}
inline value slice(const operand &x, int64_t axis, int64_t start, int64_t stop = GEMEL_TO_END,
                   int64_t step = 1) {
  return checked(gemel_slice_step_at(x.v, axis, start, stop, step, x.where), x.v.graph, x.where);
}
inline value index(const operand &x, int64_t axis, int64_t at) {
  return checked(gemel_index_at(x.v, axis, at, x.where), x.v.graph, x.where);
}
inline value concatenate(const std::vector<value> &xs, int64_t axis = 0,
                         const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  return checked(gemel_concatenate_at(axis, xs.size(), xs.data(), {file, line}),
                 xs.empty() ? nullptr : xs[0].graph);
}
inline value stack(const std::vector<value> &xs, int64_t axis = 0,
                   const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  return checked(gemel_stack_at(axis, xs.size(), xs.data(), {file, line}),
                 xs.empty() ? nullptr : xs[0].graph);
}

/* The gradients of y, a float scalar, by a value, or by several in one pass. */
inline value gradient(const operand &y, const operand &x) {
  return checked(gemel_gradient_at(y.v, x.v, y.where), y.v.graph, y.where);
}
inline std::vector<value> gradients(const value &y, const std::vector<value> &wrt) {
  gemel_error e;
  std::vector<value> result(wrt.size());
  gemel_status status = gemel_grad(1, &y, nullptr, wrt.size(), wrt.data(), result.data(), &e);
  if (status != GEMEL_OK) {
    gemel_graph_clear_error(y.graph);
    throw error(e);
  }
  return result;
}

/* ---- Graphs ---- */

class graph : public handle<gemel_graph, gemel_graph_ref, gemel_graph_unref> {
public:
  explicit graph(const context &c = context()) : handle(gemel_graph_new(c.get(), &room()), room()) {
  }
  static graph parse(const std::string &text, const context &c = context()) {
    gemel_error e;
    return graph(gemel_parse(c.get(), text.data(), text.size(), "", nullptr, &e), e);
  }
  static graph load(const std::string &path, const context &c = context()) {
    gemel_error e;
    return graph(gemel_load(c.get(), path.c_str(), nullptr, &e), e);
  }
  /* "x: f32[N, 3]", "state w: f32[3]" */
  value input(const std::string &declaration, const char *file = __builtin_FILE(),
              int line = __builtin_LINE()) {
    return checked(gemel_declare_at(get(), declaration.c_str(), {file, line}), get());
  }
  value constant(const tensor &t, const char *file = __builtin_FILE(),
                 int line = __builtin_LINE()) {
    return checked(gemel_constant_at(get(), t.get(), {file, line}), get());
  }
  value full(gemel_dtype dtype, double number, const std::vector<int64_t> &shape = {},
             const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return checked(gemel_full_at(get(), dtype, number, shape.size(), shape.data(), {file, line}),
                   get());
  }
  void output(const value &v, const std::string &name) {
    settle(gemel_output(v, name.c_str()));
  }
  void update(const value &state, const value &next) {
    settle(gemel_update(state, next));
  }
  std::string text(const std::string &name = "graph") const {
    gemel_error e;
    std::unique_ptr<char, void (*)(char *)> t(gemel_print_string(get(), name.c_str(), &e),
                                              gemel_text_free);
    if (t == nullptr) {
      throw error(e);
    }
    return t.get();
  }

private:
  graph(gemel_graph *object, const gemel_error &e) : handle(object, e) {
  }
  void settle(gemel_status status) {
    if (status != GEMEL_OK) {
      checked(gemel_value{nullptr, 0, 0}, get());
    }
  }
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
