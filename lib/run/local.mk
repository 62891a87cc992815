# Schedule, memory plan, compiled functions, shared variables, profiles.
# One file a line, sorted. SPDX-License-Identifier: MIT

