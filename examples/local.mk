# Short programs for newcomers: shipped, and built by ci/outsider as an outsider would.
# One file a line, sorted. SPDX-License-Identifier: MIT

