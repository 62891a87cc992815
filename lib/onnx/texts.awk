# Makes lib/onnx/texts.def: the domain and name of each operator of onnx.operators.
# SPDX-License-Identifier: MIT
/^operator / {
  domain = $2 ~ /^"/ ? $2 : "\"\""
  name = $2 ~ /^"/ ? $3 : $2
  sub(/\(.*/, "", name)
  printf "    {%s, \"%s\"},\n", domain, name
}
