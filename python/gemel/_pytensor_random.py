# SPDX-License-Identifier: MIT
"""PyTensor's random variables: two stand for each other if they have the same law, which a question about their parameters
says. Elements of a random variable are independent, so part of its batch, in any order, has the law whose parameters are
that part of the parameters, if no element is there twice. What a draw leaves of a generator isn't promised: any two
generators that follow the same one by draws stand for each other."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Constant, Variable
from pytensor.tensor.elemwise import DimShuffle
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.type import RandomType
from pytensor.tensor.subtensor import AdvancedSubtensor, AdvancedSubtensor1, Subtensor, indices_from_subtensor

from ._foreign import NotSaid

_PARTS = (DimShuffle, Subtensor, AdvancedSubtensor, AdvancedSubtensor1)


def laws(old: Variable, new: Variable) -> tuple[list[Variable], list[Variable]] | None:
    """The parameters of two random variables, which are to be the same; None if OLD or NEW is none. Raises NotSaid if
    they are random, and their laws can't be told from their parameters."""
    if isinstance(old.type, RandomType):
        first, second = _source(old), _source(new)
        return ([], []) if first is not None and first is second else None
    first, second = _drawn(old), _drawn(new)
    if first is None or second is None or _kind(first) != _kind(second) or not first.op.ndims_params:
        return None
    return _parameters(old, first), _parameters(new, second)


def _source(v: Variable) -> Variable | None:
    """The generator that V follows by one draw or more."""
    start = v
    while v.owner is not None and isinstance(v.owner.op, RandomVariable) and v is v.owner.outputs[0]:
        v = v.owner.op.rng_param(v.owner)
    return v if v is not start else None


def _drawn(v: Variable) -> Any:
    """The node that draws what V is a part of."""
    while v.owner is not None and isinstance(v.owner.op, _PARTS):
        v = v.owner.inputs[0]
    drawn = v.owner
    return drawn if drawn is not None and isinstance(drawn.op, RandomVariable) and v is drawn.outputs[1] else None


def _kind(node: Any) -> Any:
    op = node.op
    return type(op), op.signature, node.outputs[1].type.dtype, [repr(getattr(op, p)) for p in op.__props__ if p not in ("inplace", "method")]


def _parameters(v: Variable, node: Any) -> list[Variable]:
    """The parameters of V's elements: those of NODE, whose batch V is a part of."""
    chain = []
    while v.owner is not node:
        assert v.owner is not None
        chain.append(v.owner)
        v = v.owner.inputs[0]
    found = _spread(node)
    for step in reversed(chain):
        batch = step.inputs[0].type.ndim - node.op.ndim_supp
        found = [_part(step, p, batch, p.type.ndim - batch, node.op.ndim_supp) for p in found]
    return found


def _spread(node: Any) -> list[Variable]:
    """The parameters of a draw, each with all axes of its batch."""
    op, size, params = node.op, node.op.size_param(node), node.op.dist_params(node)
    shape = list(op._infer_shape(size, params))[:op.batch_ndim(node)]
    made = []
    for p, core in zip(params, op.ndims_params):
        own = [p.shape[k] for k in range(p.type.ndim - core, p.type.ndim)]
        made.append(pt.alloc(p, *shape, *own) if shape else p)
    return made


def _part(step: Any, p: Variable, batch: int, core: int, support: int) -> Variable:
    """What STEP, an Op that takes part of a batch of BATCH axes, takes of a parameter of CORE more."""
    if isinstance(step.op, DimShuffle):
        order = list(step.op.new_order)
        kept, last = order[:len(order) - support], order[len(order) - support:]
        if last != list(range(batch, batch + support)) or any(k != "x" and k >= batch for k in kept):
            raise NotSaid("a random variable's own axes in another order")
        return p.dimshuffle([*kept, *range(batch, batch + core)])
    if isinstance(step.op, AdvancedSubtensor1):
        indices: Any = [step.inputs[1]]
    else:
        indices = indices_from_subtensor(step.inputs[1:], step.op.idx_list)
    indices = _positions(list(indices))
    while len(indices) > batch and isinstance(indices[-1], slice) and indices[-1] == slice(None):
        indices.pop()
    if len(indices) > batch:
        raise NotSaid("part of a random variable's own axes")
    return p[tuple(indices)]


def _positions(indices: list[Any]) -> list[Any]:
    """INDICES without bools, if they take no element twice."""
    made: list[Any] = []
    lists = []
    for index in indices:
        if not isinstance(index, Variable) or index.type.ndim == 0:
            made.append(index)
            continue
        if not isinstance(index, Constant):
            raise NotSaid("elements of a random variable by a list that isn't known")
        data = np.asarray(index.data)
        rows = list(np.nonzero(data)) if data.dtype.kind == "b" else [data]
        lists += rows
        made += [pt.constant(r.astype("int64")) for r in rows]
    if lists:
        places = np.stack([r.ravel() for r in np.broadcast_arrays(*lists)], axis=1)
        mixed = ((places < 0).any(axis=0) & (places >= 0).any(axis=0)).any()
        if mixed or len(np.unique(places, axis=0)) < len(places):
            raise NotSaid("an element of a random variable twice")
    return made
