/* SPDX-License-Identifier: MIT
 *
 * A program's own operations from C++17 (<gemel/operation.h> in C): types, kernel and derivatives
 * are lambdas.
 *
 *   gemel::operation("scale_shift")
 *       .elementwise([](double x, double a, double b) { return a * x + b; })
 *       .slopes([](const std::vector<gemel::value> &x) {
 *         return std::vector<gemel::value>{x[1], x[0], gemel::ones_like(x[2])};
 *       })
 *       .register_in(context);
 *   gemel::value y = gemel::apply("scale_shift", {x, 2, 0.5});
 *
 * Lambdas are copied, with what they capture, and live as long as the context. What one throws is
 * the error of the call that needed it: a gemel::error keeps its status (fail(GEMEL_BAD_SHAPE,
 * "…") throws one), any other exception is GEMEL_BAD_ARGUMENT, std::bad_alloc GEMEL_NO_MEMORY.
 * Threads: a lambda may be called on several at once, also while it is at work.
 */
#ifndef GEMEL_OPERATION_HPP
#define GEMEL_OPERATION_HPP

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <gemel/operation.h>
#include <gemel/ops.hpp>
#include <gemel/value.hpp>

namespace gemel {

/* ---- What lambdas see ---- */

/* The attributes of a call, by name and type: attribute<double>("alpha"). T is an integer type,
 * bool, double, gemel_dtype, std::string or std::vector<int64_t>. */
class attributes {
public:
  attributes(const gemel_attr *list, std::size_t n) : list_(list), n_(n) {
  }
  template <class T> T attribute(const std::string &name) const {
    gemel_attr a = find(name);
    if constexpr (std::is_same<T, gemel_dtype>::value) {
      return a.kind == GEMEL_ATTR_DTYPE ? a.u.dtype : other(name);
    } else if constexpr (std::is_integral<T>::value) {
      return static_cast<T>(a.kind == GEMEL_ATTR_INT ? a.u.i : other(name));
    } else if constexpr (std::is_same<T, double>::value) {
      return a.kind == GEMEL_ATTR_FLOAT ? a.u.f : other(name);
    } else if constexpr (std::is_same<T, std::string>::value) {
      return a.kind == GEMEL_ATTR_STRING ? a.u.text : other(name);
    } else {
      static_assert(std::is_same<T, std::vector<int64_t>>::value, "no attribute has this type");
      return a.kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_INT) ? T(a.u.ints, a.u.ints + a.count)
                                                          : other(name);
    }
  }

private:
  struct nothing {
    template <class T> operator T() const {
      return T();
    }
  };
  gemel_attr find(const std::string &name) const {
    for (std::size_t k = 0; k < n_; k++) {
      if (name == list_[k].name) {
        return list_[k];
      }
    }
    fail(GEMEL_BAD_ARGUMENT, "there is no attribute called " + name);
  }
  [[noreturn]] static nothing other(const std::string &name) {
    fail(GEMEL_BAD_TYPE, "attribute " + name + " is of another type");
  }
  const gemel_attr *list_;
  std::size_t n_;
};

/* The type of a value: {GEMEL_F32, {2, n}}. */
struct type {
  gemel_dtype dtype = GEMEL_F32;
  dims shape;
  int space = GEMEL_SPACE_HOST;
};

/* A type rule sees the operands' types, whose sizes may be symbols: see dim::known. */
struct infer_call : attributes {
  std::vector<type> inputs;
  explicit infer_call(const attributes &a) : attributes(a) {
  }
};

