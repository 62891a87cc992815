# Makes gpu/cuda/headers.c: the headers that generated kernels include, as C strings, each by the
# name under gpu/ or lib/ that it is included by.
# SPDX-License-Identifier: MIT
BEGIN {
  print "/* Made by embed.awk from the files that are named below. */"
  print "#include \"cuda/text.h\"\n"
  print "const gemel__cuda_header gemel__cuda_headers[] = {"
}
FNR == 1 {
  if (NR > 1) print "    },"
  name = FILENAME
  sub(/^.*(gpu|lib)\//, "", name)
  print "    {\"" name "\","
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
