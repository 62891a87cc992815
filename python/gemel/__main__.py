# SPDX-License-Identifier: MIT
"""The command gemel: `python -m gemel` is the same."""
import os
import sys


def main() -> None:
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "gemel")
    os.execv(command, ["gemel", *sys.argv[1:]])


if __name__ == "__main__":
    main()
