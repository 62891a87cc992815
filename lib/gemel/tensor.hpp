/* SPDX-License-Identifier: MIT
 *
 * The part of <gemel/gemel.hpp> that needs no graph: errors, handles, tensors and their files,
 * shared variables, sizes. Threads: as the functions of C.
 */
#ifndef GEMEL_TENSOR_HPP
#define GEMEL_TENSOR_HPP

#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <gemel/gemel.h>

/* The dims and types of C, as gemel_dim_equal and gemel_type_equal compare them. */
inline bool operator==(gemel_dim a, gemel_dim b) noexcept {
  return gemel_dim_equal(a, b) != 0;
}
inline bool operator!=(gemel_dim a, gemel_dim b) noexcept {
  return !(a == b);
}
inline bool operator==(gemel_type a, gemel_type b) noexcept {
  return gemel_type_equal(a, b) != 0;
}
inline bool operator!=(gemel_type a, gemel_type b) noexcept {
  return !(a == b);
}

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

/* What the call at WHERE, line 0 if it isn't known, does wrong. */
inline error failure(gemel_location where, gemel_status status, const std::string &text) {
  gemel_error e = {status, 0, 0, {0}};
  std::string place = std::string(where.file) + ":" + std::to_string(where.line) + ": ";
  std::strncpy(e.text, ((where.line > 0 ? place : "") + text).c_str(), sizeof e.text - 1);
  return error(e);
}

[[noreturn]] inline void fail(gemel_status status, const std::string &text) {
  throw failure({"", 0}, status, text);
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
  /* "operation swish(x) { return x * sigmoid(x) }" */
  void define(const std::string &operations) {
    gemel_error e;
    check(gemel_define_operations(get(), operations.data(), operations.size(), "", &e), e);
  }
};

