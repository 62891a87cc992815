/* SPDX-License-Identifier: MIT
 *
 * Rows of gemel's own operations: what a context knows of an operation beyond its public record.
 * The tables are lib/ops/ops.def and scalar.def; ops/ops.h says how a row finds its code.
 */
#ifndef GEMEL__CORE_ROWS_H
#define GEMEL__CORE_ROWS_H

#include <gemel/operation.h>
#include "core/ids.h"

/* What a hook for facts sees, see ops/facts.h. */
typedef struct gemel__fact_call gemel__fact_call;
typedef unsigned (*gemel__fact_rule)(const gemel__fact_call *call);

/* What a hook BATCH sees, see ops/batch.h. GEMEL_DECLINED: it can't do that for all rows. */
typedef struct gemel__batch gemel__batch;
typedef gemel_status (*gemel__batch_rule)(gemel__batch *call);

typedef struct gemel__hooks {
  gemel_status (*infer)(gemel_infer *call);
  gemel_status (*grad)(gemel_derive *call);
  gemel_status (*jvp)(gemel_derive *call);
  const gemel_kernel *kernels;
  gemel_status (*view)(const gemel_kernel_call *call, int64_t *shape, int64_t *strides,
                       int64_t *offset);
  void (*cost)(const gemel_kernel_call *call, double *flops, double *bytes);
  gemel_status (*normalize)(gemel_normalize *call);
  int overwrites;                                      /* as in gemel_operation */
  int (*channels_last)(const gemel_kernel_call *call); /* as in gemel_operation */
  gemel__fact_rule facts; /* what holds of every element of the result; NULL: nothing is known */
  int moves; /* 1 + the operand whose elements the results' are, in other places; 0: none is */
  /* The axis along which the result, of RANK, has the operands one behind the other. An operand may
   * then lie there already, and the kernels leave it alone. NULL: it hasn't. */
  int (*joins)(const gemel_attr *attrs, int rank);
  /* The elementwise operation that kernels may do with the result and a number for each channel
   * (core/nested.h); 0: none. */
  int takes;
  gemel__batch_rule batch; /* NULL: only for one row after another */
  /* 1 if a node with ATTRS runs its bodies on whatever device its operands lie: its kernels, which
   * are every device's then, ask that for the bodies' kernels, copies and fills, and read no value.
   * NULL: never. */
  int (*follows)(const gemel_attr *attrs);
  int64_t (*steps)(const gemel_kernel_call *call); /* how often it runs them, -1 if that isn't
                                                        known; NULL: once */
  void (*release)(void *derived); /* frees gemel__op.derived; NULL: there is none */
} gemel__hooks;

/* Families: the files that hold an operation's code are called after its family. */
#define GEMEL__FAMILY_TABLE(X)                                                                     \
  X(along)                                                                                         \
  X(bits)                                                                                          \
  X(conv)                                                                                          \
  X(elementwise)                                                                                   \
  X(index)                                                                                         \
  X(invoke)                                                                                        \
  X(linalg)                                                                                        \
  X(pool)                                                                                          \
  X(random)                                                                                        \
  X(reduce)                                                                                        \
  X(scan)                                                                                          \
  X(search)                                                                                        \
  X(shape)                                                                                         \
  X(softmax)                                                                                       \
  X(solve)                                                                                         \
  X(source)                                                                                        \
  X(take)                                                                                          \
  X(transfer)

typedef enum gemel__family {
#define GEMEL__FAMILY_ENUM(name) GEMEL__FAMILY_##name,
  GEMEL__FAMILY_TABLE(GEMEL__FAMILY_ENUM)
#undef GEMEL__FAMILY_ENUM
} gemel__family;

/* What rows of both kinds have in common. */
struct gemel__row {
  const char *name, *inputs, *attrs, *law, *summary;
  unsigned flags;
  gemel__family family;
  const gemel__hooks *hooks;
};

/* What dtypes a scalar operation takes and gives; operands are promoted to one dtype first. */
typedef enum gemel__type_code {
  GEMEL__TYPE_ARITH,    /* any dtype, gives the same */
  GEMEL__TYPE_NUMBER,   /* any but bool, gives the same */
  GEMEL__TYPE_INTEGER,  /* integers, not bool, gives the same */
  GEMEL__TYPE_REAL,     /* floats; i8 u8 bool become f16, i16 u16 f32, wider integers f64 (NumPy) */
  GEMEL__TYPE_QUOTIENT, /* floats; integers and bool become f64 (NumPy's true division) */
  GEMEL__TYPE_COMPARE,  /* any dtype, gives bool */
  GEMEL__TYPE_LOGIC,    /* operands are made bool first, gives bool */
  GEMEL__TYPE_SELECT,   /* operand 0 is made bool, the others promoted; gives the latter */
  GEMEL__TYPE_CAST      /* attribute dtype says what it gives */
} gemel__type_code;

/* A row of scalar.def, as C sees it (what kernels need is in lib/ops/elementwise*.c). */
typedef struct gemel__scalar_row {
  const char *name;
  const char *inputs; /* "x, y" */
  gemel__type_code code;
  const char *c_text;   /* the C expression for floats, as text (for device code) */
  const char *grads[3]; /* derivative texts in x, y, z, r (the result), g; "" = zero */
  gemel_range ranges[3];
  double ulp; /* accuracy of the float kernels, units in the last place */
  int n_inputs;
  int index; /* its place in scalar.def */
} gemel__scalar_row;

enum {
#define SCALAR(name, ...) GEMEL__SCALAR_##name,
#include "ops/scalar.def"
#undef SCALAR
  GEMEL__SCALAR_COUNT
};

extern const gemel__scalar_row gemel__scalar_rows[GEMEL__SCALAR_COUNT];

/* 1 if DATA is one of these. */
int gemel__is_scalar_row(const void *data);

/* Among the flags of an operation's record in a context: its data is a row of scalar.def. */
enum { GEMEL__OP_SCALAR = 1 << 30 };

/* If RECORD, of a context, is an elementwise row of scalar.def, that row; else NULL. */
const gemel__scalar_row *gemel__scalar_row_of(const gemel_operation *record);

/* The dtype to which operands of these dtypes are promoted under CODE, per operand in OPERANDS, and
 * the result's dtype. CAST_TO is the dtype attribute of a cast. GEMEL_BAD_TYPE if CODE refuses. */
gemel_status gemel__scalar_dtypes(gemel__type_code code, size_t n, const gemel_dtype *given,
                                  gemel_dtype cast_to, gemel_dtype *operands, gemel_dtype *result);

/* A scalar kernel: N contiguous elements, each input contiguous, all of the operation's one operand
 * dtype (SELECT: input 0 is bool); OUT may be the same memory as an input of elements at least as
 * wide. For a cast OPERAND is the source dtype and RESULT the target. f16 and bf16 have kernels for
 * cast (all pairs of dtypes, rounded once) and where only: for the others the engine converts to
 * f32 and back. */
typedef void (*gemel__scalar_kernel)(size_t n, void *out, const void *const *in);

#endif
