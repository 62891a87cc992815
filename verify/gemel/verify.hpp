/* SPDX-License-Identifier: MIT
 *
 * From C++17, references for the operations that <gemel/operation.hpp> registers. Needs
 * libgemel-verify. Threads: as <gemel/reference.h>.
 *
 *   gemel::reference(context, "scale_shift", [](const gemel::formula_call &c) {
 *     return c.inputs[1] * c.inputs[0] + c.inputs[2];
 *   });
 */
#ifndef GEMEL_VERIFY_HPP
#define GEMEL_VERIFY_HPP

#include <functional>
#include <memory>
#include <string>
#include <vector>
#include <gemel/gemel.hpp>
#include <gemel/operation.hpp>
#include <gemel/verify.h>

namespace gemel {

/* A reference sees the operands, whose sizes are numbers. */
struct formula_call : attributes {
  std::vector<value> inputs;
  explicit formula_call(const attributes &a) : attributes(a) {
  }
};

namespace detail {
struct own_reference {
  std::function<std::vector<value>(const formula_call &)> build;
  std::size_t n_attrs = 0;
};

inline gemel_status build(gemel_reference_build *call) {
  return guarded(call->error, [call] {
    const own_reference &r = *static_cast<const own_reference *>(call->data);
    formula_call c{attributes(call->attrs, r.n_attrs)};
    c.inputs.assign(call->inputs, call->inputs + call->n_inputs);
    std::vector<value> made = r.build(c);
    if (made.size() > call->n_outputs) {
      fail(GEMEL_BAD_TYPE, "it gives " + std::to_string(made.size()) + " values");
    }
    for (std::size_t k = 0; k < made.size(); k++) {
      call->outputs[k] = made[k];
    }
  });
}

inline void release_reference(const void *data) {
  delete static_cast<const own_reference *>(data);
}
} // namespace detail

/* Gives the program's operation NAME a reference: BUILD, of a formula_call, makes the output, or a
 * vector of outputs, of other operations. It is copied, and what it throws is an error, as in
 * <gemel/operation.hpp>. Throws what gemel_verify_reference says. */
template <class F> void reference(const context &c, const std::string &name, F build) {
  gemel_error e;
  gemel_reference r = {};
  const gemel_operation *op = gemel_operation_find(c.get(), name.c_str());
  auto made = std::make_unique<detail::own_reference>();
  made->build = [build](const formula_call &call) { return detail::several(build(call)); };
  while (op != nullptr && op->attrs != nullptr && op->attrs[made->n_attrs].name != nullptr) {
    made->n_attrs++;
  }
  r.size = sizeof r;
  r.build = detail::build;
  r.data = made.get();
  r.release = detail::release_reference;
  check(gemel_verify_reference(c.get(), name.c_str(), &r, &e), e);
  made.release(); /* the context's now */
}

} // namespace gemel

#endif
