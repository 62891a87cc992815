#!/bin/sh
# The package for Python: tests/python by pytest, with NumPy, and with onnx, ONNX Runtime and mypy where PyPI is reached.
# SPDX-License-Identifier: MIT
tests=$(cd "$(dirname "$0")/python" && pwd)
junit=${GEMEL_JUNIT:-}
. "$(dirname "$0")/command.sh"
package=$(dirname "$gemel")/python
[ -e "$package/gemel/_native.abi3.so" ] || { echo "$self: configure found no headers of Python"; exit 77; }
python=
for candidate in python3 /usr/bin/python3; do
  [ -n "$python" ] || ! $candidate -c 'import numpy, pytest' 2>/dev/null || python=$candidate
done
[ -n "$python" ] || { echo "$self: there is no Python with NumPy and pytest"; exit 77; }
if [ -z "${GEMEL_QUICK:-}" ]; then
  "$python" -m venv --system-site-packages venv >venv.log 2>&1 &&
    venv/bin/pip install -q --disable-pip-version-check mypy onnx onnxruntime >>venv.log 2>&1 && python=$dir/venv/bin/python ||
    { echo "$self: mypy, onnx and onnxruntime can't be had from PyPI:"; tail -2 venv.log; }
fi
export PYTHONPATH="$package" PYTHONDONTWRITEBYTECODE=1
[ -z "$junit" ] || { mkdir -p "$junit" && export GEMEL_PYTHON_JUNIT="$junit/t-python.xml"; }
"$python" -m pytest -q -p no:cacheprovider --rootdir "$tests" "$tests" || fail "some tests fail"
finish "all tests pass"
