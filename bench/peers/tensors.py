#!/usr/bin/env python3
"""Tensors handed to and from NumPy and PyTorch by DLPack, and safetensors files beside the format's own library.

The shared library is called with ctypes. By DLPack, of each dtype and a few shapes: the elements lie at the same address
on both sides, are the same, and are kept as long as who received them holds them. By safetensors: gemel reads what the
package safetensors wrote, and writes the same bytes. One line for each pair of libraries; the exit status is 1 if
anything differs.

    tensors.py --library ./libgemel.so

Python 3.9 or later; numpy, torch and safetensors from PyPI. Never needed to build or test gemel.
SPDX-License-Identifier: MIT
"""

import argparse
import ctypes
import gc
import os
import sys
import tempfile
import weakref

import numpy
import safetensors.torch
import torch

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64"]
SHAPES = [(), (0,), (7,), (2, 3), (1, 1, 5), (3, 0, 2), (2, 3, 4, 5)]
NAME, USED = b"dltensor_versioned", b"used_dltensor_versioned"  # a capsule keeps the pointer to its name


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("line", ctypes.c_int), ("column", ctypes.c_int), ("text", ctypes.c_char * 1012)]


class Gemel:
    """What is needed of the library; a failure is an exception."""

    def __init__(self, path):
        self.library, self.error = ctypes.CDLL(path), Error()

    def pointer(self, name, *arguments):
        function = self.library[name]
        function.restype = ctypes.c_void_p
        made = function(*arguments, ctypes.byref(self.error))
        if not made:
            raise RuntimeError(f"{name}: {self.error.text.decode()}")
        return made

    def status(self, name, *arguments):
        if self.library[name](*arguments, ctypes.byref(self.error)):
            raise RuntimeError(f"{name}: {self.error.text.decode()}")

    def data(self, tensor):
        self.library.gemel_tensor_data.restype = ctypes.c_void_p
        return self.library.gemel_tensor_data(ctypes.c_void_p(tensor)) or 0

    def unref(self, tensor):
        self.library.gemel_tensor_unref(ctypes.c_void_p(tensor))


def capsule_pointer(capsule):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    pointer = get(capsule, NAME)
    rename = ctypes.pythonapi.PyCapsule_SetName
    rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
    rename(capsule, USED)
    return pointer


class Lent:
    """A tensor of gemel as Python's protocol wants it."""

    def __init__(self, gemel, tensor):
        self.gemel, self.tensor = gemel, tensor

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **_):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(self.gemel.pointer("gemel_tensor_to_dlpack", ctypes.c_void_p(self.tensor), ctypes.c_uint64(0)), NAME, None)


def samples(library):
    """Arrays of each dtype and shape, and two that aren't row-major: a transpose, and every second element."""
    for dtype in DTYPES:
        if library is numpy and dtype == "bfloat16":
            continue
        for shape in SHAPES:
            count = int(numpy.prod(shape))
            yield (numpy.arange(count) % 2).reshape(shape).astype(dtype) if library is numpy else torch.arange(count).reshape(shape).to(getattr(torch, dtype))
    yield library.arange(24).reshape(4, 6).T
    yield library.arange(24)[::2]


def same(a, b):
    raw = [numpy.ascontiguousarray(x).tobytes() if isinstance(x, numpy.ndarray) else x.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
           for x in (a, b)]
    return a.shape == b.shape and a.dtype == b.dtype and raw[0] == raw[1]


def address(array):
    return array.ctypes.data if isinstance(array, numpy.ndarray) else array.data_ptr()


def round_trip(gemel, library, array):
    """The array goes to gemel and comes back: what is wrong, or None."""
    where, expected = address(array), array.copy() if library is numpy else array.clone()
    count = expected.size if library is numpy else expected.numel()
    capsule = array.__dlpack__(max_version=(1, 0))
    tensor = gemel.pointer("gemel_tensor_from_dlpack", ctypes.c_void_p(capsule_pointer(capsule)))
    alive = weakref.ref(array) if library is numpy else None
    del array, capsule
    gc.collect()
    back = library.from_dlpack(Lent(gemel, tensor))
    if count and (gemel.data(tensor) != where or address(back) != where):
        return "copied"
    gemel.unref(tensor)
    gc.collect()
    if alive is not None and count and alive() is None:
        return "released while it is held"
    wrong = None if same(back, expected) else "other elements"
    del back
    gc.collect()
    return wrong if alive is None or alive() is None else wrong or "kept when nobody holds it"


def dlpack(gemel, library):
    tried, bad, pending = 0, 0, list(samples(library))
    while pending:
        shown = f"{library.__name__} {pending[-1].dtype} {tuple(pending[-1].shape)}"
        tried += 1
        wrong = round_trip(gemel, library, pending.pop())
        if wrong:
            print(f"{shown}: {wrong}")
            bad += 1
    print(f"dlpack, {library.__name__} {library.__version__}: {tried} arrays, {bad} wrong")
    return bad


def safetensors_file(gemel, folder):
    named = {f"{dtype}.{k}": torch.arange(int(numpy.prod(shape))).reshape(shape).to(getattr(torch, dtype))
             for dtype in DTYPES for k, shape in enumerate(SHAPES)}
    theirs, ours = os.path.join(folder, "theirs.safetensors").encode(), os.path.join(folder, "ours.safetensors").encode()
    safetensors.torch.save_file(named, theirs.decode())
    names, tensors, count = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
    gemel.status("gemel_safetensors_load", theirs, ctypes.byref(names), ctypes.byref(tensors), ctypes.byref(count))
    gemel.status("gemel_safetensors_save", ours, names, tensors, count)
    gemel.library.gemel_npz_free(names, tensors, count)
    read = safetensors.torch.load_file(ours.decode())
    bad = sum(name not in read or not same(read[name], tensor) for name, tensor in named.items())
    with open(theirs, "rb") as a, open(ours, "rb") as b:
        identical = a.read() == b.read()
    print(f"safetensors {safetensors.__version__}: {len(named)} tensors, {bad} wrong, files {'identical' if identical else 'differ'}")
    return bad + (not identical)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", default="./libgemel.so")
    gemel = Gemel(os.path.abspath(parser.parse_args().library))
    with tempfile.TemporaryDirectory() as folder:
        bad = dlpack(gemel, numpy) + dlpack(gemel, torch) + safetensors_file(gemel, folder)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
