# SPDX-License-Identifier: MIT
"""Arrays of NumPy's as tensors and back: the same memory, every dtype, and what is refused."""
import array
import copy
import ctypes
import gc
import hashlib
import pickle
import sys

import numpy as np
import pytest

import gemel

NUMPY = {"bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8,
         "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "f32": np.float32, "f64": np.float64}


@pytest.mark.parametrize("name", NUMPY)
def test_buffers_share_memory(name):
    there = np.arange(6).astype(NUMPY[name]).reshape(2, 3)
    tensor = gemel.Tensor(there)
    assert tensor.dtype == name and tensor.dtype == NUMPY[name] and tensor.shape == (2, 3)
    back = np.asarray(tensor)
    assert back.dtype == there.dtype and np.shares_memory(back, there) and (back == there).all()
    assert tensor.tolist() == there.tolist()


@pytest.mark.parametrize("name", [n for n in NUMPY if n != "bool"])
def test_dlpack_shares_memory_both_ways(name):
    there = np.arange(6).astype(NUMPY[name])

    class Lender:  # has DLPack alone
        def __dlpack__(self, **options):
            return there.__dlpack__()

        def __dlpack_device__(self):
            return there.__dlpack_device__()

    tensor = gemel.Tensor(Lender())
    assert tensor.dtype == name
    back = np.from_dlpack(tensor)
    assert np.shares_memory(back, there) and (back == there).all()


def test_buffers_without_strides():
    tensor = gemel.Tensor((ctypes.c_double * 3)(1, 2, 3))
    assert tensor.tolist() == [1, 2, 3] and tensor.dtype == "f64"
    assert gemel.Tensor(((ctypes.c_int32 * 2) * 3)()).shape == (3, 2) and gemel.Tensor(ctypes.c_double(3)).tolist() == 3
    assert gemel.Tensor((ctypes.c_uint8 * 0)()).shape == (0,)
    for wrong in (np.datetime64("now"), np.timedelta64(3), np.array(["2020"], "M8[D]"), (ctypes.c_void_p * 2)()):
        with pytest.raises(TypeError):
            gemel.as_tensor(wrong)


def test_tensors_are_pickled_and_calculated_with():
    for tensor in (gemel.as_tensor([[1.5, 2]], "f32"), gemel.as_tensor([1.5], gemel.bf16), gemel.Tensor(np.arange(4)[::-2])):
        again = pickle.loads(pickle.dumps(tensor))
        assert again.tolist() == tensor.tolist() and again.dtype == tensor.dtype and again.shape == tensor.shape
    assert copy.copy(gemel.as_tensor(3.0)).item() == 3 and f"{gemel.as_tensor(2.0):.2f}" == "2.00"
    t = gemel.as_tensor([1.0, 2.0])
    assert ((t + 1).tolist(), (2 * t).tolist(), (1 - t).tolist(), (-t / 2).tolist(), np.exp(t * 0).tolist()) == (
        [2, 3], [2, 4], [0, -1], [-0.5, -1], [1, 1])
    shared = pickle.loads(pickle.dumps(gemel.Shared(np.ones(2), "w")))
    assert shared.name == "w" and shared.value.tolist() == [1, 1]
    for wrong in ("x", (1, 2, 3)):
        with pytest.raises(TypeError):
            t.__dlpack__(max_version=wrong)
    with pytest.raises(BufferError):
        t.__dlpack__(dl_device=(2, 0))


def test_strides_are_kept():
    there = np.arange(24, dtype="f4").reshape(4, 6)[::-2, 1::2].T
    tensor = gemel.Tensor(there)
    assert np.shares_memory(np.asarray(tensor), there) and (np.asarray(tensor) == there).all()
    with pytest.raises(BufferError):
        hashlib.sha1(tensor)  # asks for elements in row-major order
    assert hashlib.sha1(gemel.as_tensor([1, 2])).digest() == hashlib.sha1(np.array([1, 2])).digest()
    double = gemel.function(lambda x: x + x, gemel.f32["N", "M"])
    assert (np.asarray(double(there)) == 2 * there).all()


def test_read_only_memory_stays_so():
    there = np.arange(3.0)
    there.flags.writeable = False
    tensor = gemel.Tensor(there)
    assert memoryview(tensor).readonly and not np.asarray(tensor).flags.writeable
    assert gemel.Tensor(b"abc").tolist() == [97, 98, 99]
    with pytest.raises(TypeError):
        memoryview(gemel.Tensor(b"abc"))[0] = 1
    with pytest.raises(BufferError):
        tensor.__dlpack__()
    variable = gemel.Shared(np.zeros(2))
    assert not np.asarray(variable.value).flags.writeable


def test_memory_lives_as_long_as_it_is_used():
    there = np.arange(3.0)
    count = sys.getrefcount(there)
    tensor = gemel.Tensor(there)
    view = np.asarray(tensor)
    del tensor
    gc.collect()
    assert sys.getrefcount(there) == count + 1 and view.tolist() == [0, 1, 2]
    del view
    gc.collect()
    assert sys.getrefcount(there) == count


def test_what_is_no_array_is_refused():
    for wrong in (np.array(["a"]), np.array([1j]), np.array([{}]), np.zeros(2, ">f4"), object(), "text",
                  np.zeros((1,) * 17), [[1], [2, 3]], [1, "a"], [1 << 70], {1: 2}, None):
        with pytest.raises((TypeError, ValueError)):
            gemel.as_tensor(wrong)


def test_unaligned_elements_are_copied():
    record = np.zeros(3, dtype=np.dtype([("a", "u1"), ("b", "<f8")]))
    record["b"] = [1, 2, 3]
    assert gemel.Tensor(record["b"]).tolist() == [1, 2, 3]


def test_numbers_and_lists():
    assert gemel.as_tensor(True).dtype == gemel.bool_ and gemel.as_tensor([1, 2]).dtype == gemel.i64
    assert gemel.as_tensor([[1.5], [2]]).tolist() == [[1.5], [2.0]]
    assert gemel.as_tensor([], "f32").shape == (0,) and gemel.as_tensor([[], []]).shape == (2, 0)
    assert gemel.as_tensor([[], []]).tolist() == [[], []]
    assert gemel.as_tensor([1.5, float("nan"), 3.0e38, 65280], gemel.bf16).tolist()[3] == 65280
    assert str(gemel.as_tensor([1.00390625, 1.01171875], gemel.bf16).tolist()) == "[1.0, 1.015625]"  # ties to even
    assert gemel.as_tensor(array.array("d", [1, 2])).tolist() == [1, 2]
    assert gemel.as_tensor((1, 2)).tolist() == [1, 2] and gemel.as_tensor(np.float32(2)).dtype == "f32"


def test_tensors_are_numbers_where_they_hold_one():
    one = gemel.as_tensor(2.5)
    assert float(one) == 2.5 and int(one) == 2 and bool(one) and one.item() == 2.5
    with pytest.raises(ValueError):
        float(gemel.as_tensor([1.0, 2.0]))
    with pytest.raises(TypeError):
        len(one)
    assert [float(x) for x in gemel.as_tensor([1.0, 2.0])] == [1, 2]
    assert (gemel.as_tensor([1.0, 2.0])[1:] == [2]).all()
    assert repr(gemel.as_tensor([1, 2])) == "Tensor([1, 2], i64[2])"


def test_dtypes_by_other_names():
    for name in (np.float32, np.dtype("f4"), "float32", "f32", "torch.float32", gemel.f32):
        assert gemel.dtype(name) is gemel.f32
    for wrong in ("float128", object, 3):
        with pytest.raises(TypeError):
            gemel.dtype(wrong)
    assert gemel.f32 != "f64" and gemel.f32 != 3


def test_native_functions_refuse_what_is_no_call_of_the_package():
    from gemel import _native

    graph = gemel.Graph()
    for call in (lambda: _native.build(0, (), None, "", 0, 0), lambda: _native.build(-1, (), None, "", 0, 0),
                 lambda: _native.build(1 << 20, (1,), None, "", 0, 0), lambda: _native.tensor_of_bytes("f32", (3,), b""),
                 lambda: _native.tensor_of_bytes("f32", (-1,), b""), lambda: _native.tensor_of_bytes("x", (), b""),
                 lambda: _native.Function(graph, (1,), 0, 0, 0, 0, 0), lambda: _native.Graph.read((), "text", None, None, None, None, {}),
                 lambda: _native.Graph.read(3, "text", None, b"", None, None, {}), lambda: _native.Value().shape,
                 lambda: _native.Dim() + 1, lambda: _native.Graph().node_count / 0, lambda: _native.load_dump("/nowhere"),
                 lambda: _native.tensor_of_bytes("f32", tuple([1] * 17), b"1234")):
        with pytest.raises((TypeError, ValueError, SystemError, ZeroDivisionError, gemel.Error)):
            call()
