# SPDX-License-Identifier: MIT
#
# Writes <gemel/ops.h>: one builder for each row of scalar.def and ops.def, so that the list of
# operations stands in those files only. Usage: awk -f builders.awk scalar.def ops.def > ops.h
# A row begins with SCALAR( or OP( at the start of a line and ends with a line ending in `")`.
# With -v part=nn, <gemel/nn.h>: one for each composite of numpy.composites with a comment right before it;
# with -v part=hpp, <gemel/nn.hpp>, the same in C++.

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

# Reads one attribute, "name: kind" or "name: kind = fallback", into AN, KIND, LIST and OPTIONAL.
function read_attr(text) {
  AN = text; sub(/:.*/, "", AN); AN = trim(AN)
  OPTIONAL = text ~ /=/
  FALLBACK = text; sub(/^[^=]*=?/, "", FALLBACK); FALLBACK = trim(FALLBACK)
  KIND = text; sub(/^[^:]*:/, "", KIND); sub(/=.*/, "", KIND); KIND = trim(KIND)
  LIST = c_type(KIND) == ""
  if (LIST) sub(/s$/, "", KIND)
}

# What stands for an option that isn't named, and whether VALUE is anything else.
function nothing() { return KIND == "dim" ? "GEMEL_DIM_NONE" : "(" c_type(KIND) ")0" }
function is_given(value) { return KIND == "dim" ? "!gemel_dim_is_none(" value ")" : value " != 0" }

function declared(type, name) { return type (type ~ /\*$/ ? "" : " ") name }

# The statements that fill in one attribute from COUNT, VALUES (of a list) or VALUE.
# GIVEN says when a scalar is.
function fill_in(count, value, given,    k, member, s) {
  k = toupper(KIND)
  member = LIST ? (KIND == "string" ? "text" : KIND) "s" : KIND == "int" ? "i" : KIND == "float" ? "f" : KIND == "string" ? "text" : KIND
  s = "  attrs[n_attrs].name = \"" AN "\";\n"
  s = s "  attrs[n_attrs].kind = " (LIST ? "GEMEL_ATTR_LIST | " : "") "GEMEL_ATTR_" k ";\n"
  s = s "  attrs[n_attrs].count = " (LIST ? count : "0") ";\n"
  s = s "  attrs[n_attrs].u." member " = " value ";\n"
  return s "  n_attrs += " (LIST ? value " != NULL" : given) ";\n"
}

# OPERANDS and PARAMS are the builder's parameters so far, ARGS their names.
function add_operands(inputs,    n, i, p, part) {
  OPERANDS = 0; VARIADIC = ""; PARAMS = ""; ARGS = ""; SEP = ""
  n = split(inputs, p, ",")
  for (i = 1; i <= n; i++) {
    part = trim(p[i])
    if (part == "" || part ~ /\*$/) continue
    if (part ~ /= *none$/) {
      sub(/ *=.*/, "", part)
      MAYBE[OPERANDS] = 1
      OPERAND[OPERANDS++] = part
    } else if (part ~ /\.\.\.$/) {
      sub(/\.\.\.$/, "", part); VARIADIC = part
      add_param("size_t n_" part ", const gemel_value *" part, "n_" part ", " part)
    } else {
      add_param("gemel_value " part, part)
      MAYBE[OPERANDS] = 0
      OPERAND[OPERANDS++] = part
    }
  }
}

function add_param(params, args) { PARAMS = PARAMS SEP params; ARGS = ARGS SEP args; SEP = ", " }

# Whether an optional scalar falls back to another value than 0, and 0 is one of its values too: a
# member of a struct could not tell whether it was named, so it is an argument too.
function is_argument() { return OPTIONAL && !LIST && FALLBACK ~ /^-/ }