/* Rules for gemel_rewrite_options. */
class rules : public handle<gemel_rules, gemel_rules_ref, gemel_rules_unref> {
public:
  static rules parse(const std::string &text, const context &c) {
    gemel_error e;
    return rules(gemel_rules_parse(c.get(), text.data(), text.size(), "", &e), e);
  }
  static rules load(const std::string &path, const context &c) {
    gemel_error e;
    return rules(gemel_rules_load(c.get(), path.c_str(), &e), e);
  }

private:
  rules(gemel_rules *object, const gemel_error &e) : handle(object, e) {
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
  /* Zeros. Of dtypes that C++ has no type for, too. */
  tensor(gemel_dtype dtype, const std::vector<int64_t> &shape)
      : handle(gemel_tensor_new(dtype, static_cast<int>(shape.size()), shape.data(), &room()),
               room()) {
  }
  /* A copy of ELEMENTS in row-major order, in SHAPE or as one axis. */
  template <class T>
  tensor(const std::vector<T> &elements, const std::vector<int64_t> &shape)
      : tensor(dtype_of<T>(), shape) {
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
    if (!*this || dtype() != dtype_of<T>()) {
      fail(GEMEL_BAD_TYPE, std::string("elements of ") + gemel_dtype_name(dtype()) + " are not " +
                               gemel_dtype_name(dtype_of<T>()));
    }
    tensor packed = on(gemel_host()); /* row-major */
    const T *from = static_cast<const T *>(gemel_tensor_data(packed.get()));
    return std::vector<T>(from, from + gemel_tensor_elements(packed.get()));
  }
  /* A row-major copy in DEVICE's memory. */
  tensor on(const gemel_device *device) const {
    gemel_error e;
    return tensor(gemel_tensor_transfer(get(), device, &e), e);
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

/* ---- Files ---- */

inline tensor load_npy(const std::string &path) {
  gemel_error e;
  return tensor(gemel_npy_load(path.c_str(), &e), e);
}
inline void save_npy(const std::string &path, const tensor &t) {
  gemel_error e;
  gemel_view view = gemel_tensor_view(t.get());
  check(gemel_npy_save(t ? &view : nullptr, path.c_str(), &e), e);
}

/* Tensors by their names, as in a file. */
class tensors : public std::map<std::string, tensor> {
public:
  using std::map<std::string, tensor>::map;
  /* The tensor called NAME; the exception otherwise says which there are. */
  const tensor &at(const std::string &name) const {
    auto found = find(name);
    return found != end() ? found->second : missing(name);
  }
  tensor &at(const std::string &name) {
    auto found = find(name);
    return found != end() ? found->second : missing(name);
  }

private:
  [[noreturn]] tensor &missing(const std::string &name) const {
    std::string text = "there is no tensor called '" + name + "'";
    const char *between = "; there are ";
    for (const auto &[other, t] : *this) {
      text += between + other;
      between = ", ";
    }
    fail(GEMEL_NOT_FOUND, text);
  }
};

namespace detail {
inline tensors load(decltype(gemel_npz_load) *loader, const std::string &path) {
  gemel_error e;
  char **names = nullptr;
  gemel_tensor **list = nullptr;
  std::size_t count = 0;
  check(loader(path.c_str(), &count, &names, &list, &e), e);
  auto release = [count, list](char **n) { gemel_npz_free(count, n, list); };
  std::unique_ptr<char *, decltype(release)> all(names, release);
  tensors result;
  for (std::size_t k = 0; k < count; k++) {
    result[names[k]] = tensor(gemel_tensor_ref(list[k]));
  }
  return result;
}
inline void save(decltype(gemel_npz_save) *saver, const std::string &path, const tensors &named) {
  gemel_error e;
  std::vector<const char *> names;
  std::vector<gemel_tensor *> list;
  for (const auto &[name, t] : named) {
    names.push_back(name.c_str());
    list.push_back(t.get());
  }
  check(saver(list.size(), names.data(), list.data(), path.c_str(), &e), e);
}
} // namespace detail

inline tensors load_npz(const std::string &path) {
  return detail::load(gemel_npz_load, path);
}
inline void save_npz(const std::string &path, const tensors &named) {
  detail::save(gemel_npz_save, path, named);
}
inline tensors load_safetensors(const std::string &path) {
  return detail::load(gemel_safetensors_load, path);
}
inline void save_safetensors(const std::string &path, const tensors &named) {
  detail::save(gemel_safetensors_save, path, named);
}

namespace detail {
/* The text of ID, however long, by FORMAT: gemel_dim_format or gemel_type_format. */
template <class Format, class Id>
std::string whole_text(Format *format, gemel_context *context, Id id) {
  std::string text(format(context, id, nullptr, 0), '\0');
  format(context, id, &text[0], text.size() + 1);
  return text;
}
} // namespace detail

/* ---- Shared variables ---- */

class shared : public handle<gemel_shared, gemel_shared_ref, gemel_shared_unref> {
public:
  /* Takes over the reference that a function of C returned. */
  explicit shared(gemel_shared *object)
      : handle(object, {GEMEL_BAD_ARGUMENT, 0, 0, "no shared variable"}) {
  }
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

/* ---- Sizes ---- */

/* A size: a number, or an expression over symbols, which lives as long as its context. Quotients
 * are rounded down. */
class dim {
public:
  template <class T, class = std::enable_if_t<std::is_integral<T>::value>>
  dim(T n) : number_(static_cast<int64_t>(n)) {
  }
  dim(gemel_context *context, gemel_dim id) : context_(context), id_(id) {
    if (gemel_dim_is_none(id)) {
      fail(GEMEL_BAD_ARGUMENT, "no size");
    }
  }
  /* The dim of C. */
  gemel_dim in(gemel_context *context) const {
    gemel_dim id = context_ != nullptr ? id_ : gemel_dim_constant(context, number_);
    if (gemel_dim_is_none(id)) {
      fail(GEMEL_NO_MEMORY, "out of memory for a size");
    }
    return id;
  }
  std::string text() const {
    return context_ == nullptr ? std::to_string(number_)
                               : detail::whole_text(gemel_dim_format, context_, id_);
  }
  /* The number that it is, if it is one. */
  std::optional<int64_t> known() const {
    int64_t n = number_;
    bool is = context_ == nullptr || gemel_dim_is_constant(context_, id_, &n);
    return is ? std::optional<int64_t>(n) : std::nullopt;
  }
  /* NULL of a number of C++, which number() is. */
  gemel_context *context() const noexcept {
    return context_;
  }
  int64_t number() const noexcept {
    return number_;
  }

private:
  gemel_context *context_ = nullptr;
  gemel_dim id_ = GEMEL_DIM_NONE;
  int64_t number_ = 0;
};

/* One of the two is no number of C++: its context is the result's. */
#define GEMEL__CPP_DIM(op, function)                                                               \
  inline dim operator op(const dim &a, const dim &b) {                                             \
    gemel_context *c = a.context() != nullptr ? a.context() : b.context();                         \
    if (c == nullptr) {                                                                            \
      throw failure({"", 0}, GEMEL_BAD_ARGUMENT,                                                   \
                    "two numbers are no size of a graph: compute in C++");                         \
    }                                                                                              \
    return dim(c, function(c, a.in(c), b.in(c)));                                                  \
  }
GEMEL__CPP_DIM(+, gemel_dim_add)
GEMEL__CPP_DIM(-, gemel_dim_sub)
GEMEL__CPP_DIM(*, gemel_dim_mul)
GEMEL__CPP_DIM(/, gemel_dim_floordiv)
#undef GEMEL__CPP_DIM

/* 1 if they are provably the same. */
inline bool operator==(const dim &a, const dim &b) {
  gemel_context *c = a.context() != nullptr ? a.context() : b.context();
  return c == nullptr ? a.number() == b.number() : a.in(c) == b.in(c);
}
inline bool operator!=(const dim &a, const dim &b) {
  return !(a == b);
}

/* Sizes, as of a shape: {2, x.shape()[0]}. */
struct dims : std::vector<dim> {
  dims() = default;
  dims(std::initializer_list<dim> list) : std::vector<dim>(list) {
  }
  dims(const std::vector<int64_t> &numbers) : std::vector<dim>(numbers.begin(), numbers.end()) {
  }
  std::vector<gemel_dim> in(gemel_context *context) const {
    std::vector<gemel_dim> result;
    for (const dim &d : *this) {
      result.push_back(d.in(context));
    }
    return result;
  }
};

} // namespace gemel

#endif
