# Makes lib/rules/builtin.c, and with -v name=VARIABLE others: the text of each file as a C string. Strings are joined line by
# line, and no line is long enough to trouble a compiler.
# SPDX-License-Identifier: MIT
BEGIN {
  print "/* Made by lib/rules/embed.awk. */"
  print "#include \"rules/builtin.h\"\n"
  print "const gemel__builtin_text " (name == "" ? "gemel__builtin_rules" : name) "[] = {"
}
FNR == 1 {
  if (NR > 1) print "    },"
  base = FILENAME
  sub(/.*\//, "", base)
  print "    {\"" base "\","
}
{
  gsub(/\\/, "&&")
  gsub(/"/, "\\\"")
  print "     \"" $0 "\\n\""
}
END {
  if (NR > 0) print "    },"
  print "    {0, 0},\n};"
}
