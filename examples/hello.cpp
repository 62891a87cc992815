/* SPDX-License-Identifier: MIT
 *
 * gemel from C++17: the length of a vector and its gradient.
 *
 *   c++ -std=c++17 hello.cpp $(pkg-config --cflags --libs gemel) && ./a.out
 */
#include <cstdio>
#include <gemel/gemel.hpp>

int main() {
  try {
    gemel::graph g;
    gemel::value x = g.input("x: f64[N]");
    gemel::value length = gemel::sqrt(gemel::sum(x * x));
    g.output(length, "length");
    g.output(gemel::gradient(length, x), "slope");

    gemel::function f(g);
    std::vector<gemel::tensor> results = f({gemel::tensor(std::vector<double>{3, 4})});
    std::vector<double> slope = results[1].elements<double>();
    std::printf("length %g, slope %g %g\n", results[0].item<double>(), slope[0], slope[1]);
    return 0;
  } catch (const gemel::error &e) {
    std::fprintf(stderr, "%s\n", e.what()); /* names the operation and the line that made it */
    return 1;
  }
}
