/* SPDX-License-Identifier: MIT
 *
 * The part of <gemel/gemel.hpp> that all builders need: values, numbers beside them, attributes,
 * graphs. Threads: as the functions of C.
 */
#ifndef GEMEL_VALUE_HPP
#define GEMEL_VALUE_HPP

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <gemel/tensor.hpp>

namespace gemel {

/* ---- Values ---- */

struct operand;
struct part;

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
  /* The size along an axis, which may be counted from the end. */
  dim shape(int axis) const {
    gemel_context *c = gemel_graph_context(graph);
    int n = gemel_type_rank(c, gemel_value_type(*this)), k = axis < 0 ? axis + n : axis;
    if (k < 0 || k >= n) {
      fail(GEMEL_BAD_SHAPE,
           "axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(n));
    }
    return dim(c, gemel_type_dims(c, gemel_value_type(*this))[k]);
  }
  int rank() const {
    return gemel_type_rank(gemel_graph_context(graph), gemel_value_type(*this));
  }
  gemel_dtype dtype() const {
    return gemel_type_dtype(gemel_graph_context(graph), gemel_value_type(*this));
  }
  /* Output K of the operation that made this. */
  inline value output_at(std::uint32_t k) const;

  /* Indices and slices as in NumPy, but that bounds outside are errors. x[i] is the i-th element
   * along the first axis; of a value of integers, the elements at these. A list has for each of the
   * first axes an index, {from, to}, {from, to, step}, or {} for all: x[{{}, -1}], x[{0, {1, 3}}];
   * to_end is a bound. The functions are in <gemel/ops.hpp>. */
  inline value operator[](const operand &at) const;
  inline value operator[](std::initializer_list<part> parts) const;
  inline value slice(int64_t from, int64_t to = GEMEL_TO_END, int64_t step = 1, int64_t axis = 0,
                     const char *file = __builtin_FILE(), int line = __builtin_LINE()) const;
  /* The axes in opposite order. */
  inline value T(const char *file = __builtin_FILE(), int line = __builtin_LINE()) const;
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
  gemel_location where = {"", 0};
  operand() = default; /* one that is left out */
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

constexpr int64_t to_end = GEMEL_TO_END;

/* What is taken of an axis, see value. */
struct part {
  int64_t from = 0, to = to_end, step = 1;
  bool index = false, all = true;
  gemel_location where = {"", 0};
  part() = default;
  template <class T, class = std::enable_if_t<std::is_integral<T>::value>>
  part(T at, const char *file = __builtin_FILE(), int line = __builtin_LINE())
      : from(static_cast<int64_t>(at)), index(true), all(false), where{file, line} {
  }
  part(int64_t first, int64_t end, int64_t by = 1, const char *file = __builtin_FILE(),
       int line = __builtin_LINE())
      : from(first), to(end), step(by), all(false), where{file, line} {
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

inline value value::output_at(std::uint32_t k) const {
  gemel_value found = gemel_value_output(*this, k);
  return found.graph != nullptr ? value(found)
                                : throw failure(gemel_value_where(*this), GEMEL_BAD_ARGUMENT,
                                                "there is no output " + std::to_string(k));
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

/* Operands as values: numbers have become constants like the last value among them. */
class operand_set {
public:
  gemel_value like = {nullptr, 0, 0};
  gemel_graph *graph = nullptr; /* the first one's, which keeps errors */
  gemel_location where = {"", 0};
  operand_set(const operand *given, std::size_t n, gemel_value *v) {
    for (std::size_t k = 0; k < n; k++) {
      like = given[k].v.graph != nullptr ? given[k].v : like;
      graph = graph != nullptr ? graph : given[k].v.graph;
      where = where.line > 0 ? where : given[k].where;
    }
    for (std::size_t k = 0; k < n; k++) {
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

template <std::size_t N> struct operands {
  gemel_value v[N];
  operand_set set;
  gemel_graph *graph = set.graph;
  gemel_location where = set.where;
  explicit operands(const operand (&given)[N]) : set(given, N, v) {
  }
};

/* Axes, counted from the end where they are negative: 0, {0, -1}, a vector of them, or all. */
class axis_list {
public:
  template <class T,
            class = std::enable_if_t<std::is_integral<T>::value && !std::is_same<T, bool>::value>>
  axis_list(T axis) : list_{static_cast<int64_t>(axis)} {
  }
  axis_list(std::initializer_list<int64_t> axes) : list_(axes) {
  }
  axis_list(const std::vector<int64_t> &axes) : list_(axes) {
  }
  static axis_list all() {
    axis_list result({});
    result.all_ = true;
    return result;
  }
  /* The option of C: absent for all axes. */
  gemel_ints option() const noexcept {
    return all_ ? gemel_ints{0, nullptr} : detail::given(list_);
  }

private:
  std::vector<int64_t> list_;
  bool all_ = false;
};

/* ---- Operations by name ---- */

/* An attribute by its name: {"axis", 1}, {"rate", 0.5}, {"mode", "add"}, {"dtype", GEMEL_F32},
 * {"axes", {0, 1}}, {"n", gemel::dim(3)}, {"shape", gemel::dims{2, 3}}. */
class attribute {
public:
  template <class T>
  attribute(const char *name, const T &given) : made_{name, GEMEL_ATTR_NONE, 0, {0}} {
    if constexpr (std::is_same<T, gemel_dtype>::value) {
      made_ = gemel_attr_dtype(name, given);
    } else if constexpr (std::is_floating_point<T>::value) {
      made_ = gemel_attr_float(name, given);
    } else if constexpr (std::is_integral<T>::value) {
      made_ = gemel_attr_int(name, static_cast<int64_t>(given));
    } else if constexpr (std::is_same<T, gemel_ints>::value) {
      made_ = given.values != nullptr ? gemel_attr_ints(name, given.count, given.values) : made_;
    } else if constexpr (std::is_same<T, dims>::value) {
      made_.kind = GEMEL_ATTR_LIST | GEMEL_ATTR_DIM;
      sizes_ = given;
    } else if constexpr (std::is_same<T, dim>::value) {
      made_.kind = GEMEL_ATTR_DIM;
      sizes_ = {given};
    } else if constexpr (std::is_same<T, std::optional<dim>>::value) {
      made_.kind = given ? GEMEL_ATTR_DIM : GEMEL_ATTR_NONE;
      sizes_ = given ? dims{*given} : dims();
    } else {
      static_assert(std::is_convertible<T, const char *>::value, "no attribute is made of this");
      made_ = gemel_attr_string(name, given);
    }
  }
  attribute(const char *name, std::vector<int64_t> list)
      : made_{name, GEMEL_ATTR_LIST | GEMEL_ATTR_INT, list.size(), {0}}, list_(std::move(list)) {
  }
  /* The attribute of C, absent if its kind is GEMEL_ATTR_NONE, as long as this stays where it is.
   */
  gemel_attr in(gemel_context *c) {
    gemel_attr result = made_;
    ids_ = sizes_.in(c);
    if (made_.kind == GEMEL_ATTR_DIM) {
      result.u.dim = ids_[0];
    } else if (made_.kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_DIM)) {
      result = gemel_attr_dims(made_.name, ids_.size(), ids_.data());
    } else if (made_.kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_INT) && made_.u.ints == nullptr) {
      result.u.ints = detail::given(list_).values;
    }
    return result;
  }

private:
  gemel_attr made_;
  std::vector<int64_t> list_;
  dims sizes_;
  std::vector<gemel_dim> ids_;
};

namespace detail {
inline value apply(gemel_graph *graph, const char *operation, const std::vector<gemel_value> &xs,
                   std::vector<attribute> given, gemel_location where) {
  std::vector<gemel_attr> attrs;
  for (attribute &a : given) {
    gemel_attr made = a.in(gemel_graph_context(graph));
    if (made.kind != GEMEL_ATTR_NONE) {
      attrs.push_back(made);
    }
  }
  return checked(
      gemel_apply_at(graph, operation, xs.size(), xs.data(), attrs.size(), attrs.data(), where),
      graph, where);
}
} // namespace detail

/* OPERATION, gemel's own or a program's, applied to values and numbers: output 0. */
inline value apply(const char *operation, const std::vector<operand> &xs,
                   std::vector<attribute> attributes = {}) {
  std::vector<gemel_value> v(xs.size());
  operand_set set(xs.data(), xs.size(), v.data());
  if (set.graph == nullptr) {
    checked(gemel_value{nullptr, 0, 0}, nullptr, set.where);
  }
  return detail::apply(set.graph, operation, v, std::move(attributes), set.where);
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
  value zeros(gemel_dtype dtype, const std::vector<int64_t> &shape,
              const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return full(dtype, 0, shape, file, line);
  }
  value ones(gemel_dtype dtype, const std::vector<int64_t> &shape,
             const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return full(dtype, 1, shape, file, line);
  }
  value vector(gemel_dtype dtype, const std::vector<double> &numbers,
               const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return checked(gemel_vector_at(get(), dtype, numbers.size(), numbers.data(), {file, line}),
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

} // namespace gemel

#endif
