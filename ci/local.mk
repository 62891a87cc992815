# Scripts that a person or a CI runs.
# One file a line, sorted. SPDX-License-Identifier: MIT

