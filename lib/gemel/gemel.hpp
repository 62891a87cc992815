/* SPDX-License-Identifier: MIT
 *
 * gemel from C++17: handles that own, operators, exceptions. Needs libgemel alone.
 *
 *   gemel::graph g;
 *   gemel::value x = g.input("x: f32[N, 3]");
 *   g.output(gemel::sum(x * x + 1), "y");
 *   gemel::tensor rows(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
 *   float y = gemel::evaluate(g, {rows})[0].item<float>();
 *
 * A handle (context, graph, tensor, shared) refers to one object of C; a copy takes a reference
 * more. get() is the pointer for functions of C, borrowed. A value is a gemel_value, and belongs to
 * its graph, which must live as long: any builder of C takes it, and checked() makes a value of
 * what that returns. A function that is called as one of C (exp for gemel_exp, slice for
 * gemel_slice_step) does what that does, and throws in place of the null value.
 * What fails throws gemel::error, with C's message, which names the line of the program; the
 * graph's own error is cleared then, and building may go on. Only containers of C++ throw anything
 * else, std::bad_alloc. Threads: as the functions of C.
 */
#ifndef GEMEL_GEMEL_HPP
#define GEMEL_GEMEL_HPP

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <gemel/tensor.hpp>

namespace gemel {

/* ---- Values ---- */

struct value : gemel_value {
  value() noexcept : gemel_value{nullptr, 0, 0} {
  }
  value(gemel_value v) noexcept : gemel_value(v) {
  }
  std::string type() const {
    gemel_context *c = gemel_graph_context(graph);
    return detail::whole_text(gemel_type_format, c, gemel_value_type(*this));
  }
  dims shape() const {
    gemel_context *c = gemel_graph_context(graph);
    gemel_type type = gemel_value_type(*this);
    dims result;
    for (int k = 0; k < gemel_type_rank(c, type); k++) {
      result.push_back(dim(c, gemel_type_dims(c, type)[k]));
    }
    return result;
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
  std::uint64_t bits = 0; /* of an integer, which a double may not hold */
  gemel_location where;
  operand(const gemel_value &of, const char *file = __builtin_FILE(), int line = __builtin_LINE())
      : v(of), where{file, line} {
  }
  template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>>
  operand(T n, const char *file = __builtin_FILE(), int line = __builtin_LINE())
      : is_number(true), is_real(std::is_floating_point<T>::value), number(static_cast<double>(n)),
        bits(std::is_floating_point<T>::value ? 0 : static_cast<std::uint64_t>(n)), where{file,
                                                                                          line} {
  }
};

/* RESULT as a value, or the exception for GRAPH's error. */
inline value checked(gemel_value result, gemel_graph *graph, gemel_location where = {"", 0}) {
  if (result.graph == nullptr) {
    gemel_error e = *gemel_graph_error(graph);
    gemel_graph_clear_error(graph);
    if (graph == nullptr || e.status == GEMEL_OK) {
      throw failure(where, GEMEL_NULL_VALUE,
                    graph == nullptr ? "a null value" : "the graph can't change");
    }
    throw error(e);
  }
  return result;
}
inline value checked(gemel_value result, const std::vector<value> &xs, gemel_location where) {
  std::size_t k = 0;
  while (k + 1 < xs.size() && xs[k].graph == nullptr) {
    k++;
  }
  return checked(result, xs.empty() ? nullptr : xs[k].graph, where);
}
inline value checked(gemel_value result, const value &of) {
  return checked(result, of.graph);
}

/* The size that v, an integer scalar, holds at run time. */
inline dim size_of(const value &v) {
  gemel_dim id = gemel_dim_of(v);
  if (gemel_dim_is_none(id)) {
    checked(gemel_value{nullptr, 0, 0}, v.graph);
  }
  return dim(gemel_graph_context(v.graph), id);
}

namespace detail {

/* Sizes as x's graph has them. */
inline std::vector<gemel_dim> sizes(const dims &list, const operand &x) {
  return list.in(gemel_graph_context(checked(x.v, x.v.graph, x.where).graph));
}

/* A list among the options of C: absent if it is empty, or there in any case. */
inline gemel_ints option(const std::vector<int64_t> &list) {
  return {list.size(), list.empty() ? nullptr : list.data()};
}
inline gemel_ints given(const std::vector<int64_t> &list) {
  static const int64_t none = 0;
  return {list.size(), list.empty() ? &none : list.data()};
}

/* All outputs of the node of FIRST. */
inline std::vector<value> outputs_of(const value &first, std::size_t count) {
  std::vector<value> result;
  for (std::size_t k = 0; k < count; k++) {
    result.push_back(gemel_value_output(first, static_cast<uint32_t>(k)));
  }
  return result;
}
} // namespace detail

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
  /* An integer from 2^53 on that an integer dtype of 64 bits holds: a double may not. */
  static bool needs_bits(const operand &x, gemel_dtype dtype) {
    bool beyond = x.number >= 9007199254740992.0 || x.number <= -9007199254740992.0;
    return !x.is_real && beyond &&
           (dtype == GEMEL_I64 ? x.number < 0 || x.bits >> 63 == 0
                               : dtype == GEMEL_U64 && x.number > 0);
  }
  gemel_value whole(const operand &x, gemel_dtype dtype) const {
    gemel_tensor *t = gemel_tensor_new(dtype, 0, nullptr, nullptr);
    if (t == nullptr) {
      return gemel_scalar_at(like.graph, dtype, x.number, x.where);
    }
    std::memcpy(gemel_tensor_data(t), &x.bits, sizeof x.bits);
    gemel_value made = gemel_constant_at(like.graph, t, x.where);
    gemel_tensor_unref(t);
    return made;
  }
  gemel_value constant(const operand &x) const {
    gemel_context *c = gemel_graph_context(like.graph);
    gemel_dtype dtype = gemel_type_dtype(c, gemel_value_type(like));
    int space = gemel_type_space(c, gemel_value_type(like));
    if (x.is_real && gemel_dtype_kind(dtype) != GEMEL_KIND_FLOAT) {
      dtype = GEMEL_F64;
    } else if (dtype == GEMEL_BOOL) {
      dtype = GEMEL_I64;
    }
    gemel_value scalar = needs_bits(x, dtype)
                             ? whole(x, dtype)
                             : gemel_scalar_at(like.graph, dtype, x.number, x.where);
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
    options o = {};                                                                                \
    o.axes = detail::given(axes);                                                                  \
    o.keepdims = keepdims;                                                                         \
    return checked(gemel_##name##_at(x.v, &o, x.where), x.v.graph, x.where);                       \
  }
#define GEMEL__CPP_ROW(name) GEMEL__CPP_REDUCTION(name, gemel_##name##_options)
GEMEL_ELEMENTWISE_TABLE(GEMEL__CPP_1, GEMEL__CPP_2, GEMEL__CPP_3)
GEMEL_REDUCTION_TABLE(GEMEL__CPP_ROW)
GEMEL__CPP_REDUCTION(mean, gemel_sum_options)
GEMEL__CPP_REDUCTION(min, gemel_max_options)
GEMEL__CPP_REDUCTION(any, gemel_sum_options)
GEMEL__CPP_REDUCTION(all, gemel_sum_options)
GEMEL__CPP_2(matmul)
GEMEL__CPP_2(solve)
GEMEL__CPP_1(cholesky)
GEMEL__CPP_1(det)
GEMEL__CPP_1(log_abs_det)
GEMEL__CPP_1(inv)
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

#define GEMEL__CPP_OPERATOR(op, name)                                                              \
  inline value operator op(const operand &x, const operand &y) {                                   \
    return name(x, y);                                                                             \
  }
#define GEMEL__CPP_ASSIGNMENT(op, name)                                                            \
  inline value &operator op(value &x, const operand &y) {                                          \
    return x = name(operand(x, y.where.file, y.where.line), y);                                    \
  }
GEMEL__CPP_OPERATOR(+, add)
GEMEL__CPP_OPERATOR(-, sub)
GEMEL__CPP_OPERATOR(*, mul)
GEMEL__CPP_OPERATOR(/, div)
GEMEL__CPP_OPERATOR(%, mod)
/* Truths, element by element. */
GEMEL__CPP_OPERATOR(<, lt)
GEMEL__CPP_OPERATOR(<=, le)
GEMEL__CPP_OPERATOR(>, gt)
GEMEL__CPP_OPERATOR(>=, ge)
GEMEL__CPP_OPERATOR(==, eq)
GEMEL__CPP_OPERATOR(!=, ne)
/* x becomes another value; what was built of it stays. */
GEMEL__CPP_ASSIGNMENT(+=, add)
GEMEL__CPP_ASSIGNMENT(-=, sub)
GEMEL__CPP_ASSIGNMENT(*=, mul)
GEMEL__CPP_ASSIGNMENT(/=, div)
GEMEL__CPP_ASSIGNMENT(%=, mod)
#undef GEMEL__CPP_OPERATOR
#undef GEMEL__CPP_ASSIGNMENT
inline value operator-(const operand &x) {
  return neg(x);
}

/* The variance and the standard deviation (std in C). DDOF is what the number of elements is
 * reduced by before it divides. */
#define GEMEL__CPP_SPREAD(name, c_name)                                                            \
  inline value name(const operand &x) {                                                            \
    return checked(gemel_##c_name##_at(x.v, nullptr, x.where), x.v.graph, x.where);                \
  }                                                                                                \
  inline value name(const operand &x, const std::vector<int64_t> &axes, bool keepdims = false,     \
                    int64_t ddof = 0) {                                                            \
    gemel_var_options o = {sizeof o, detail::given(axes), keepdims, ddof};                         \
    return checked(gemel_##c_name##_at(x.v, &o, x.where), x.v.graph, x.where);                     \
  }
GEMEL__CPP_SPREAD(var, var)
GEMEL__CPP_SPREAD(stddev, std)
#undef GEMEL__CPP_SPREAD

inline value cast(const operand &x, gemel_dtype dtype) {
  return checked(gemel_cast_at(x.v, dtype, x.where), x.v.graph, x.where);
}
inline value softmax(const operand &x, int64_t axis = -1) {
  return checked(gemel_softmax_at(x.v, axis, x.where), x.v.graph, x.where);
}
inline value cross_entropy(const operand &logits, const operand &targets, int64_t axis = -1) {
  operands<2> o({logits, targets});
  return checked(gemel_cross_entropy_at(o.v[0], o.v[1], axis, o.where), o.graph, o.where);
}
inline value triangular_solve(const operand &a, const operand &b, bool lower = false,
                              bool trans = false, bool unit_diagonal = false) {
  gemel_triangular_solve_options o = {lower, trans, unit_diagonal};
  return checked(gemel_triangular_solve_at(a.v, b.v, &o, a.where), a.v.graph, a.where);
}
inline value argmax(const operand &x, int64_t axis) {
  return checked(gemel_argmax_at(x.v, axis, x.where), x.v.graph, x.where);
}
inline value argmin(const operand &x, int64_t axis) {
  return checked(gemel_argmin_at(x.v, axis, x.where), x.v.graph, x.where);
}
inline value searchsorted(const operand &sorted, const operand &values, bool right = false) {
  gemel_searchsorted_options options = {right ? "right" : "left"};
  operands<2> o({sorted, values});
  return checked(gemel_searchsorted_at(o.v[0], o.v[1], &options, o.where), o.graph, o.where);
}
inline value bitcast(const operand &x, gemel_dtype dtype) {
  return checked(gemel_bitcast_at(x.v, dtype, x.where), x.v.graph, x.where);
}
inline value argsort(const operand &x, int64_t axis = -1, bool descending = false) {
  gemel_argsort_options options = {descending};
  return checked(gemel_argsort_at(x.v, axis, &options, x.where), x.v.graph, x.where);
}
inline value sort(const operand &x, int64_t axis = -1, bool descending = false) {
  return checked(gemel_sort_at(x.v, axis, descending, x.where), x.v.graph, x.where);
}
/* The K largest (or smallest) elements along AXIS, and where they are. */
inline std::pair<value, value> top_k(const operand &x, int64_t k, int64_t axis = -1,
                                     bool smallest = false) {
  gemel_value indices = {nullptr, 0, 0};
  value top =
      checked(gemel_top_k_at(x.v, k, axis, smallest, &indices, x.where), x.v.graph, x.where);
  return {top, checked(indices, x.v.graph, x.where)};
}
inline value cumsum(const operand &x, int64_t axis = 0, bool exclusive = false,
                    bool reverse = false) {
  gemel_cumsum_options options = {axis, exclusive, reverse};
  return checked(gemel_cumsum_at(x.v, &options, x.where), x.v.graph, x.where);
}
inline value cumprod(const operand &x, int64_t axis = 0, bool exclusive = false,
                     bool reverse = false) {
  gemel_cumsum_options options = {axis, exclusive, reverse};
  return checked(gemel_cumprod_at(x.v, &options, x.where), x.v.graph, x.where);
}
/* What is left of x, and the next key. */
inline std::pair<value, value> dropout(const operand &x, const operand &key, double rate) {
  gemel_value next = {nullptr, 0, 0};
  value left = checked(gemel_dropout_at(x.v, key.v, rate, &next, x.where), x.v.graph, x.where);
  return {left, checked(next, x.v.graph, x.where)};
}
/* One size may be -1 where all are numbers. */
inline value reshape(const operand &x, const dims &shape) {
  std::vector<int64_t> numbers;
  for (const dim &d : shape) {
    if (d.context() == nullptr) {
      numbers.push_back(d.number());
    }
  }
  if (numbers.size() == shape.size()) {
    return checked(gemel_reshape_to_at(x.v, numbers.size(), numbers.data(), x.where), x.v.graph,
                   x.where);
  }
  std::vector<gemel_dim> list = detail::sizes(shape, x);
  return checked(gemel_reshape_at(x.v, list.size(), list.data(), x.where), x.v.graph, x.where);
}
inline value broadcast_to(const operand &x, const dims &shape) {
  std::vector<gemel_dim> list = detail::sizes(shape, x);
  return checked(gemel_broadcast_to_at(x.v, list.size(), list.data(), x.where), x.v.graph, x.where);
}
inline value expand_dims(const operand &x, int64_t axis) {
  return checked(gemel_expand_dims_at(x.v, axis, x.where), x.v.graph, x.where);
}
inline value squeeze(const operand &x, int64_t axis) {
  return checked(gemel_squeeze_at(x.v, axis, x.where), x.v.graph, x.where);
}
inline value swapaxes(const operand &x, int64_t a, int64_t b) {
  return checked(gemel_swapaxes_at(x.v, a, b, x.where), x.v.graph, x.where);
}
inline value reverse(const operand &x, const std::vector<int64_t> &axes) {
  return checked(gemel_reverse_at(x.v, axes.size(), axes.data(), x.where), x.v.graph, x.where);
}
inline value full_like(const operand &x, double number) {
  return checked(gemel_full_like_at(x.v, number, x.where), x.v.graph, x.where);
}
inline value zeros_like(const operand &x) {
  return full_like(x, 0);
}
inline value ones_like(const operand &x) {
  return full_like(x, 1);
}
/* For each axis LOW numbers before and HIGH behind x, and INTERIOR (none, if it is empty) between
 * its elements; what they are is a number or a scalar. */
inline value pad(const operand &x, const std::vector<int64_t> &low,
                 const std::vector<int64_t> &high, const operand &with,
                 const std::vector<int64_t> &interior = {}) {
  operands<2> o({x, with});
  gemel_pad_options options = {detail::option(interior)};
  return checked(gemel_pad_at(o.v[0], o.v[1], low.size(), low.data(), high.size(), high.data(),
                              &options, o.where),
                 o.graph, o.where);
}
inline value pad(const operand &x, const std::vector<int64_t> &low,
                 const std::vector<int64_t> &high) {
  return pad(x, low, high, operand(0, x.where.file, x.where.line));
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
/* START, SIZE and STEP (1, if it is empty) say elements of each axis. */
inline value subtensor(const operand &x, const dims &start, const dims &size,
                       const std::vector<int64_t> &step = {}) {
  std::vector<gemel_dim> from = detail::sizes(start, x), count = detail::sizes(size, x);
  gemel_subtensor_options o = {detail::option(step)};
  return checked(
      gemel_subtensor_at(x.v, from.size(), from.data(), count.size(), count.data(), &o, x.where),
      x.v.graph, x.where);
}
#define GEMEL__CPP_WRITING(name)                                                                   \
  inline value name(const operand &x, const operand &y, const dims &start,                         \
                    const std::vector<int64_t> &step = {}) {                                       \
    operands<2> o({x, y});                                                                         \
    std::vector<gemel_dim> from = detail::sizes(start, x);                                         \
    gemel_##name##_options options = {detail::option(step)};                                       \
    return checked(gemel_##name##_at(o.v[0], o.v[1], from.size(), from.data(), &options, o.where), \
                   o.graph, o.where);                                                              \
  }
GEMEL__CPP_WRITING(set_subtensor)
GEMEL__CPP_WRITING(inc_subtensor)
#undef GEMEL__CPP_WRITING

/* x at indices along an axis; x with y there, set or combined as MODE says. */
inline value take(const operand &x, const operand &indices, int64_t axis = 0) {
  operands<2> o({x, indices});
  gemel_take_options options = {axis};
  return checked(gemel_take_at(o.v[0], o.v[1], &options, o.where), o.graph, o.where);
}
inline value take_along_axis(const operand &x, const operand &indices, int64_t axis) {
  operands<2> o({x, indices});
  return checked(gemel_take_along_axis_at(o.v[0], o.v[1], axis, o.where), o.graph, o.where);
}
inline value put_along_axis(const operand &x, const operand &indices, const operand &y,
                            int64_t axis, const char *mode = "set") {
  operands<3> o({x, indices, y});
  return checked(gemel_put_along_axis_at(o.v[0], o.v[1], o.v[2], axis, mode, o.where), o.graph,
                 o.where);
}
inline value put(const operand &x, const operand &indices, const operand &y, int64_t axis = 0,
                 const char *mode = "set") {
  operands<3> o({x, indices, y});
  gemel_put_options options = {axis, mode};
  return checked(gemel_put_at(o.v[0], o.v[1], o.v[2], &options, o.where), o.graph, o.where);
}

inline std::vector<value> split(const operand &x, const dims &parts, int64_t axis = 0) {
  std::vector<gemel_dim> list = detail::sizes(parts, x);
  gemel_split_options o = {axis};
  return detail::outputs_of(
      checked(gemel_split_at(x.v, list.size(), list.data(), &o, x.where), x.v.graph, x.where),
      list.size());
}
inline value concatenate(const std::vector<value> &xs, int64_t axis = 0,
                         const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  return checked(gemel_concatenate_at(xs.size(), xs.data(), axis, {file, line}), xs, {file, line});
}
inline value einsum(const char *equation, const std::vector<value> &xs,
                    const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  return checked(gemel_einsum_at(equation, xs.size(), xs.data(), {file, line}), xs, {file, line});
}
inline value stack(const std::vector<value> &xs, int64_t axis = 0,
                   const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  return checked(gemel_stack_at(xs.size(), xs.data(), axis, {file, line}), xs, {file, line});
}

/* ---- Products, convolutions, windows ---- */

/* Of axes that are contracted, and of batch axes; dot(x, y) is the matrix product. */
inline value dot(const operand &x, const operand &y) {
  operands<2> o({x, y});
  return checked(gemel_dot_at(o.v[0], o.v[1], nullptr, o.where), o.graph, o.where);
}
inline value dot(const operand &x, const operand &y, const std::vector<int64_t> &contract_x,
                 const std::vector<int64_t> &contract_y, const std::vector<int64_t> &batch_x = {},
                 const std::vector<int64_t> &batch_y = {}) {
  operands<2> o({x, y});
  gemel_dot_options options = {detail::given(contract_x), detail::given(contract_y),
                               detail::given(batch_x), detail::given(batch_y)};
  return checked(gemel_dot_at(o.v[0], o.v[1], &options, o.where), o.graph, o.where);
}

/* A number for each spatial axis, or none: strides and dilations of 1, no padding. */
struct window {
  std::vector<int64_t> stride, dilation, low, high;
};
struct corr_options : window {
  std::string padding; /* "full", "half", or low and high say it */
  int64_t groups = 1;
  bool flip = false, unshared = false;
};
namespace detail {

template <class Options> Options windows(const window &w) {
  Options o = {};
  o.stride = option(w.stride);
  o.dilation = option(w.dilation);
  o.low = option(w.low);
  o.high = option(w.high);
  return o;
}

} // namespace detail

inline value corr(const operand &x, const operand &w, const corr_options &how = {}) {
  operands<2> o({x, w});
  gemel_corr_options options = detail::windows<gemel_corr_options>(how);
  options.padding = how.padding.empty() ? nullptr : how.padding.c_str();
  options.groups = how.groups;
  options.flip = how.flip;
  options.unshared = how.unshared;
  return checked(gemel_corr_at(o.v[0], o.v[1], &options, o.where), o.graph, o.where);
}
inline value max_pool(const operand &x, const std::vector<int64_t> &size, const window &w = {}) {
  gemel_max_pool_options o = detail::windows<gemel_max_pool_options>(w);
  return checked(gemel_max_pool_at(x.v, size.size(), size.data(), &o, x.where), x.v.graph, x.where);
}
inline value avg_pool(const operand &x, const std::vector<int64_t> &size, const window &w = {},
                      bool count_padding = false) {
  gemel_avg_pool_options o = detail::windows<gemel_avg_pool_options>(w);
  o.count_padding = count_padding;
  return checked(gemel_avg_pool_at(x.v, size.size(), size.data(), &o, x.where), x.v.graph, x.where);
}

/* ---- Random numbers ---- */

/* What is drawn, and the next key. */
#define GEMEL__CPP_RANDOM(name, fallback)                                                          \
  inline std::pair<value, value> name(const operand &key, const dims &shape,                       \
                                      gemel_dtype dtype = fallback) {                              \
    std::vector<gemel_dim> list = detail::sizes(shape, key);                                       \
    gemel_##name##_options o = {dtype};                                                            \
    value drawn = checked(gemel_##name##_at(key.v, list.size(), list.data(), &o, key.where),       \
                          key.v.graph, key.where);                                                 \
    return {drawn, gemel_value_output(drawn, 1)};                                                  \
  }
GEMEL__CPP_RANDOM(random_bits, GEMEL_U32)
GEMEL__CPP_RANDOM(random_uniform, GEMEL_F32)
GEMEL__CPP_RANDOM(random_normal, GEMEL_F32)
#undef GEMEL__CPP_RANDOM

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

/* ---- Graphs ---- */

class graph : public handle<gemel_graph, gemel_graph_ref, gemel_graph_unref> {
public:
  explicit graph(const context &c = context()) : handle(gemel_graph_new(c.get(), &room()), room()) {
  }
  /* Takes over the reference that a function of C returned. */
  graph(gemel_graph *object, const gemel_error &e) : handle(object, e) {
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
  /* A symbol of shapes, "N". */
  dim symbol(const std::string &name) const {
    gemel_context *c = gemel_graph_context(get());
    return dim(c, gemel_dim_symbol(c, name.c_str()));
  }
  /* A size, as an i64. */
  value size(const dim &d, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return checked(gemel_size_at(get(), d.in(gemel_graph_context(get())), {file, line}), get());
  }
  value arange(const dim &n, gemel_dtype dtype = GEMEL_I64, const char *file = __builtin_FILE(),
               int line = __builtin_LINE()) {
    gemel_arange_options o = {dtype};
    return checked(gemel_arange_at(get(), n.in(gemel_graph_context(get())), &o, {file, line}),
                   get());
  }
  void output(const value &v, const std::string &name, const char *file = __builtin_FILE(),
              int line = __builtin_LINE()) {
    gemel_location at = {file, line};
    settle(gemel_output_at(own(v, at), name.c_str(), at), v.graph, at);
  }
  void update(const value &state, const value &next, const char *file = __builtin_FILE(),
              int line = __builtin_LINE()) {
    gemel_location at = {file, line};
    settle(gemel_update_at(own(state, at), own(next, at), at),
           state.graph != nullptr ? state.graph : next.graph, at);
  }
  std::string text(const std::string &name = "graph") const {
    gemel_error e;
    std::unique_ptr<char, void (*)(char *)> t(gemel_print_string(get(), name.c_str(), &e),
                                              gemel_text_free);
    check(t != nullptr ? GEMEL_OK : e.status, e);
    return t.get();
  }
  /* Binary if PATH ends in ".gemel", else text. */
  void save(const std::string &path, const std::string &name = "graph") const {
    gemel_error e;
    check(gemel_save(get(), name.c_str(), path.c_str(), &e), e);
  }

private:
  const value &own(const value &v, gemel_location at) const {
    bool foreign = v.graph != nullptr && v.graph != get();
    return foreign ? throw failure(at, GEMEL_BAD_ARGUMENT, "a value of another graph") : v;
  }
  static void settle(gemel_status status, gemel_graph *of, gemel_location where) {
    if (status != GEMEL_OK) {
      checked(gemel_value{nullptr, 0, 0}, of, where);
    }
  }
};

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