# Required attributes are parameters, optional ones members of a struct.
function emit(name, inputs, attrs, summary,    n, i, m, q, body, members) {
  add_operands(inputs)
  m = 0; body = ""; members = ""
  for (i = 0; i < OPERANDS; i++) if (MAYBE[i]) members = members "  gemel_value " OPERAND[i] ";\n"
  n = split(attrs, q, ",")
  for (i = 1; i <= n; i++) {
    if (trim(q[i]) == "") continue
    read_attr(trim(q[i])); m++
    if (!OPTIONAL && LIST) {
      add_param("size_t n_" AN ", const " declared(c_type(KIND), "") "*" AN, "n_" AN ", " AN)
      body = body fill_in("n_" AN, AN)
    } else if (!OPTIONAL || is_argument()) {
      add_param(declared(c_type(KIND), AN), AN)
      body = body fill_in("", AN, "1")
    } else if (LIST) {
      members = members "  gemel_" KIND "s " AN ";\n"
      body = body fill_in("options != NULL ? options->" AN ".count : 0", "options != NULL ? options->" AN ".values : NULL")
      sub(/n_attrs \+= options != NULL \? options->[a-z_]*.values : NULL != NULL/, "n_attrs += options != NULL \\&\\& (options->" AN ".values != NULL || options->" AN ".count > 0)", body)
    } else {
      members = members "  " declared(c_type(KIND), AN) ";\n"
      body = body fill_in("", "options != NULL ? options->" AN " : " nothing(), FALLBACK != "0" && KIND != "dtype" ? "options != NULL && " is_given("options->" AN) : "options != NULL")
    }
  }
  if (OPERANDS == 0 && VARIADIC == "") { PARAMS = "gemel_graph *graph" SEP PARAMS; ARGS = "graph" SEP ARGS }
  write(name, inputs, attrs, summary, m, body, members)
}

function write(name, inputs, attrs, summary, m, body, members,    i, graph, vector, count, inner) {
  if (members != "") printf "typedef struct gemel_%s_options {\n%s} gemel_%s_options;\n\n", name, members, name
  printf "/* %s Inputs: %s. Attributes: %s.\n * Null value on failure, with the error on the graph. */\n", summary, (inputs == "" ? "none" : inputs), (attrs == "" ? "none" : attrs)
  printf "static inline gemel_value gemel_%s_at(%s%s, gemel_location where) {\n", name, PARAMS, (members == "" ? "" : ", const gemel_" name "_options *options")
  if (m) printf "  gemel_attr attrs[%d];\n  size_t n_attrs = 0;\n", m
  if (VARIADIC == "" && OPERANDS) printf "  gemel_value inputs[%d];\n", OPERANDS
  for (i = 0; VARIADIC == "" && i < OPERANDS; i++) printf "  inputs[%d] = %s;\n", i, MAYBE[i] ? "options != NULL ? options->" OPERAND[i] " : gemel__no_operand()" : OPERAND[i]
  vector = VARIADIC != "" ? VARIADIC : OPERANDS ? "inputs" : "NULL"
  count = VARIADIC != "" ? "n_" VARIADIC : OPERANDS
  graph = VARIADIC == "" && !OPERANDS ? "graph" : "gemel__graph_of(" count ", " vector ")"
  printf "%s  return gemel_apply_at(%s, \"%s\", %s, %s, %s, %s, where);\n}\n", body, graph, name, count, vector, (m ? "n_attrs" : "0"), (m ? "attrs" : "NULL")
  printf "#define gemel_%s(...) gemel_%s_at(__VA_ARGS__, %sGEMEL_HERE)\n", name, name, (members == "" ? "" : "NULL, ")
  if (members != "") {
    print "#ifndef __cplusplus"
    # A list is two arguments, which GEMEL_LIST may stand for: so it is expanded before they are told apart.
    inner = ARGS ~ /n_/ ? "gemel__" : "gemel_"
    if (ARGS ~ /n_/) printf "#define gemel_%s_with(...) gemel__%s_with(__VA_ARGS__)\n", name, name
    printf "#define %s%s_with(%s, ...) \\\n  gemel_%s_at(%s, &(gemel_%s_options){__VA_ARGS__}, GEMEL_HERE)\n", inner, name, ARGS, name, ARGS, name
    if (members ~ / axes;/) printf "#define gemel_%s_over(%s, ...) gemel_%s_with(%s, .axes = GEMEL_INTS(__VA_ARGS__))\n", name, ARGS, name, ARGS
    print "#endif"
  }
  print ""
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
  if (text ~ /^SCALAR/ && strings[2] == "") ELEMENTWISE = ELEMENTWISE " \\\n  X" OPERANDS "(" name ")"
  if (strings[2] == "axes: ints = none, keepdims: int = 0") REDUCTIONS = REDUCTIONS " \\\n  X(" name ")"
}

