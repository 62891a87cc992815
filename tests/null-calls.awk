# SPDX-License-Identifier: MIT
#
# Writes a table of calls for tests/t-null.c: for each function that the public headers declare, one
# with every pointer and value null, and one for each pointer with only that NULL. Types become names of
# macros that t-null.c defines (const gemel_value * becomes const_gemel_value_p), so that a new
# type does not compile until somebody has said what a valid value of it is.
# Usage: awk -f null-calls.awk header... > null-calls.h

function trim(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }

# The name of a parameter's type.
function type_of(parameter,    t) {
  t = trim(parameter)
  if (t ~ /\(\*[a-z_]*\)/) return "function_p"
  if (t == "void") return ""
  sub(/[A-Za-z_0-9]+$/, "", t)
  gsub(/\*/, " p ", t)
  t = trim(t)
  gsub(/[ \t]+/, "_", t)
  # options of generated builders, which none of them needs
  return FILENAME ~ /ops\.h$/ && t ~ /_options_p$/ ? "builder_options_p" : t
}

function is_pointer(type) { return type ~ /_p$/ || type == "gemel_write" }
function nullable(type) { return is_pointer(type) || type == "gemel_value" }

# One call; parameter NULLED is NULL, 0: all of them are.
function call(name, result, n, types, nulled,    k, args, null) {
  for (k = 1; k <= n; k++) {
    null = nulled == 0 ? nullable(types[k]) : nulled == k
    args = args (k > 1 ? ", " : "") \
           (!null ? "VALID_" types[k] : types[k] == "gemel_value" ? "null_value" : "NULL")
  }
  printf("CALL(%s, %d, %s, %s, %s(%s))\n", name, nulled, result,
         (nulled ? types[nulled] : "all"), name, args)
}

function declaration(text,    open, head, name, result, parameters, types, n, k, depth, c, part, any) {
  gsub(/__attribute__ *\(\(.*\)\)/, "", text)
  text = trim(text)
  sub(/^static inline /, "", text)
  sub(/\{.*/, "", text)
  if (text ~ /^(typedef|struct|enum|extern)/ || text !~ /gemel_[a-z0-9_]+ *\(/) return
  match(text, /gemel_[a-z0-9_]+ *\(/)
  head = substr(text, 1, RSTART - 1)
  name = substr(text, RSTART, RLENGTH - 1)
  parameters = substr(text, RSTART + RLENGTH)
  sub(/\)[^)]*$/, "", parameters)
  gsub(/\*/, " p ", head)
  result = trim(head)
  gsub(/[ \t]+/, "_", result)
  n = depth = any = 0
  part = ""
  for (k = 1; k <= length(parameters) + 1; k++) {
    c = substr(parameters, k, 1)
    depth += (c == "(") - (c == ")")
    if (k > length(parameters) || (c == "," && depth == 0)) {
      if (type_of(part) != "") types[++n] = type_of(part)
      part = ""
    } else {
      part = part c
    }
  }
  for (k = 1; k <= n; k++) any += nullable(types[k])
  if (any) call(name, result, n, types, 0)
  for (k = 1; k <= n; k++) if (is_pointer(types[k]) && any > 1) call(name, result, n, types, k)
}

FILENAME ~ /\.hpp$/ { next } # which is C++
FNR == 1 { comment = continued = braces = 0; statement = "" }
continued { continued = /\\$/; next }
/^#/ { continued = /\\$/; next }
/^extern "C" \{/ || (braces == 0 && /^}$/) { next }
{
  line = $0
  if (comment) {
    if (!(at = index(line, "*/"))) next
    line = substr(line, at + 2)
    comment = 0
  }
  while (!comment && (at = index(line, "/*"))) {
    rest = substr(line, at + 2)
    line = substr(line, 1, at - 1)
    if (!(at = index(rest, "*/"))) comment = 1
    else line = line substr(rest, at + 2)
  }
  statement = statement " " line
  braces += gsub(/\{/, "{", line) - gsub(/\}/, "}", line)
  if (braces == 0 && line ~ /[;}][ \t]*$/) {
    sub(/;[ \t]*$/, "", statement)
    declaration(statement)
    statement = ""
  }
}
