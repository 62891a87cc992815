#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Made the files in tests/corpus/npy with NumPy 2.4.6. Needed neither to build nor to test; run it in
# that folder to make them anew. Element k of every array, in row-major order, is 3 k - 4 in its dtype
# (bool: k odd), which tests/t-npy.c knows.
import numpy as np

dtypes = "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8".split()


def values(shape, dtype):
    n = int(np.prod(shape, dtype=int))
    k = np.arange(n)
    flat = (k % 2 == 1) if dtype == "b1" else (3 * k - 4)
    with np.errstate(all="ignore"):
        return flat.astype(dtype).reshape(shape)


for d in dtypes:
    np.save(f"{d}-2x3.npy", values((2, 3), d))
np.save("f4-fortran-2x3x4.npy", np.asfortranarray(values((2, 3, 4), "f4")))
np.save("f8-scalar.npy", values((), "f8"))
np.save("i4-empty-0x5.npy", values((0, 5), "i4"))
np.save("i4-one-7.npy", values((7,), "i4"))
for version in (2, 3):
    with open(f"i2-version{version}.npy", "wb") as f:
        np.lib.format.write_array(f, values((2, 2), "i2"), version=(version, 0))
np.save("bad-bigendian.npy", values((2, 3), "f4").astype(">f4"))
np.save("bad-complex.npy", values((2, 3), "f4").astype("c8"))
np.save("bad-structure.npy", np.zeros(2, dtype=[("a", "i4"), ("b", "f4")]))
np.save("bad-object.npy", np.array([None, 1], dtype=object), allow_pickle=True)
np.save("bad-text.npy", np.array(["a", "b"]))
np.savez("stored.npz", x=values((2, 3), "f4"), y=values((4,), "i8"), empty=values((0,), "f8"))
np.savez_compressed("bad-compressed.npz", x=values((20, 30), "f4"))
