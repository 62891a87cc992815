# Tables, JSON lines and replay files.
# One file a line, sorted. SPDX-License-Identifier: MIT

