# SPDX-License-Identifier: MIT
"""The harness from Python: answers, counterexamples that another runtime confirms, and what ends a call."""
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import gemel

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
SQUARE = ("graph s(x: f32[N], y: f32[N]) { return z = x * x + 2:f32 * x * y + y * y }",
          "graph s(x: f32[N], y: f32[N]) { return z = (x + y) * (x + y) }")


def test_equal():
    answer = gemel.equal(*SQUARE)
    assert answer and answer.verdict == "equal" and set(answer.words) == {"ninf", "reassoc"} and not answer.refused
    assert answer.evidence["real"].how == "field" and answer.counterexample is None and answer.sizes_up_to > 1
    assert list(answer.evidence) == ["real", "integer", "float", "gradient", "special"]
    assert "are the same function, up to ninf, reassoc" in str(answer) and "passed" in answer._repr_html_()


def test_what_is_not_allowed():
    answer = gemel.equal(*SQUARE, allow="ninf")
    assert not answer and answer.verdict == "differs" and answer.refused == ["reassoc"] and "not allowed: reassoc" in str(answer)
    assert gemel.equal(*SQUARE, allow=["ninf", "reassoc"]) and not gemel.equal(*SQUARE, allow="none")
    assert gemel.equal(SQUARE[0], SQUARE[0], allow="none").bitwise
    with pytest.raises(ValueError):
        gemel.equal(*SQUARE, allow="nonsense")


def test_counterexample(tmp_path):
    answer = gemel.equal("graph f(x: i32[N]) { return y = abs(x) }", "graph f(x: i32[N]) { return y = maximum(x, -x - 1:i32) }",
                         counterexample=tmp_path / "c")
    found = answer.counterexample
    assert answer.verdict == "differs" and list(found.inputs) == ["x"] and (tmp_path / "c" / "first" / "graph.gmt").exists()
    x = np.asarray(found.inputs["x"])
    assert x.dtype == np.int32 and (np.asarray(found.first["y"]) == np.abs(x)).all()
    assert (np.asarray(found.second["y"]) == np.maximum(x, -x - 1)).all()
    assert (np.asarray(found.first["y"]) != np.asarray(found.second["y"])).any()
    assert found.first_graph(x).tolist() == found.first["y"].tolist() and "input x" in repr(found)
    assert "REFUTED" in str(answer) and answer.refutation and "differ" in answer.summary
    with pytest.raises(gemel.Error):
        gemel.equal(*SQUARE, allow="none", counterexample=tmp_path / "c")  # is there already


def test_counterexample_in_onnx_runtime():
    ort = pytest.importorskip("onnxruntime")
    answer = gemel.equal(EXAMPLES / "divmul.onnx", EXAMPLES / "divmul_ort.onnx")
    assert answer.verdict == "differs"
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    inputs = {name: np.asarray(tensor) for name, tensor in answer.counterexample.inputs.items()}
    results = [ort.InferenceSession(str(EXAMPLES / name), options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
               for name in ("divmul.onnx", "divmul_ort.onnx")]
    assert (results[0] == np.asarray(answer.counterexample.first["y"])).all()
    assert (results[1] == np.asarray(answer.counterexample.second["y"])).all()
    assert (results[0] != results[1]).any()


def test_tiers_match_and_sizes():
    answer = gemel.equal(*SQUARE, tiers="real,integer")
    assert answer and answer.tiers == ["real", "integer"] and "agree in the tiers that were asked" in answer.summary
    other = SQUARE[1].replace("x", "a").replace("maa", "max")
    with pytest.raises(gemel.Error):
        gemel.equal(SQUARE[0], other)
    assert gemel.equal(SQUARE[0], other, match="x=a") and gemel.equal(SQUARE[0], other, match="place")
    with pytest.raises(ValueError):
        gemel.equal(*SQUARE, tiers="imaginary")
    for wrong in ({"threads": 0}, {"seconds": -1}, {"seconds": float("nan")}, {"seed": -1}, {"seed": 1 << 64}):
        with pytest.raises(ValueError):
            gemel.equal(*SQUARE, **wrong)
    with pytest.raises(ValueError):
        gemel.verify_rules(RULES, instances=-1)
    with pytest.raises(gemel.Error):
        gemel.equal(SQUARE[0], "graph s(x: f32[N]) { return z = x }")
    with pytest.raises(gemel.Error):
        gemel.equal(SQUARE[0], EXAMPLES / "no-such-file.onnx")


def test_inputs_that_nothing_reads(tmp_path):
    pytest.importorskip("onnx.helper")
    from onnx import TensorProto, helper

    def model(*names):
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in names]
        output = helper.make_tensor_value_info("z", TensorProto.FLOAT, [2])
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["z"])], "g", inputs, [output])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])

    assert gemel.equal(model("x", "unused"), model("x")) and gemel.equal(model("x"), model("x", "unused"))


