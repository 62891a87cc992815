# Writes a CUDA program for a C++ compiler: kernel<<<grid, block>>>(...) becomes
# GEMEL__SIM_LAUNCH(kernel)(grid, block)(...), and extern __shared__ type name[] a pointer. Both are
# looked for in what the preprocessor leaves: first the text is read as C++'s lexer does, and each
# character kept with its place, but for comments, literals, continued lines and directives other
# than #define. Nothing else of the text is changed, so that lines keep their numbers.
# SPDX-License-Identifier: MIT

{ text = text $0 "\n" }
END {
  size = length(text)
  fresh = 1
  for (at = spliced(1); at <= size;) lex()
  for (k = 1; k <= count; k++) {
    if (code(k, 3) == "<<<") launch(k)
    if (is_at(k, "__shared__")) shared(k)
  }
  print "#line 1 \"" file "\""
  for (at = 1; at <= size; at++) printf "%s", at in instead ? instead[at] : substr(text, at, 1)
}

# Reading: `at` is where, `hidden` says that a directive is being read.

# FROM, or where the text goes on if lines are continued there.
function spliced(from) {
  while (substr(text, from, 1) == "\\" && match(substr(text, from + 1, 80), /^[ \t\r]*\n/))
    from += 1 + RLENGTH
  return from
}
function peek() { return substr(text, at, 1) }
function take(    c) {
  c = peek()
  at = spliced(at + 1)
  return c
}
function see(c, where) {
  if (hidden) return
  seen[++count] = c
  place[count] = where
}
function keep() {
  see(peek(), at)
  return take()
}
function is_word(c) { return c ~ /[A-Za-z_0-9]/ }
function lex(    c, following) {
  c = peek()
  following = substr(text, spliced(at + 1), 1)
  if (c == "\n") {
    hidden = 0
    fresh = 1
    keep()
  } else if (c == "/" && following == "/") {
    while (at <= size && peek() != "\n") take()
  } else if (c == "/" && following == "*") {
    see(" ", at)
    take()
    take()
    while (at <= size && !(take() == "*" && peek() == "/"));
    take()
  } else if (c ~ /[ \t\r\f\v]/) keep()
  else if (c == "#" && fresh) directive()
  else {
    fresh = 0
    if (c ~ /[0-9]/ || (c == "." && following ~ /[0-9]/)) number()
    else if (is_word(c)) word()
    else if (c == "\"" || c == "'") literal(c)
    else keep()
  }
}
function directive(    what) {
  do take(); while (peek() ~ /[ \t]/)
  while (is_word(peek())) what = what take()
  hidden = what != "define"
  fresh = 0
}
# With digits in groups: 1'000.
function number() {
  do keep()
  while (peek() ~ /[A-Za-z_0-9.]/ || (peek() == "'" && is_word(substr(text, spliced(at + 1), 1))))
}
function word(    all) {
  while (is_word(peek())) all = all keep()
  if (peek() == "\"" && all ~ /^(u8|u|U|L)?R$/) raw()
}
# An apostrophe in the text of an #error, say, ends with its line.
function literal(quote,    c) {
  see(quote, at)
  take()
  while (at <= size && peek() != "\n") {
    c = take()
    if (c == "\\") take()
    else if (c == quote) return
  }
}
function raw(    rest, delimiter, end) {
  see("\"", at)
  rest = substr(text, at + 1)
  delimiter = substr(rest, 1, index(rest, "(") - 1)
  end = index(rest, ")" delimiter "\"")
  at = end == 0 ? size + 1 : spliced(at + end + length(delimiter) + 2)
}

# Writing: in what was seen, from K on.

function code(k, n,    all) {
  for (; n > 0; n--) all = all seen[k++]
  return all
}
function is_at(k, name) {
  return seen[k] == substr(name, 1, 1) && code(k, length(name)) == name && !is_word(seen[k - 1]) &&
    !is_word(seen[k + length(name)])
}
function write(k, n, by) {
  instead[place[k]] = by
  for (; n > 1; n--) instead[place[++k]] = ""
}
function before_blanks(k) {
  while (seen[k] ~ /[ \t\r\n]/) k--
  return k
}
function after_blanks(k) {
  while (seen[k] ~ /[ \t\r\n]/) k++
  return k
}
function launch(k,    from, end, depth) {
  from = name_before(k - 1)
  for (end = k + 3; end <= count && !(depth == 0 && code(end, 3) == ">>>"); end++)
    depth += (seen[end] ~ /[({[]/) - (seen[end] ~ /[])}]/)
  if (from == 0 || seen[after_blanks(end + 3)] != "(") return
  write(from, 1, "GEMEL__SIM_LAUNCH(" seen[from])
  write(k, 3, ")(")
  write(end, 3, ")")
}
# Where the kernel's name begins that ends at K, or 0: a::b<c>::d<e>, (a), a##b.
function name_before(k,    from, c) {
  for (;;) {
    k = before_blanks(k)
    c = seen[k]
    if (c == ">" || c == ")") {
      from = opened(k)
      if (from == 0) return 0
      k = c == ">" ? before_blanks(from - 1) : from - 1
    }
    if (c == ")" && !is_word(seen[k])) return from
    for (from = k; is_word(seen[k]); k--) from = k
    if (!is_word(seen[from]) || seen[from] ~ /[0-9]/ || is_at(from, "operator")) return 0
    k = before_blanks(k)
    if (code(k - 1, 2) == "::") {
      from = k - 1
      k = before_blanks(k - 2) + 2
      if (seen[k - 2] !~ /[A-Za-z_0-9>]/ || is_at(k - 7, "return") || is_at(k - 5, "else") || is_at(k - 3, "do"))
        return from
    } else if (code(k - 1, 2) != "##") return from
    k -= 2
  }
}
# Where the bracket of a name or expression opens that K closes, or 0.
function opened(k,    round, angle) {
  for (; k > 0 && seen[k] !~ /[;{}]/; k--) {
    round += (seen[k] == ")") - (seen[k] == "(")
    if (round == 0) angle += (seen[k] == ">") - (seen[k] == "<")
    if (round == 0 && angle == 0) return k
  }
  return 0
}
# type (*name)[2] of extern __shared__ type name[][2].
function shared(k,    start, end, extern, from) {
  for (start = k; start > 1 && seen[start - 1] !~ /[;{}]/; start--);
  for (end = k; end <= count && seen[end] !~ /[;{}=[]/; end++)
    if (is_at(end, "extern")) extern = end
  for (; start < k; start++)
    if (is_at(start, "extern")) extern = start
  if (extern == 0 || seen[end] != "[" || seen[after_blanks(end + 1)] != "]") return
  for (from = before_blanks(end - 1); is_word(seen[from - 1]); from--);
  write(extern, 6, "")
  write(k, 10, "")
  write(from, 1, "(*" seen[from])
  write(end, 1, ")")
  end = after_blanks(end + 1)
  if (seen[after_blanks(end + 1)] != "[") {
    write(end, 1, " = GEMEL__SIM_DYNAMIC_SHARED")
    return
  }
  write(end, 1, "")
  while (seen[after_blanks(end + 1)] == "[")
    for (end = after_blanks(end + 1); end < count && seen[end] != "]"; end++);
  write(end, 1, "] = GEMEL__SIM_DYNAMIC_SHARED")
}
