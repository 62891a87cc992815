# Writes the file SOURCE, which faults call FILE, with all faults of it. See plant.
# Usage: awk -f plant.awk -v file=lib/ops/scan.c -v source=../lib/ops/scan.c *.fault
# SPDX-License-Identifier: MIT

# TEXT as a regular expression, of which any space stands for space and ends of lines, also in macros.
function pattern(text,    n, i, j, c, words, result) {
  n = split(text, words, /[ \t\n]+/)
  result = ""
  for (i = 1; i <= n; i++) {
    if (i > 1) result = result "([ \t\n]|\\\\\n)+"
    for (j = 1; j <= length(words[i]); j++) {
      c = substr(words[i], j, 1)
      result = result (c == "\\" ? "\\\\" : c == "^" ? "\\^" : c ~ /[A-Za-z0-9_ ]/ ? c : "[" c "]")
    }
  }
  return result
}

function trim(s) { gsub(/^[ \t\n]+|[ \t\n]+$/, "", s); return s }

function complain(k, what) {
  printf("%s: this text %s %s:\n%s\n", at[k], what, file, trim(text[k])) >"/dev/stderr"
  failed = 1
}

# Finds text K, and adds its place to the list, which is in order.
function find(k,    re, start, where, more, j) {
  re = pattern(trim(text[k]))
  if (!match(all, re)) { complain(k, "isn't in"); return }
  start = RSTART
  more = RLENGTH
  if (match(substr(all, start + more), re)) { complain(k, "stands twice in"); return }
  for (j = ++places; j > 1 && begins[j - 1] > start; j--) {
    begins[j] = begins[j - 1]; lengths[j] = lengths[j - 1]; is[j] = is[j - 1]
  }
  begins[j] = start; lengths[j] = more; is[j] = k
}

FNR == 1 { mine = 0 }
/^@ / { mine = substr($0, 3) == file; if (mine) at[++n] = FILENAME ":" FNR; next }
mine && /^-/ { text[n] = text[n] substr($0, 3) "\n"; next }
mine && /^[+]/ { by[n] = by[n] substr($0, 3) "\n"; next }

END {
  while ((status = (getline line <source)) > 0) all = all line "\n"
  if (status < 0) { print source ": can't be read" >"/dev/stderr"; exit 1 }
  for (k = 1; k <= n; k++) find(k)
  if (failed) exit 1
  from = 1
  for (j = 1; j <= places; j++) {
    if (begins[j] < from) { complain(is[j], "is part of another text of"); exit 1 }
    put = trim(by[is[j]])
    # In a macro it is one line.
    rest = substr(all, begins[j] + lengths[j], 200)
    sub(/\n.*/, "", rest)
    if (rest ~ /\\$/ || put ~ /^#define/ || index(substr(all, begins[j], lengths[j]), "\\\n")) gsub(/[ \t]*\n[ \t]*/, " ", put)
    printf("%s%s", substr(all, from, begins[j] - from), put)
    from = begins[j] + lengths[j]
  }
  printf("%s", substr(all, from))
}