def test_assert_equal():
    assert gemel.assert_equal(*SQUARE)
    with pytest.raises(AssertionError) as raised:
        gemel.assert_equal("graph f(x: f32[N]) { return y = sin(x) }", "graph f(x: f32[N]) { return y = cos(x) }")
    assert "refuted" in str(raised.value).lower() and "graph first" in str(raised.value)


RULES = """
rule twice in canonicalize: neg(neg(x)) => x
rule wrong in canonicalize: x - x => x
"""


def test_rules():
    found = gemel.verify_rules(RULES)
    assert not found and found.refuted == ["wrong"] and list(found.rules) == ["twice", "wrong"]
    assert "wrong: refuted" in str(found) and found.rules["wrong"]["real"].counterexample
    proofs = gemel.prove_rules("rule swap in canonicalize: where(logical_not(c), x, y) => where(c, y, x)\n")
    assert proofs and proofs["swap"].all_ranks and "all sizes" in str(proofs) and len(proofs) == 1
    assert not gemel.prove_rules("rule wrong in canonicalize: x - x => x\n")
    with pytest.raises(gemel.Error) as raised:
        gemel.verify_rules("rule broken in canonicalize: x +")
    assert raised.value.status == "BAD_TEXT" and raised.value.line == 1


def slow_pair():
    """A pair that takes some seconds."""
    rows = "\n".join(f"  a{k + 1} = softmax(matmul_{k % 2}(a{k}, w))" for k in range(12)).replace("matmul_0", "dot").replace("matmul_1", "dot")
    head = "graph g(a0: f32[N, 16], w: f32[16, 16]) {\n"
    return head + rows + "\n  return z = a12\n}", head + rows + "\n  return z = a12 * 2:f32 / 2:f32\n}"


def test_seconds_end_it():
    begun = time.monotonic()
    answer = gemel.equal(*slow_pair(), seconds=1e-6)
    assert time.monotonic() - begun < 20
    assert answer.out_of_time and not answer and answer.verdict == "open"


def test_exceptions_of_progress_end_it():
    class Enough(Exception):
        pass

    calls = []

    def progress(doing):
        calls.append(doing)
        raise Enough(doing)

    rules = "\n".join(f"rule r{k} in canonicalize: x + x + {k} => 2 * x + {k}" for k in range(40))
    for call in (lambda: gemel.equal(*slow_pair(), progress=progress),
                 lambda: gemel.verify_rules(rules, progress=progress), lambda: gemel.prove_rules(rules, progress=progress)):
        before = len(calls)
        with pytest.raises(Enough):
            call()
        assert len(calls) == before + 1 and isinstance(calls[-1], str)
    assert gemel.equal(*SQUARE, progress=lambda doing: None)
    with pytest.raises(TypeError):
        gemel.equal(*slow_pair(), progress=lambda: None)


def test_conversions_that_raise():
    class Bad:
        def __array__(self, *arguments, **options):
            raise KeyError("bad")

        def __gemel_value__(self):
            raise KeyError("bad")

    with pytest.raises(KeyError):
        gemel.as_tensor(Bad())
    with pytest.raises(KeyError):
        gemel.function(lambda x: x + Bad(), gemel.f32["N"])([1.0])


@pytest.mark.parametrize("what", ["equal", "rules", "prove"])
def test_ctrl_c(what, tmp_path, request):
    program = tmp_path / "long.py"
    calls = {"equal": "gemel.equal(*slow_pair())",
             "rules": "gemel.verify_rules(RULES, instances=4000)", "prove": "gemel.prove_rules(RULES)"}
    program.write_text(f"""
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background jobs don't have
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
import gemel
from test_equal import slow_pair
RULES = "\\n".join(f"rule r{{k}} in canonicalize: max(x + {{k}} + y, axes = [0]) => max(y + x + {{k}}, axes = [0])" for k in range(400))
print("begun", flush=True)
try:
    while True:
        {calls[what]}
except KeyboardInterrupt:
    print("interrupted")
""")
    process = subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True)
    request.addfinalizer(process.kill)
    assert process.stdout.readline() == "begun\n"
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    rest, _ = process.communicate(timeout=100)
    assert "interrupted" in rest and process.returncode == 0 and time.monotonic() - begun < 60