function begin_ops() {
  print "/* SPDX-License-Identifier: MIT\n *"
  print " * Builders, one for each operation; generated from lib/ops/scalar.def and lib/ops/ops.def."
  print " *"
  print " *   gemel_sum(x)                                            without options: the sum of all elements"
  print " *   gemel_sum_with(x, .axes = GEMEL_INTS(0), .keepdims = 1) in C, with options by name"
  print " *   gemel_sum_over(x, 0, -1)                                in C, over these axes, of what has axes"
  print " *   gemel_sum_at(x, &options, where)                        the function behind both; options may be NULL"
  print " *"
  print " * Attributes that an operation needs are arguments (lists are a count and an array), those that it can"
  print " * do without are options: a list, size or string that isn't named is absent, and an integer that isn't"
  print " * named, or is 0, is what the operation falls back to. A dtype must be named where there are options."
  print " * An axis that would be the last is an argument too. Sizes known only at run time are dims made by"
  print " * gemel_dim_of. All builders return the null value when an input is null or"
  print " * the graph refuses, with the first error on the graph; none is thread-safe against another call on the"
  print " * same graph.\n */"
  print "#ifndef GEMEL_OPS_H\n#define GEMEL_OPS_H\n"
  print "#include <gemel/graph.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
  print "/* The graph of the first value that has one. */"
  print "static inline gemel_graph *gemel__graph_of(size_t n, const gemel_value *values) {"
  print "  size_t k;\n  for (k = 0; values != NULL && k < n; k++) {\n    if (values[k].graph != NULL) {\n      return values[k].graph;\n    }\n  }\n  return NULL;\n}\n"
}

function begin_nn() {
  print "/* SPDX-License-Identifier: MIT\n *"
  print " * Layers, activations and other functions that are composed of operations; generated from"
  print " * lib/composites/numpy.composites. Nothing of them is left in a graph but these operations, so they are"
  print " * differentiated, rewritten, run and verified as these are."
  print " *"
  print " *   gemel_layer_norm(x, -1)                              without options"
  print " *   gemel_layer_norm_with(x, -1, .scale = s, .bias = b)  in C, with options by name: operands too may be options"
  print " *   gemel_layer_norm_at(x, -1, &options, where)          the function behind both; options may be NULL"
  print " *"
  print " * An option that isn't named, or is 0, is what the function falls back to; an operand that isn't named is left"
  print " * out. All functions return the null value when an operand is null or the graph refuses, with the first error on"
  print " * the graph; none is thread-safe against another call on the same graph.\n */"
  print "#ifndef GEMEL_NN_H\n#define GEMEL_NN_H\n"
  print "#include <gemel/ops.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
  print "/* An operand that is left out. */"
  print "static inline gemel_value gemel__no_operand(void) {\n  gemel_value none = {NULL, 0, 0};\n  return none;\n}\n"
}

function begin_hpp() {
  print "/* SPDX-License-Identifier: MIT\n *"
  print " * The functions of <gemel/nn.h> in C++17; generated from lib/composites/numpy.composites."
  print " *"
  print " *   gemel::layer_norm(x)"
  print " *   gemel::layer_norm(x, scale, bias)            operands that aren't given are left out, as is {}"
  print " *   gemel::layer_norm(x, scale, bias, -1, 1e-3)"
  print " *   gemel::layer_norm(x, {.epsilon = 1e-3})      by name, in C++20; before,"
  print " *   gemel::layer_norm_options o; o.epsilon = 1e-3; gemel::layer_norm(x, o);"
  print " *"
  print " * Where there are three options or more, they are a struct too. A value that is given is meant, 0 as any other;"
  print " * an empty list of strides, dilations or sizes is none. Errors are thrown. Threads: as the functions of C.\n */"
  print "#ifndef GEMEL_NN_HPP\n#define GEMEL_NN_HPP\n"
  print "#include <cstdint>\n#include <optional>\n#include <vector>\n#include <gemel/nn.h>\n#include <gemel/value.hpp>\n\nnamespace gemel {\n"
}

function cpp_type() {
  if (LIST) return AN == "axes" ? "axis_list" : "std::vector<int64_t>"
  if (KIND == "dim") return OPTIONAL ? "std::optional<dim>" : "dim"
  return c_type(KIND)
}

function cpp_default() {
  if (FALLBACK == "none") return AN == "axes" ? "axis_list::all()" : KIND == "dim" ? "std::nullopt" : "{}"
  return FALLBACK
}

# A parameter: what is no number is passed by reference.
function cpp_parameter(type, name) { return (type ~ /^(int64_t|double|gemel_dtype)$/ ? type " " : "const " type " &") name }

# One more parameter, and, where FALLBACK is something, a member of the struct.
function cpp_add(type, member, name, fallback) {
  CPP_PARAMS = CPP_PARAMS (CPP_PARAMS == "" ? "" : ", ") cpp_parameter(type, name) (fallback == "" ? "" : " = " fallback)
  if (fallback == "") {
    CPP_NEEDED = CPP_NEEDED (CPP_NEEDED == "" ? "" : ", ") cpp_parameter(type, name)
    CPP_PASSED = CPP_PASSED (CPP_PASSED == "" ? "" : ", ") name
    return
  }
  CPP_OPTIONS++
  CPP_MEMBERS = CPP_MEMBERS "  " member " " name " = " fallback ";\n"
  CPP_PASSED = CPP_PASSED (CPP_PASSED == "" ? "" : ", ") "how." name
}

