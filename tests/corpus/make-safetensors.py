#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Made the files in tests/corpus/safetensors with safetensors 0.8.0, NumPy 2.4.6 and, for bf16, ml_dtypes. Needed
# neither to build nor to test; run it in that folder to make them anew. Element k of every array, in
# row-major order, is 3 k - 4 in its dtype (bool: k odd), which tests/t-safetensors.c knows.
import json
import struct

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file


def values(shape, dtype):
    k = np.arange(int(np.prod(shape, dtype=int)))
    flat = (k % 2 == 1) if dtype == np.bool_ else (3 * k - 4)
    return flat.astype(dtype).reshape(shape)


dtypes = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8".split()
every = {np.dtype(d).name: values((2, 3), np.dtype(d)) for d in dtypes}
every["bfloat16"] = values((2, 3), ml_dtypes.bfloat16)
every["scalar"] = values((), np.float64)
every["empty"] = values((0, 5), np.int32)
every['qu"ote\\\té\x01/'] = values((4,), np.int16)
save_file(every, "dtypes.safetensors")
save_file({"w": values((2, 3), np.float32)}, "metadata.safetensors", metadata={"format": "np", "{": '"'})
save_file({}, "none.safetensors")
# By hand: data that isn't aligned to its elements, which other writers may leave, and escapes in names.
data = values((2, 3), np.float32).tobytes() + values((3,), np.uint8).tobytes() + values((2,), np.float64).tobytes()
header = '{"f":{"dtype":"F64","shape":[2],"data_offsets":[27,43]}, "\\u0062\\u00e9\\ud83d\\ude00" :' + json.dumps(
    {"data_offsets": [24, 27], "shape": [3], "dtype": "U8"}) + " " + ',"a":{"shape":[2,3],"dtype":"F32","data_offsets":[0,24]}}'
with open("unaligned.safetensors", "wb") as f:
    f.write(struct.pack("<Q", len(header)) + header.encode() + data)
