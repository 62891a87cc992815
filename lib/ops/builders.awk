# SPDX-License-Identifier: MIT
#
# Writes <gemel/ops.h>: one builder for each row of scalar.def and ops.def, so that the list of
# operations stands in those files only. Usage: awk -f builders.awk scalar.def ops.def > ops.h
# A row begins with SCALAR( or OP( at the start of a line and ends with a line ending in `")`.

function trim(s) { gsub(/^[ \t\n]+|[ \t\n]+$/, "", s); return s }

function c_type(kind) {
  if (kind == "int") return "int64_t"
  if (kind == "dim") return "gemel_dim"
  if (kind == "float") return "double"
  if (kind == "dtype") return "gemel_dtype"
  if (kind == "string") return "const char *"
  if (kind == "tensor") return "gemel_tensor *"
  if (kind == "graph") return "gemel_graph *"
  return ""
}

function emit(name, inputs, attrs, summary,    n, m, i, j, p, part, kind, an, params, args, body, vec, list, k, nin, fixed, anyv, q, sep) {
  nin = 0; fixed = 0; anyv = ""; params = ""; args = ""; vec = ""
  n = split(inputs, p, ",")
  for (i = 1; i <= n; i++) {
    part = trim(p[i])
    if (part == "" || part ~ /\*$/) continue
    if (part ~ /\.\.\.$/) {
      sub(/\.\.\.$/, "", part); anyv = part
      params = params sep "size_t n_" part ", const gemel_value *" part
      args = args sep "n_" part ", " part
    } else {
      params = params sep "gemel_value " part; args = args sep part
      vec = vec (fixed ? ", " : "") part; fixed++
    }
    sep = ", "
  }
  body = ""; m = 0
  n = split(attrs, q, ",")
  for (i = 1; i <= n; i++) {
    part = trim(q[i]); if (part == "") continue
    an = part; sub(/:.*/, "", an); an = trim(an)
    kind = part; sub(/^[^:]*:/, "", kind); sub(/=.*/, "", kind); kind = trim(kind)
    list = 0
    if (c_type(kind) == "") { list = 1; sub(/s$/, "", kind) }
    k = toupper(kind)
    m++
    if (list) {
      params = params sep "size_t n_" an ", const " c_type(kind) (c_type(kind) ~ /\*$/ ? "const *" : " *") an
      args = args sep "n_" an ", " an
      body = body "  attrs[n_attrs].name = \"" an "\";\n  attrs[n_attrs].kind = GEMEL_ATTR_LIST | GEMEL_ATTR_" k ";\n  attrs[n_attrs].count = n_" an ";\n  attrs[n_attrs].u." (kind == "string" ? "text" : kind) "s = " an ";\n  n_attrs += " an " != NULL;\n"
    } else {
      params = params sep c_type(kind) (c_type(kind) ~ /\*$/ ? "" : " ") an
      args = args sep an
      body = body "  attrs[n_attrs].name = \"" an "\";\n  attrs[n_attrs].kind = GEMEL_ATTR_" k ";\n  attrs[n_attrs].count = 0;\n  attrs[n_attrs++].u." (kind == "int" ? "i" : kind == "float" ? "f" : kind == "string" ? "text" : kind) " = " an ";\n"
    }
    sep = ", "
  }
  if (fixed == 0 && anyv == "") { params = "gemel_graph *graph" sep params; args = "graph" sep args }
  printf "/* %s Inputs: %s. Attributes: %s.\n * Null value on failure, with the error on the graph. */\n", summary, (inputs == "" ? "none" : inputs), (attrs == "" ? "none" : attrs)
  printf "static inline gemel_value gemel_%s_at(%s, gemel_location where) {\n", name, params
  if (m) printf "  gemel_attr attrs[%d];\n  size_t n_attrs = 0;\n", m
  if (anyv != "") q[1] = anyv
  else if (fixed) printf "  gemel_value inputs[%d];\n", fixed
  if (anyv == "") { n = split(vec, p, ", "); for (i = 1; i <= n; i++) printf "  inputs[%d] = %s;\n", i - 1, p[i] }
  printf "%s", body
  printf "  return gemel_apply_at(%s, \"%s\", %s, %s, %s, %s, where);\n}\n", \
    (anyv != "" ? "gemel__graph_of(n_" anyv ", " anyv ")" : fixed ? "gemel__graph_of(" fixed ", inputs)" : "graph"), name, \
    (anyv != "" ? "n_" anyv : fixed), (anyv != "" ? anyv : fixed ? "inputs" : "NULL"), (m ? "n_attrs" : "0"), (m ? "attrs" : "NULL")
  sep = args; gsub(/[a-z_]+/, "&", sep)
  printf "#define gemel_%s(...) gemel_%s_at(__VA_ARGS__, GEMEL_HERE)\n\n", name, name
}

function row(text,    name, s, count, strings, i) {
  name = text; sub(/^[A-Z]+\(/, "", name); sub(/,.*/, "", name)
  count = 0; s = text
  while (match(s, /"([^"\\]|\\.)*"/)) {
    strings[++count] = substr(s, RSTART + 1, RLENGTH - 2)
    rest = substr(s, RSTART + RLENGTH)
    # adjacent literals are one
    while (match(rest, /^[ \t\n]*"([^"\\]|\\.)*"/)) {
      piece = substr(rest, RSTART, RLENGTH); sub(/^[ \t\n]*"/, "", piece); sub(/"$/, "", piece)
      strings[count] = strings[count] piece
      rest = substr(rest, RSTART + RLENGTH)
    }
    s = rest
  }
  if (name == "input" || name == "constant") return
  emit(name, strings[1], strings[2], strings[count])
}

BEGIN {
  print "/* SPDX-License-Identifier: MIT\n *"
  print " * Builders, one for each operation; generated from lib/ops/scalar.def and lib/ops/ops.def."
  print " * List attributes are a count and an array; a NULL array leaves an optional one absent. Sizes known"
  print " * only at run time are dims made by gemel_dim_of. All builders return the null value when an input is"
  print " * null or the graph refuses, with the first error on the graph; none is thread-safe against another"
  print " * call on the same graph.\n */"
  print "#ifndef GEMEL_OPS_H\n#define GEMEL_OPS_H\n"
  print "#include <gemel/graph.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
  print "/* The graph of the first value that has one. */"
  print "static inline gemel_graph *gemel__graph_of(size_t n, const gemel_value *values) {"
  print "  size_t k;\n  for (k = 0; values != NULL && k < n; k++) {\n    if (values[k].graph != NULL) {\n      return values[k].graph;\n    }\n  }\n  return NULL;\n}\n"
}

/^(SCALAR|OP)\(/ { text = $0; open = 1; if ($0 ~ /"\)$/) { row(text); open = 0 } next }
open { text = text "\n" $0; if ($0 ~ /"\)$/) { row(text); open = 0 } }

END { print "#ifdef __cplusplus\n}\n#endif\n#endif" }