def test_four_threads():
    length = gemel.function(lambda x: gemel.sqrt(gemel.sum(x * x)), gemel.f64["N"])
    failures = []

    def work(seed):
        try:
            for k in range(300):
                assert float(length([3.0, 4.0 * seed])) == np.hypot(3, 4 * seed)
            traced = gemel.function(lambda x: x * seed + 1, gemel.f64["N"])
            assert traced([1.0]).tolist() == [seed + 1]
            assert gemel.equal(*SQUARE, seed=seed, threads=1)
            assert gemel.verify_rules(RULES, seed=seed, instances=8, threads=1).refuted == ["wrong"]
        except BaseException as error:  # noqa: B902
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k + 1,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failures


def test_the_lock_is_released():
    """While one thread compares, another one runs."""
    counted = [0]
    done = threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    begun = time.monotonic()
    while time.monotonic() - begun < 0.5:
        gemel.equal(*SQUARE, threads=1)
    done.set()
    thread.join()
    assert counted[0] - before > 50


def memory():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_nothing_is_left_by_many_calls():
    length = gemel.function(lambda x: (gemel.sqrt(gemel.sum(x * x)), x + 1), gemel.f64["N"])
    x = np.ones(1000)
    wrong = gemel.function(lambda x, k: x[k], gemel.f64["N"], gemel.i64)
    w = gemel.Shared(x)

    def calls(n):
        for _ in range(n):
            length(x)
            gemel.Tensor(x).tolist()
            np.from_dlpack(gemel.as_tensor([1.0, 2.0]))
            w.value = x
            with pytest.raises(gemel.Error):
                wrong(x, 5000)

    def graphs(n):
        for _ in range(n):
            graph = gemel.Graph("graph g(x: f32[N]) { return y = x + 1:f32 }")
            with graph, pytest.raises(gemel.Error):
                gemel.sum(graph.inputs["x"], axis=3)
            graph([1.0])

    calls(500)
    graphs(100)
    before = memory()
    calls(10000)
    graphs(400)
    for _ in range(5):
        gemel.equal(*SQUARE, tiers="integer")
    assert memory() - before < 12e6


def test_pytest_plugin(tmp_path):
    (tmp_path / "test_own.py").write_text(f"""
def test_good(gemel_equal):
    assert gemel_equal({SQUARE[0]!r}, {SQUARE[1]!r}).seed == 7
def test_bad(gemel_equal):
    gemel_equal("graph f(x: f32[N]) {{ return y = sin(x) }}", "graph f(x: f32[N]) {{ return y = cos(x) }}")
def test_seed(gemel_seed):
    assert gemel_seed == 7
""")
    run = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "gemel._pytest", "--gemel-seed", "7",
                          str(tmp_path)], capture_output=True, text=True, env={**os.environ, "GEMEL_PYTHON_JUNIT": ""})
    assert "1 failed, 2 passed" in run.stdout and "graph first" in run.stdout
    bad = subprocess.run([sys.executable, "-m", "pytest", "-p", "gemel._pytest", "--gemel-seed", "x", str(tmp_path)],
                         capture_output=True, text=True)
    assert bad.returncode != 0 and "--gemel-seed" in bad.stdout + bad.stderr


def test_the_command():
    run = subprocess.run([sys.executable, "-m", "gemel", "--version"], capture_output=True, text=True)
    assert run.returncode == 0 and run.stdout == f"gemel {gemel.__version__}\n"


def test_an_error_that_depends_on_values_goes_before_one_that_depends_on_sizes():
    table = ("graph f(x: f64[N]) { i = tensor(i64[2], [0, 2])\n return y = take(x, i) }",
             "graph f(x: f64[N]) { a = subtensor(x, start = [0], size = [(min(4, N) + 1)//2], step = [2])\n"
             " return y = broadcast_to(a, shape = [2]) }")
    assert gemel.equal(*table).words == ["widens"]
    assert gemel.equal(table[0].replace("[0, 2]", "[0, 0]"), table[1].replace("min(4, N)", "min(4, N) + 0*N")).verdict == "differs"
