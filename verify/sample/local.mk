# Random types, tensors and graphs.
# One file a line, sorted. SPDX-License-Identifier: MIT