# Operands and attributes that are needed come first, then those that may be left out.
function emit_cpp(name, inputs, attrs, summary,    n, q, i, pass, xs, list, given, source) {
  add_operands(inputs)
  CPP_PARAMS = ""; CPP_NEEDED = ""; CPP_PASSED = ""; CPP_MEMBERS = ""; CPP_OPTIONS = 0
  source = OPERANDS == 0
  if (source) cpp_add("graph", "", "g", "")
  n = split(attrs, q, ",")
  xs = ""; list = ""
  for (i = 0; i < OPERANDS; i++) xs = xs (i ? ", " : "") OPERAND[i]
  for (pass = 0; pass < 2; pass++) {
    for (i = 0; i < OPERANDS; i++) if (!MAYBE[i] == !pass) cpp_add("operand", "value", OPERAND[i], pass ? "{}" : "")
    for (i = 1; i <= n; i++) {
      if (trim(q[i]) == "") continue
      read_attr(trim(q[i]))
      if (!OPTIONAL == !pass) cpp_add(cpp_type(), cpp_type(), AN, pass ? cpp_default() : "")
      given = !LIST ? AN : AN == "axes" ? AN ".option()" : OPTIONAL ? "detail::option(" AN ")" : "detail::given(" AN ")"
      if (pass) list = list (list == "" ? "" : ", ") "{\"" AN "\", " given "}"
    }
  }
  printf "/* %s */\n", summary
  printf "inline value %s(%s%s) {\n", name, CPP_PARAMS, (source ? ", const char *file = __builtin_FILE(), int line = __builtin_LINE()" : "")
  if (source) printf "  return detail::apply(g.get(), \"%s\", {}, {%s}, {file, line});\n}\n", name, list
  else printf "  return gemel::apply(\"%s\", {%s}, {%s});\n}\n", name, xs, list
  if (CPP_OPTIONS > 2) {
    printf "struct %s_options {\n%s};\n", name, CPP_MEMBERS
    printf "inline value %s(%s, const %s_options &how) {\n  return %s(%s);\n}\n", name, CPP_NEEDED, name, name, CPP_PASSED
  }
  print ""
}

BEGIN { if (part == "hpp") begin_hpp(); else if (part == "nn") begin_nn(); else begin_ops() }

# composite NAME(OPERANDS, ATTRIBUTES) {, and the comment right before it.
function composite(text,    name, inputs, attrs, n, i, q) {
  name = text; sub(/^composite +/, "", name); sub(/\(.*/, "", name)
  sub(/^[^(]*\(/, "", text); sub(/\) *\{.*/, "", text)
  inputs = ""; attrs = ""
  n = split(text, q, ",")
  for (i = 1; i <= n; i++) {
    q[i] = trim(q[i])
    if (q[i] ~ /:/) attrs = attrs (attrs == "" ? "" : ", ") q[i]
    else inputs = inputs (inputs == "" ? "" : ", ") q[i]
  }
  if (part == "hpp") emit_cpp(name, inputs, attrs, SAID)
  else emit(name, inputs, attrs, SAID)
}
part != "" && /^# / { SAID = SAID (SAID == "" ? "" : " ") substr($0, 3); next }
part != "" && /^composite / { if (SAID != "") composite($0) }
part != "" { SAID = ""; next }

/^(SCALAR|OP)\(/ { text = $0; open = 1; if ($0 ~ /"\)$/) { row(text); open = 0 } next }
open { text = text "\n" $0; if ($0 ~ /"\)$/) { row(text); open = 0 } }

END {
  if (FAILED) exit 1
  if (part == "hpp") {
    print "} // namespace gemel\n\n#endif"
    exit 0
  }
  if (part == "nn") {
    print "#ifdef __cplusplus\n}\n#endif\n#endif"
    exit 0
  }
  print "/* The elementwise operations without attributes, by how many operands they take, and the reductions with\n * axes and keepdims: for what wraps each of them, as <gemel/gemel.hpp> does. */"
  print "#define GEMEL_ELEMENTWISE_TABLE(X1, X2, X3)" ELEMENTWISE
  print "#define GEMEL_REDUCTION_TABLE(X)" REDUCTIONS "\n"
  print "#ifdef __cplusplus\n}\n#endif\n#endif"
}
