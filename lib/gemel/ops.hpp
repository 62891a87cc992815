/* SPDX-License-Identifier: MIT
 *
 * The part of <gemel/gemel.hpp> that builds graphs: the functions of <gemel/ops.h> and
 * <gemel/composite.h>, operators, indices and slices. <gemel/nn.hpp> has those of <gemel/nn.h>.
 * Threads: as the functions of C.
 */
#ifndef GEMEL_OPS_HPP
#define GEMEL_OPS_HPP

#include <gemel/value.hpp>

namespace gemel {

/* Each elementwise operation and reduction under its name: exp(x), maximum(x, 0), where(c, x, y),
 * lt(x, y); sum(x), sum(x, 0), sum(x, {0, 1}), sum(x, 0, true). */
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
  inline value name(const operand &x, const axis_list &axes = axis_list::all(),                    \
                    bool keepdims = false) {                                                       \
    options o = {axes.option(), keepdims};                                                         \
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
  inline value name(const operand &x, const axis_list &axes = axis_list::all(),                    \
                    bool keepdims = false, int64_t ddof = 0) {                                     \
    gemel_var_options o = {sizeof o, axes.option(), keepdims, ddof};                               \
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
inline value reverse(const operand &x, const axis_list &axes = axis_list::all()) {
  std::vector<int64_t> list;
  gemel_ints given = axes.option();
  for (int64_t k = 0; given.values == nullptr && k < value(x.v).rank(); k++) {
    list.push_back(k);
  }
  given = given.values == nullptr ? detail::given(list) : given;
  return checked(gemel_reverse_at(x.v, given.count, given.values, x.where), x.v.graph, x.where);
}
inline value scalar_like(const operand &x, double number) {
  return checked(gemel_scalar_like_at(x.v, number, x.where), x.v.graph, x.where);
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

inline value value::operator[](const operand &at) const {
  if (!at.is_number) {
    return take(operand(*this, at.where.file, at.where.line), at);
  }
  if (at.is_real) {
    throw failure(at.where, GEMEL_BAD_TYPE, "an index is an integer");
  }
  return index(operand(*this, at.where.file, at.where.line), 0, static_cast<int64_t>(at.bits));
}
inline value value::operator[](std::initializer_list<part> parts) const {
  value x = *this;
  int64_t axis = 0;
  for (const part &p : parts) {
    operand now(x, p.where.file, p.where.line);
    if (p.index) {
      x = index(now, axis, p.from);
      continue;
    }
    x = p.all ? x : gemel::slice(now, axis, p.from, p.to, p.step);
    axis++;
  }
  return axis <= x.rank()
             ? x
             : throw failure({"", 0}, GEMEL_BAD_SHAPE, "there are more parts than axes");
}
inline value value::slice(int64_t from, int64_t to, int64_t step, int64_t axis, const char *file,
                          int line) const {
  return gemel::slice(operand(*this, file, line), axis, from, to, step);
}
inline value value::T(const char *file, int line) const {
  return transpose(operand(*this, file, line));
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

} // namespace gemel

#endif
