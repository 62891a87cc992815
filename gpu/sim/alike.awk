# Makes a C file that only compiles if the sim's headers (gpu/sim/include) say the same as NVIDIA's,
# which it includes: every enumerator and macro has its value, every member of a structure its type,
# every function its prototype, every vector its size and alignment.
# SPDX-License-Identifier: MIT

BEGIN {
  print "/* Made by alike.awk from gpu/sim/include. */"
  print "#include <cuda_runtime_api.h>\n#include <cublas_v2.h>\n#include <nvrtc.h>"
  print "#ifdef GEMEL__CUDNN\n#include <cudnn.h>\n#endif"
  print "#ifdef GEMEL__CUSOLVER\n#include <cusolverDn.h>\n#endif"
}
function same(name, value) { print "_Static_assert(" name " == " value ", \"" name "\");"; count++ }

/^\/\* Functions\. \*\/$/ { functions = 1; next }
/^\/\* End\. \*\/$/ { functions = 0; next }
functions { print; if (/;$/) count++; next }

/^  [A-Za-z_0-9]+ = -?[0-9]+,?$/ { sub(/,$/, "", $3); same($1, $3); next }
/^  X\(cuda/ { split($0, part, /[(,]/); same(part[2], part[3]); next }
/^#define cuda[A-Za-z]+ 0x[0-9a-f]+$/ { same($2, $3); next }
/^typedef (struct [A-Za-z_]+ \*|void \(\*)/ { print; count++; next }

/^struct cuda[A-Za-z]+ \{$/ { structure = $2; next }
/^};?$/ { structure = "" }
structure != "" && /;$/ {
  name = $0
  sub(/(\[[0-9]+\])?;$/, "", name)
  sub(/.*[ *]/, "", name)
  declaration = $0
  sub("[ *]" name, "&_of_" structure, declaration)
  print "extern __typeof__(((struct " structure " *)0)->" name ") " name "_of_" structure ";"
  print "extern " declaration
  count++
}

/^GEMEL__SIM_VECTORS\(/ {
  split($0, part, /[(),]+ */)
  for (n = 1; n <= 4; n++) {
    print "_Static_assert(sizeof(" part[3] n ") == " n " * sizeof(" part[2] "), \"" part[3] n "\");"
    if (n % 2 == 0) same("_Alignof(" part[3] n ")", part[3 + n / 2])
    count++
  }
}
END { print "enum { ALIKE = " count + 0 " };\n_Static_assert(ALIKE > 200, \"so much was compared\");" }