/* Elements in memory: of any strides. T is the dtype's own, as for tensor. */
class view {
public:
  explicit view(const gemel_view &v) : v_(v) {
    for (int axis = v.rank - 1; axis >= 0; axis--) {
      packed_ &= v.shape[axis] == 1 || v.strides[axis] == size_ * bytes();
      size_ *= v.shape[axis];
    }
  }
  gemel_dtype dtype() const noexcept {
    return v_.dtype;
  }
  int rank() const noexcept {
    return v_.rank;
  }
  /* How many elements there are, in all or along an axis, which may be counted from the end. */
  int64_t size() const noexcept {
    return size_;
  }
  int64_t size(int axis) const {
    int k = axis < 0 ? axis + v_.rank : axis;
    if (k < 0 || k >= v_.rank) {
      fail(GEMEL_BAD_SHAPE,
           "axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(v_.rank));
    }
    return v_.shape[k];
  }
  /* Element I in row-major order, or the one at an index along each axis. Neither is checked to be
   * there. */
  template <class T> T &element(int64_t i) const {
    check_type<T>();
    return *static_cast<T *>(place(i));
  }
  template <class T, class... I> T &at(I... index) const {
    check_type<T>();
    const int64_t list[sizeof...(I) + 1] = {static_cast<int64_t>(index)...};
    int64_t offset = 0;
    if (static_cast<int>(sizeof...(I)) != v_.rank) {
      fail(GEMEL_BAD_SHAPE,
           std::to_string(sizeof...(I)) + " indices of a view of rank " + std::to_string(v_.rank));
    }
    for (int axis = 0; axis < v_.rank; axis++) {
      offset += list[axis] * v_.strides[axis];
    }
    return *reinterpret_cast<T *>(static_cast<char *>(v_.data) + offset);
  }
  /* The same of f32 and f64 alike. */
  double load(int64_t i) const {
    return v_.dtype == GEMEL_F32 ? static_cast<double>(element<float>(i)) : element<double>(i);
  }
  void store(int64_t i, double x) const {
    if (v_.dtype == GEMEL_F32) {
      element<float>(i) = static_cast<float>(x);
    } else {
      element<double>(i) = x;
    }
  }
  /* As it is in C. */
  const gemel_view &get() const noexcept {
    return v_;
  }

private:
  int64_t bytes() const noexcept {
    return static_cast<int64_t>(gemel_dtype_size(v_.dtype));
  }
  template <class T> void check_type() const {
    if (v_.dtype != dtype_of<T>()) {
      fail(GEMEL_BAD_TYPE, std::string("elements of ") + gemel_dtype_name(v_.dtype) + " are not " +
                               gemel_dtype_name(dtype_of<T>()));
    }
  }
  void *place(int64_t i) const noexcept {
    char *at = static_cast<char *>(v_.data);
    if (packed_) {
      return at + i * bytes();
    }
    for (int axis = v_.rank - 1; axis >= 0; axis--) {
      at += i % v_.shape[axis] * v_.strides[axis];
      i /= v_.shape[axis];
    }
    return at;
  }
  gemel_view v_;
  int64_t size_ = 1;
  bool packed_ = true;
};

/* A kernel reads the inputs and writes each element of the outputs. */
struct kernel_call : attributes {
  std::vector<view> inputs, outputs;
  int threads = 1; /* as many as it may use */
  explicit kernel_call(const attributes &a) : attributes(a) {
  }
};

/* A gradient is given the cotangent of each output, and returns that of each input; a derivative in
 * forward mode is given the tangent of each input, and returns that of each output. The null value
 * stands for zeros, in what is given and in what is returned (gemel_is_null says which is one). */
struct derive_call : attributes {
  std::vector<value> inputs, outputs, given;
  std::vector<bool> wanted; /* of a gradient: whether anybody asks for an input's */
  explicit derive_call(const attributes &a) : attributes(a) {
  }
};

/* A sampler draws an instance for the harness. */
class sample_call {
public:
  explicit sample_call(gemel_sample *s) : s_(s) {
  }
  /* The dtype that is wanted, where the operation leaves a choice. */
  gemel_dtype dtype() const noexcept {
    return s_->dtype;
  }
  /* A number of 0..n-1. */
  int64_t below(int64_t n) {
    return n > 0 ? static_cast<int64_t>(s_->random(s_->user) % static_cast<std::uint64_t>(n)) : 0;
  }
  /* The rank that is wanted, or one of 0..most. */
  int rank(int most) {
    return s_->rank > 0 && s_->rank <= most ? s_->rank : static_cast<int>(below(most + 1));
  }
  /* Sizes of a tensor that isn't too large. */
  std::vector<int64_t> shape(int rank) {
    std::vector<int64_t> sizes(static_cast<std::size_t>(rank));
    int64_t room = s_->max_elements;
    for (int k = 0; k < rank; k++) {
      int64_t &n = sizes[static_cast<std::size_t>(k)];
      bool wanted = s_->length > 0 && (s_->axis < 0 || s_->axis % rank == k);
      n = wanted ? s_->length : std::min(below(s_->length > 0 ? 3 : 6), room);
      room /= std::max<int64_t>(n, 1);
    }
    return sizes;
  }
  /* The next operand. */
  void input(gemel_dtype dtype, const std::vector<int64_t> &shape,
             gemel_range range = GEMEL_RANGE_ANY, int64_t low = 0, int64_t high = 0) {
    gemel_type t = gemel_type_of_shape(s_->context, dtype, static_cast<int>(shape.size()),
                                       shape.empty() ? nullptr : shape.data());
    if (gemel_type_is_none(t) || s_->n_inputs == GEMEL_SAMPLE_MAX_INPUTS) {
      fail(GEMEL_BAD_VALUE, "no type of an operand, or one operand too many");
    }
    s_->inputs[s_->n_inputs] = t;
    s_->ranges[s_->n_inputs] = range;
    s_->low[s_->n_inputs] = low;
    s_->high[s_->n_inputs++] = high;
  }
  /* An attribute: an integer, a double or a dtype. NAME must stay valid: a literal, say. */
  template <class T> void attribute(const char *name, T given) {
    if (s_->n_attrs == GEMEL_SAMPLE_MAX_ATTRS) {
      fail(GEMEL_BAD_VALUE, "one attribute too many");
    }
    s_->attrs[s_->n_attrs++] = gemel::attribute(name, given).in(s_->context);
  }
  /* Says that the wanted dtype makes no sense. */
  [[noreturn]] void decline() const {
    fail(GEMEL_DECLINED, "declined");
  }

private:
  gemel_sample *s_;
};

/* ---- From C to lambdas ---- */

namespace detail {

inline gemel_status tell(gemel_error *e, gemel_status status, const char *text) noexcept {
  if (e != nullptr) {
    e->status = status;
    e->line = e->column = 0;
    std::snprintf(e->text, sizeof e->text, "%s", text);
  }
  return status;
}

/* What STEP throws as an error of C. */
template <class Step> gemel_status guarded(gemel_error *e, Step step) noexcept {
  try {
    step();
    return GEMEL_OK;
  } catch (const error &x) {
    return tell(e, x.status() != GEMEL_OK ? x.status() : GEMEL_BAD_ARGUMENT, x.what());
  } catch (const std::bad_alloc &) {
    return tell(e, GEMEL_NO_MEMORY, "out of memory");
  } catch (const std::exception &x) {
    return tell(e, GEMEL_BAD_ARGUMENT, x.what());
  } catch (...) {
    return tell(e, GEMEL_BAD_ARGUMENT, "what was thrown is no std::exception");
  }
}

/* What a lambda returns, one or several. */
template <class T> std::vector<T> several(T one) {
  return std::vector<T>{std::move(one)};
}
template <class T> std::vector<T> several(std::vector<T> all) {
  return all;
}

struct attribute_spec {
  std::string name, fallback;
  int kind;
  bool needed;
};

/* A record's DATA. */
struct own_operation {
  std::string name, summary;
  int min_inputs = 1, max_inputs = 1, version = 1;
  unsigned flags = 0;
  std::vector<attribute_spec> specs;
  std::vector<gemel_range> ranges;
  std::function<std::vector<type>(const infer_call &)> infer;
  std::function<void(const gemel_kernel_call &)> run;
  std::function<std::vector<value>(const derive_call &)> grad, jvp;
  std::function<void(sample_call &)> sample;
  gemel_kernel kernels[2] = {};
  bool is_elementwise() const noexcept {
    return (flags & GEMEL_OP_ELEMENTWISE) != 0;
  }
};

inline const own_operation &own(const void *data) noexcept {
  return *static_cast<const own_operation *>(data);
}

inline type type_of(gemel_context *c, gemel_type t) {
  type result;
  result.dtype = gemel_type_dtype(c, t);
  result.space = gemel_type_space(c, t);
  for (int k = 0; k < gemel_type_rank(c, t); k++) {
    result.shape.push_back(dim(c, gemel_type_dims(c, t)[k]));
  }
  return result;
}

/* SHAPE as X broadcasts with it: a size is the literal 1, or that of the others. Sizes that may be
 * the same are compared when the graph is called. */
inline void broadcast(dims &shape, const dims &x) {
  while (shape.size() < x.size()) {
    shape.insert(shape.begin(), dim(1));
  }
  for (std::size_t k = 0; k < x.size(); k++) {
    dim &size = shape[shape.size() - x.size() + k];
    std::optional<int64_t> a = size.known(), b = x[k].known();
    if (a && b && *a != *b && *a != 1 && *b != 1) {
      fail(GEMEL_BAD_SHAPE, "sizes " + size.text() + " and " + x[k].text() + " don't broadcast");
    }
    size = a == 1 || (!a && b && b != 1) ? x[k] : size;
  }
}

/* The type of an elementwise operation: operands are f32, or f64, and broadcast. */
inline type elementwise_type(const std::vector<type> &inputs) {
  type result;
  for (const type &x : inputs) {
    if ((x.dtype != GEMEL_F32 && x.dtype != GEMEL_F64) || x.dtype != inputs[0].dtype) {
      fail(GEMEL_BAD_TYPE, "operands are all f32, or all f64");
    }
    broadcast(result.shape, x.shape);
  }
  result.dtype = inputs[0].dtype;
  result.space = inputs[0].space;
  return result;
}

inline gemel_status infer(gemel_infer *call) {
  return guarded(call->error, [call] {
    const own_operation &o = own(call->data);
    infer_call c{attributes(call->attrs, call->n_attrs)};
    for (std::size_t k = 0; k < call->n_inputs; k++) {
      c.inputs.push_back(type_of(call->context, call->inputs[k]));
    }
    std::vector<type> made = o.infer ? o.infer(c) : several(elementwise_type(c.inputs));
    call->n_outputs = made.size();
    for (std::size_t k = 0; k < made.size() && k < call->max_outputs; k++) {
      std::vector<gemel_dim> sizes = made[k].shape.in(call->context);
      call->outputs[k] =
          gemel_type_new(call->context, made[k].dtype, static_cast<int>(sizes.size()), sizes.data(),
                         made[k].space);
    }
  });
}

inline gemel_status run(const gemel_kernel_call *call) {
  return guarded(call->error, [call] { own(call->data).run(*call); });
}

/* X as SHAPED: summed over the axes along which that was broadcast, or broadcast. */
inline value fitted(const value &x, const value &shaped, gemel_location where) {
  std::vector<int64_t> axes;
  operand now(x, where.file, where.line);
  int more = x.rank() - shaped.rank();
  for (int k = 0; k < x.rank(); k++) {
    if (k < more || (shaped.shape(k - more).known() == 1 && x.shape(k).known() != 1)) {
      axes.push_back(k);
    }
  }
  if (axes.empty()) {
    return x.shape() == shaped.shape() ? x : broadcast_to(now, shaped.shape());
  }
  value total = gemel::sum(now, axes, true);
  return more > 0 ? reshape(operand(total, where.file, where.line), shaped.shape()) : total;
}

inline derive_call derivation(const gemel_derive *call) {
  derive_call d{attributes(call->attrs, own(call->data).specs.size())};
  d.inputs.assign(call->inputs, call->inputs + call->n_inputs);
  d.outputs.assign(call->outputs, call->outputs + call->n_outputs);
  return d;
}

/* Puts what FROM returned for each of LIKE to where C wants it. */
inline void settle(const gemel_derive *call, const std::vector<value> &from,
                   const std::vector<value> &like, gemel_value *to) {
  if (from.size() != like.size()) {
    fail(GEMEL_BAD_ARGUMENT, "its derivative gives " + std::to_string(from.size()) +
                                 " values, not " + std::to_string(like.size()));
  }
  for (std::size_t k = 0; k < like.size(); k++) {
    bool fits = from[k].graph == nullptr || !own(call->data).is_elementwise();
    to[k] = fits ? from[k] : fitted(from[k], like[k], call->where);
  }
}

inline gemel_status grad(gemel_derive *call) {
  return guarded(call->error, [call] {
    derive_call d = derivation(call);
    d.given.assign(call->d_outputs, call->d_outputs + call->n_outputs);
    d.wanted.assign(call->wanted, call->wanted + call->n_inputs);
    settle(call, own(call->data).grad(d), d.inputs, call->d_inputs);
  });
}

inline gemel_status jvp(gemel_derive *call) {
  return guarded(call->error, [call] {
    derive_call d = derivation(call);
    d.given.assign(call->d_inputs, call->d_inputs + call->n_inputs);
    settle(call, own(call->data).jvp(d), d.outputs, call->d_outputs);
  });
}

/* Operands of one shape; now and then one is a scalar. */
inline void sample_elementwise(const own_operation &o, sample_call &c) {
  if (c.dtype() != GEMEL_F32 && c.dtype() != GEMEL_F64) {
    c.decline();
  }
  std::vector<int64_t> shape = c.shape(c.rank(3));
  for (int k = 0; k < o.min_inputs; k++) {
    std::size_t at = static_cast<std::size_t>(k);
    c.input(c.dtype(), k > 0 && c.below(4) == 0 ? std::vector<int64_t>() : shape,
            at < o.ranges.size() ? o.ranges[at] : GEMEL_RANGE_ANY);
  }
}

inline gemel_status sample(gemel_sample *call) {
  return guarded(call->error, [call] {
    const own_operation &o = own(call->data);
    sample_call c(call);
    o.sample ? o.sample(c) : sample_elementwise(o, c);
  });
}

inline void release(const void *data) {
  delete static_cast<const own_operation *>(data);
}

/* ---- Elementwise kernels ---- */

template <class F, std::size_t... K> constexpr bool takes(std::index_sequence<K...>) {
  return std::is_invocable_r<double, const F &, decltype(static_cast<void>(K), 0.0)...>::value;
}
/* How many numbers F takes. */
template <class F, std::size_t N = 1> constexpr std::size_t arity() {
  static_assert(N <= 8, "it isn't called with one to eight doubles, or returns none");
  if constexpr (takes<F>(std::make_index_sequence<N>())) {
    return N;
  } else {
    return arity<F, N + 1>();
  }
}

/* Row by row; an operand doesn't move along an axis along which it is broadcast. */
template <class T, class F, std::size_t... K>
void map(const gemel_kernel_call &call, const F &f, std::index_sequence<K...>) {
  constexpr std::size_t n = sizeof...(K);
  const gemel_view &y = call.outputs[0];
  int64_t strides[n][GEMEL_MAX_RANK] = {}, index[GEMEL_MAX_RANK] = {}, rows = 1;
  int last = y.rank - 1;
  for (std::size_t k = 0; k < n; k++) {
    const gemel_view &x = call.inputs[k];
    for (int axis = 0; axis < x.rank; axis++) {
      strides[k][axis + y.rank - x.rank] = x.shape[axis] == 1 ? 0 : x.strides[axis];
    }
  }
  for (int axis = 0; axis < last; axis++) {
    rows *= y.shape[axis];
  }
  int64_t columns = last < 0 ? 1 : y.shape[last], y_step = last < 0 ? 0 : y.strides[last];
  const int64_t step[n] = {last < 0 ? 0 : strides[K][last]...};
  for (int64_t row = 0; row < rows; row++) {
    char *to = static_cast<char *>(y.data);
    const char *from[n] = {static_cast<const char *>(call.inputs[K].data)...};
    for (int axis = 0; axis < last; axis++) {
      to += index[axis] * y.strides[axis];
      ((from[K] += index[axis] * strides[K][axis]), ...);
    }
    for (int64_t j = 0; j < columns; j++) {
      *reinterpret_cast<T *>(to + j * y_step) = static_cast<T>(
          f(static_cast<double>(*reinterpret_cast<const T *>(from[K] + j * step[K]))...));
    }
    for (int axis = last - 1; axis >= 0 && ++index[axis] == y.shape[axis]; axis--) {
      index[axis] = 0;
    }
  }
}
} // namespace detail

/* ---- The operation ---- */

/* Each member says one thing of the operation, and returns it. register_in registers it. */
class operation {
public:
  explicit operation(const std::string &name, const std::string &summary = "") {
    own_.name = name;
    own_.summary = summary;
  }
  /* How many operands there are: N, or MIN to MAX (-1: no limit). One, if nothing is said. */
  operation &inputs(int n) {
    return inputs(n, n);
  }
  operation &inputs(int min, int max) {
    own_.min_inputs = min;
    own_.max_inputs = max;
    return *this;
  }
  /* An attribute that falls back to what is given: an integer, a double, a dtype, a text. */
  template <class T> operation &attribute(const std::string &name, const T &fallback) {
    if constexpr (std::is_same<T, gemel_dtype>::value) {
      return add(name, GEMEL_ATTR_DTYPE, gemel_dtype_name(fallback));
    } else if constexpr (std::is_floating_point<T>::value) {
      char text[40];
      std::snprintf(text, sizeof text, "%.17g", static_cast<double>(fallback));
      return add(name, GEMEL_ATTR_FLOAT, text);
    } else if constexpr (std::is_integral<T>::value) {
      return add(name, GEMEL_ATTR_INT, std::to_string(static_cast<int64_t>(fallback)));
    } else {
      return add(name, GEMEL_ATTR_STRING, fallback);
    }
  }
  /* One that must be given: T is as for attributes::attribute. */
  template <class T> operation &attribute(const std::string &name) {
    constexpr int kind = std::is_same<T, gemel_dtype>::value   ? GEMEL_ATTR_DTYPE
                         : std::is_floating_point<T>::value    ? GEMEL_ATTR_FLOAT
                         : std::is_integral<T>::value          ? GEMEL_ATTR_INT
                         : std::is_same<T, std::string>::value ? GEMEL_ATTR_STRING
                                                               : GEMEL_ATTR_LIST | GEMEL_ATTR_INT;
    own_.specs.push_back({name, "", kind, true});
    return *this;
  }
  /* Bits GEMEL_OP_…, besides those that follow. */
  operation &flags(unsigned bits) {
    own_.flags |= bits;
    return *this;
  }
  /* The type rule: of an infer_call the type of the output, or a vector of types. */
  template <class F> operation &infer(F rule) {
    own_.infer = [rule](const infer_call &c) { return detail::several(rule(c)); };
    return *this;
  }
  /* The kernel, of a kernel_call. */
  template <class F> operation &kernel(F run) {
    own_.run = [run](const gemel_kernel_call &call) {
      kernel_call c{attributes(call.attrs, detail::own(call.data).specs.size())};
      c.inputs.reserve(call.n_inputs);
      for (std::size_t k = 0; k < call.n_inputs; k++) {
        c.inputs.emplace_back(call.inputs[k]);
      }
      for (std::size_t k = 0; k < call.n_outputs; k++) {
        c.outputs.emplace_back(call.outputs[k]);
      }
      c.threads = call.threads;
      run(static_cast<const kernel_call &>(c));
    };
    return *this;
  }
  /* In place of inputs, infer and kernel: a function of as many doubles as there are operands,
   * which are all f32 or all f64, and broadcast. Derivatives needn't mind that they do. */
  template <class F> operation &elementwise(F f) {
    constexpr std::size_t n = detail::arity<F>();
    own_.run = [f](const gemel_kernel_call &call) {
      call.outputs[0].dtype == GEMEL_F32
          ? detail::map<float>(call, f, std::make_index_sequence<n>())
          : detail::map<double>(call, f, std::make_index_sequence<n>());
    };
    return inputs(static_cast<int>(n)).flags(GEMEL_OP_ELEMENTWISE);
  }
  /* The gradient, and the derivative in forward mode, of a derive_call: a value for each input, or
   * each output; a value alone, where there is one. */
  template <class F> operation &grad(F rule) {
    own_.grad = [rule](const derive_call &c) { return detail::several(rule(c)); };
    return *this;
  }
  template <class F> operation &jvp(F rule) {
    own_.jvp = [rule](const derive_call &c) { return detail::several(rule(c)); };
    return *this;
  }
  /* Both, of an elementwise operation: of the operands, a vector, its derivative by each. */
  template <class F> operation &slopes(F rule) {
    own_.grad = [rule](const derive_call &c) {
      std::vector<value> result = detail::several(rule(c.inputs));
      for (std::size_t k = 0; k < result.size(); k++) {
        bool asked = k >= c.wanted.size() || c.wanted[k];
        result[k] = asked ? c.given[0] * result[k] : value();
      }
      return result;
    };
    own_.jvp = [rule](const derive_call &c) {
      std::vector<value> slopes = detail::several(rule(c.inputs));
      value total;
      for (std::size_t k = 0; k < slopes.size() && k < c.given.size(); k++) {
        if (c.given[k].graph != nullptr) {
          value term = c.given[k] * slopes[k];
          total = total.graph != nullptr ? total + term : term;
        }
      }
      return detail::several(total);
    };
    return *this;
  }
  /* For the harness: what draws instances, of a sample_call &; or, of an elementwise operation, in
   * which range the elements of each operand are drawn. */
  template <class F, class = std::enable_if_t<std::is_invocable<const F &, sample_call &>::value>>
  operation &sample(F draw) {
    own_.sample = draw;
    return *this;
  }
  operation &sample(const std::vector<gemel_range> &ranges) {
    own_.ranges = ranges;
    return *this;
  }
  /* Registers it with CONTEXT; it may be registered with others too. Throws what
   * gemel_register_operation says. */
  void register_in(const context &c) const {
    auto made = std::make_unique<detail::own_operation>(own_);
    std::vector<gemel_attr_spec> specs;
    for (const detail::attribute_spec &s : made->specs) {
      specs.push_back({s.name.c_str(), s.kind, s.needed ? nullptr : s.fallback.c_str()});
    }
    specs.push_back({nullptr, 0, nullptr});
    made->kernels[0].name = made->run ? "C++" : nullptr;
    made->kernels[0].run = detail::run;
    gemel_error e;
    gemel_operation r = record(*made);
    r.attrs = specs.data();
    check(gemel_register_operation(c.get(), &r, &e), e);
    made.release(); /* the context's now */
  }

private:
  operation &add(const std::string &name, int kind, const std::string &fallback) {
    own_.specs.push_back({name, fallback, kind, false});
    return *this;
  }
  static gemel_operation record(const detail::own_operation &o) {
    gemel_operation r = {};
    r.size = sizeof r;
    r.name = o.name.c_str();
    r.summary = o.summary.c_str();
    r.min_inputs = o.min_inputs;
    r.max_inputs = o.max_inputs;
    r.flags = o.flags;
    r.version = o.version;
    r.infer = o.infer || o.is_elementwise() ? detail::infer : nullptr;
    r.grad = o.grad ? detail::grad : nullptr;
    r.jvp = o.jvp ? detail::jvp : nullptr;
    r.sample = o.sample || o.is_elementwise() ? detail::sample : nullptr;
    r.kernels = o.kernels;
    r.data = &o;
    r.release = detail::release;
    return r;
  }
  detail::own_operation own_;
};

} // namespace gemel

#endif
