# calls.awk: from <gemel/ops.h>, a function for each builder that calls it with a value for each operand,
# no list, and without options or with those that it is given, so that the compiler has a reason to look inside each call. Usage: awk -f calls.awk ops.h > calls.c. SPDX-License-Identifier: MIT

function argument(parameter) {
  if (parameter ~ /^gemel_graph \*graph$/) return "graph"
  if (parameter ~ /^const gemel_value /) return "&x"
  if (parameter ~ /\*/) return "NULL"
  if (parameter ~ /^gemel_value /) return "x"
  if (parameter ~ /^gemel_dtype /) return "GEMEL_F32"
  if (parameter ~ /^gemel_dim /) return "gemel_dim_of(x)"
  return parameter ~ /^size_t n_/ ? "0" : "1"
}

BEGIN {
  print "#include <gemel/gemel.h>"
}

/^static inline gemel_value gemel_[a-z_0-9]*_at\(/ {
  name = $4
  sub(/_at\(.*/, "", name)
  sub(/^[^(]*\(/, "")
  sub(/, gemel_location where.*/, "")
  options = ""
  if (match($0, /, const gemel_[a-z_0-9]*_options \*options/)) {
    options = substr($0, RSTART + 2, RLENGTH - 2)
    $0 = substr($0, 1, RSTART - 1)
  }
  count = split($0, parameters, /, /)
  arguments = ""
  for (i = 1; i <= count; i++) {
    arguments = arguments (i > 1 ? ", " : "") argument(parameters[i])
  }
  head = "gemel_value call_" name "(gemel_graph *graph, gemel_value x)"
  print "\n" head ";\n" head " {\n  (void)graph;\n  (void)x;\n  return " name "(" arguments ");\n}"
  if (options != "") {
    head = "gemel_value call_" name "_at(gemel_graph *graph, gemel_value x, " options ")"
    print "\n" head ";\n" head " {\n  (void)graph;\n  (void)x;\n  return " name "_at(" arguments ", options, GEMEL_HERE);\n}"
  }
}
