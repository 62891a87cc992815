# api.awk: from public headers, the list of functions in doc/api.md: a section a header, with its opening
# sentence, and for each function how it is called and the first sentence of its comment. A builder
# gemel_f_at is listed as the macro gemel_f that calls it. Usage: awk -f api.awk header... SPDX-License-Identifier: MIT

function trim(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }

# The first sentence of a comment.
function sentence(s) {
  gsub(/[ \t\n]+/, " ", s)
  s = trim(s)
  if (match(s, /[^.]\. /)) s = substr(s, 1, RSTART + 1)
  sub(/ (Inputs|Attributes): .*/, "", s)
  gsub(/\*/, "\\*", s)
  gsub(/<gemel\/[a-z]+\.h(pp)?>/, "`&`", s)
  return s
}

# The names of a builder's parameters, without its options and its place.
function names(parameters,    n, i, part, s) {
  n = split(parameters, part, ",")
  s = ""
  for (i = 1; i <= n; i++) {
    if (part[i] ~ /_options \*options$|gemel_location where$/) continue
    sub(/^.*[ *]/, "", part[i])
    s = s (s == "" ? "" : ", ") part[i]
  }
  return s
}

# How the function in TEXT, a declaration, is called.
function form(text,    name, short, parameters, options, n, i, member, s) {
  name = text
  sub(/ *\(.*/, "", name)
  sub(/.*[ *]/, "", name)
  short = name
  if (!sub(/_at$/, "", short) || !(short in macro)) return "`" text "`"
  parameters = text
  sub(/^[^(]*\(/, "", parameters)
  sub(/\)[^)]*$/, "", parameters)
  s = "`" short "(" (macro[short] == "..." ? names(parameters) : macro[short]) ")`"
  if (match(parameters, /gemel_[a-z_0-9]+_options/)) {
    options = substr(parameters, RSTART, RLENGTH)
    if (options in members) {
      n = split(members[options], member, " ")
      s = s ", options"
      for (i = 1; i <= n; i++) s = s (i > 1 ? ", " : " ") "`." member[i] "`"
    }
  }
  return s
}

function finish_file(    i, rest, name, also) {
  if (header == "" || count == 0) return
  printf "\n### `<gemel/%s>`\n\n%s\n\n", header, opening
  for (i = 1; i <= count; i++) {
    rest = form(entry[i])
    if (shared[i + 1] && i < count) { printf "%s%s,\n", (shared[i] ? "  " : "- "), rest; continue }
    printf "%s%s: %s\n", (shared[i] ? "  " : "- "), rest, said[i]
  }
  also = ""
  for (i = 1; i <= n_macros; i++) {
    name = macros[i]
    if (!((name "_at") in function_names) && name !~ /_(with|over)$/) also = also (also == "" ? "" : ", ") "`" name "(" macro[name] ")`"
  }
  if (also != "") printf "\nShort for calls of these: %s.\n", also
}

function finish_declaration(    text, name) {
  text = declaration
  declaration = ""
  gsub(/__attribute__ *\(\(.*\)\)/, "", text)
  sub(/\{.*/, "", text)
  sub(/;[ \t]*$/, "", text)
  gsub(/[ \t]+/, " ", text)
  sub(/^ ?static inline /, "", text)
  text = trim(text)
  if (text !~ /\(/ || text ~ /^(typedef|extern)/ || text ~ /^[^(]*[={]/) return
  name = text
  sub(/ *\(.*/, "", name)
  sub(/.*[ *]/, "", name)
  if (name !~ /^gemel_[a-z]/) return
  count++
  entry[count] = text
  said[count] = sentence(comment)
  shared[count] = said_before
  said_before = 1
  function_names[name] = 1
}

function directive(line,    name) {
  if (line !~ /^#define gemel_[a-z_0-9]+\(/) return
  name = line
  sub(/^#define /, "", name)
  sub(/\(.*/, "", name)
  macros[++n_macros] = name
  sub(/^[^(]*\(/, "", line)
  sub(/\).*/, "", line)
  macro[name] = line
}

FNR == 1 {
  finish_file()
  header = FILENAME
  sub(/.*\//, "", header)
  split("", entry); split("", said); split("", shared); split("", macro); split("", macros)
  count = n_macros = depth = in_comment = continued = said_before = 0
  opening = declaration = comment = ""
}
continued { continued = /\\$/; next }
/^#/ { directive($0); continued = /\\$/; next }
in_comment || /^[ \t]*\/\*/ {
  line = $0
  if (!in_comment && depth == 0) { comment = ""; said_before = 0 }
  in_comment = line !~ /\*\//
  sub(/^[ \t]*\/?\*+\/? ?/, "", line)
  sub(/ *\*\/.*$/, "", line)
  if (depth == 0 && line !~ /SPDX/) comment = comment "\n" line
  if (!in_comment && opening == "") opening = sentence(comment)
  next
}
/^extern "C" \{/ || (depth == 0 && /^}$/) { next }
depth == 0 && /^[ \t]*$/ { comment = ""; said_before = 0; next }
{
  line = $0
  gsub(/\/\*[^*]*\*\//, "", line)
  sub(/\/\*.*/, "", line)
  if (line ~ /^typedef struct gemel_[a-z_0-9]+_options \{/) { struct = $3; members[struct] = "" }
  else if (depth > 0 && struct != "" && line !~ /^}/ && match(line, /[a-z_0-9]+;/)) members[struct] = members[struct] " " substr(line, RSTART, RLENGTH - 1)
  if ($0 ~ /\/\*/ && $0 !~ /\*\//) in_comment = 1
  declaration = declaration " " line
  depth += gsub(/\{/, "{", line) - gsub(/\}/, "}", line)
  if (depth == 0 && line ~ /[;}][ \t]*$/) { finish_declaration(); struct = "" }
}
END { finish_file() }
