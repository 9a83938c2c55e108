"""The order in which the CUDA kernel takes the rows of a matrix: longest first, the longest ones in
pieces."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

SPLIT = 512
"""A row with more entries than this, a hub, is summed in segments of this length."""

CLASSES = (0, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384)
"""Upper ends of the length classes: the rows that one warp takes together are of one class; within
a class they keep their order, and with it what neighbouring rows have in common."""


@dataclass(frozen=True)
class Plan:
    """Work items of one matrix.

    Attributes:
        items: (T, 2) int64: first entry; length in the upper and the row in the lower 32 bits, or
            ~s for segment s of the hubs.
        segments: how many items are segments; they come first.
        hubs: (H, 3) int64: row, first segment, one past its last segment.
        entries: of the matrix.
    """

    items: Tensor
    segments: int
    hubs: Tensor
    entries: int


def planned(pointers: Tensor) -> Plan:
    """The plan of a matrix. Deterministic; a few passes over the row pointers, on their device.

    Args:
        pointers: (N + 1,) int64.

    Raises:
        ValueError: when they do not begin at 0 or fall.
    """
    device = pointers.device
    length = pointers.diff()
    if int(pointers[0]) != 0 or bool((length < 0).any()):
        raise ValueError(
            "pointers must begin at 0 and never fall: they are the row starts of a matrix in"
            " compressed rows"
        )
    is_hub = length > SPLIT
    rows = torch.nonzero(~is_hub)[:, 0]
    classes = torch.bucketize(length[rows], torch.tensor(CLASSES, device=device)).to(torch.uint8)
    rows = rows[torch.sort(classes, descending=True, stable=True).indices]
    hubs = torch.nonzero(is_hub)[:, 0]
    pieces = torch.div(length[hubs] + SPLIT - 1, SPLIT, rounding_mode="floor")
    ends = pieces.cumsum(0)
    of_hub = torch.repeat_interleave(torch.arange(len(hubs), device=device), pieces)
    segment = torch.arange(len(of_hub), device=device)
    piece = segment - (ends - pieces)[of_hub]
    begin = pointers[hubs[of_hub]] + SPLIT * piece
    remaining = (pointers[hubs[of_hub] + 1] - begin).clamp(max=SPLIT)
    items = torch.empty(len(segment) + len(rows), 2, dtype=torch.int64, device=device)
    items[: len(segment), 0] = begin
    items[: len(segment), 1] = (remaining << 32) | (~segment & 0xFFFFFFFF)
    items[len(segment) :, 0] = pointers[rows]
    items[len(segment) :, 1] = (length[rows] << 32) | rows
    return Plan(
        items, len(segment), torch.stack([hubs, ends - pieces, ends], dim=1), int(pointers[-1])
    )


_kept = WeakTensorKeyDictionary()
_lock = threading.Lock()


def plan_of(pointers: Tensor) -> Plan:
    """`planned`, remembered for as long as this tensor lives and is not changed."""
    if pointers.is_inference():  # It counts no versions, so a change would go unseen.
        return planned(pointers)
    with _lock:
        version, plan = _kept.get(pointers, (-1, None))
        if version != pointers._version:
            plan = planned(pointers)
            if pointers.is_cuda:
                # Another stream may use it next.
                torch.cuda.current_stream(pointers.device).synchronize()
            _kept[pointers] = (pointers._version, plan)
        elif pointers.is_cuda:
            for tensor in (plan.items, plan.hubs):
                tensor.record_stream(torch.cuda.current_stream(pointers.device))
    return plan
