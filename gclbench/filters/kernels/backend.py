"""The quick way to one pull on each device: torch's sparse products on the CPU, the CUDA kernel on
a GPU.

All give what gclbench.filters.kernels.pull says, to rounding. On the CPU a slice of columns is
chosen so narrow that it stays in cache, and slices are dealt to threads (gclbench.filters.slices).
A product here is therefore single-threaded and sums every row in one order: results do not depend
on the number of threads.
"""

from __future__ import annotations

import functools
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator

import torch
from torch import Tensor

from gclbench.filters.operator import Components, Operator, without_notice

log = logging.getLogger(__name__)

BLOCK_ENTRIES = 2**31 - 1
"""Entries of a sparse matrix that torch's product takes at most: MKL counts in 32 bits."""

STORAGE = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class Path(ABC):
    """One device's way.

    Attributes:
        name: for the record. degree, safe_degree, summing_error: (N,) float64, order, rank: (N,)
            int64, as the operator's; lengths: (N,) float64, entries of each row. Everything is on
            the device.
    """

    name: str

    def __init__(self, operator: Operator, device: torch.device):
        self.device = device
        self._operator = operator
        self._lock = threading.Lock()
        self.degree = operator.degree.to(device)
        self.safe_degree = operator.safe_degree.to(device)
        self.lengths = operator.pointers.diff().double().to(device)
        self.order, self.rank = operator.order.to(device), operator.rank.to(device)

    @abstractmethod
    def sweep(
        self,
        source: Tensor,
        base: Tensor,
        out: Tensor,
        damping: float,
        omega: float,
        residual: Tensor | None = None,
    ) -> None:
        """As gclbench.filters.kernels.pull.sweep."""

    @abstractmethod
    def push_round(
        self,
        residue: Tensor,
        threshold: Tensor,
        alpha: float,
        reserve: Tensor,
        out: Tensor,
        active: Tensor,
    ) -> None:
        """As gclbench.filters.kernels.pull.push_round."""

    @functools.cached_property
    def components(self) -> Components:
        return self._operator.components.to(self.device)

    @functools.cached_property
    def summing_error(self) -> Tensor:
        return self._operator.summing_error.to(self.device)

    def exact_product(self, w: Tensor) -> Tensor:
        """P w in float64."""
        # Threads come here at once, and each would make the matrices for itself.
        with self._lock:
            blocks = self._exact
        out = torch.empty_like(w)
        for rows, matrix in blocks:
            out[rows] = torch.sparse.mm(matrix, w)
        return out

    @functools.cached_property
    def _exact(self) -> list[tuple[slice, Tensor]]:
        """P in float64, by groups of rows."""
        return [
            (
                slice(0, self._operator.nodes),
                self._operator.transition(torch.float64).to(self.device),
            )
        ]


class CpuPath(Path):
    """torch's compressed-row product with accumulation into its output (MKL); without MKL, torch's
    bag of rows."""

    def __init__(self, operator: Operator):
        super().__init__(operator, torch.device("cpu"))
        self._mkl = torch.backends.mkl.is_available()
        self.name = "cpu, torch.addmm (MKL)" if self._mkl else "cpu, torch.embedding_bag"
        self._inverse_degree = operator.safe_degree.reciprocal().float()[:, None]
        without_notice()
        self._blocks = list(self._row_blocks(operator))

    def _row_blocks(
        self, operator: Operator
    ) -> Iterator[tuple[slice, Tensor, Tensor, Tensor | None]]:
        """(rows, pointers, columns, matrix) of row groups of at most `BLOCK_ENTRIES` entries."""
        pointers, first = operator.pointers, 0
        while first < operator.nodes:
            limit = pointers[first] + BLOCK_ENTRIES
            last = max(first + 1, int(torch.searchsorted(pointers, limit, right=True)) - 1)
            start, stop = int(pointers[first]), int(pointers[last])
            inner = (pointers[first : last + 1] - start).int()
            columns = operator.columns[start:stop]
            matrix = None
            if self._mkl:
                values = operator.shares(slice(first, last), torch.float32)
                matrix = torch.sparse_csr_tensor(
                    inner, columns, values, (last - first, operator.nodes), check_invariants=False
                )
            yield slice(first, last), inner, columns, matrix
            first = last

    @functools.cached_property
    def _exact(self) -> list[tuple[slice, Tensor]]:
        operator, nodes = self._operator, self._operator.nodes
        return [
            (
                rows,
                torch.sparse_csr_tensor(
                    inner,
                    columns,
                    operator.shares(rows, torch.float64),
                    (len(inner) - 1, nodes),
                ),
            )
            for rows, inner, columns, _ in self._blocks
        ]

    def _weights_of(self, rows: slice) -> Tensor | None:
        """Of the entries of these rows; None where all are 1."""
        weights, pointers = self._operator.weights, self._operator.pointers
        return None if weights is None else weights[pointers[rows.start] : pointers[rows.stop]]

    def _accumulate(self, source: Tensor, out: Tensor, damping: float, keep: float) -> None:
        """out ← damping · P source + keep · out, float32."""
        for rows, pointers, columns, matrix in self._blocks:
            part = out[rows]
            if matrix is not None:
                torch.addmm(part, matrix, source, beta=keep, alpha=damping, out=part)
            else:
                bags = torch.nn.functional.embedding_bag(
                    columns,
                    source,
                    pointers,
                    mode="sum",
                    per_sample_weights=self._weights_of(rows),
                    include_last_offset=True,
                )
                bags.mul_(self._inverse_degree[rows] * damping)
                part.copy_(bags) if keep == 0.0 else part.mul_(keep).add_(bags)

    def sweep(
        self,
        source: Tensor,
        base: Tensor,
        out: Tensor,
        damping: float,
        omega: float,
        residual: Tensor | None = None,
    ) -> None:
        wide, full = source.float(), out if out.dtype == torch.float32 else out.float()
        if residual is None:
            self._accumulate(wide, full, omega * damping, 1.0 - omega)
            full.add_(base, alpha=omega)
        else:
            fresh = full if omega == 1.0 else torch.empty_like(full)
            self._accumulate(wide, fresh, damping, 0.0)
            fresh.add_(base)
            torch.sum((fresh - wide).square_(), dim=1, out=residual)
            if omega != 1.0:
                full.lerp_(fresh, omega)
        if full is not out:
            out.copy_(full)

    def push_round(
        self,
        residue: Tensor,
        threshold: Tensor,
        alpha: float,
        reserve: Tensor,
        out: Tensor,
        active: Tensor,
    ) -> None:
        over = residue > threshold
        active.copy_(over.sum(dim=1))
        moved = residue.float() * over
        reserve.copy_(reserve.float().add_(moved, alpha=alpha))
        full = residue.float() - moved
        self._accumulate(moved, full, 1.0 - alpha, 1.0)
        out.copy_(full)


class CudaPath(Path):
    """The kernel of gclbench.filters.kernels.cuda."""

    def __init__(self, operator: Operator, device: torch.device):
        super().__init__(operator, device)
        self.name = f"cuda, pull.cu ({torch.cuda.get_device_name(device)})"
        self._pointers, self._columns = operator.pointers.to(device), operator.columns.to(device)
        self._inverse_degree = operator.safe_degree.reciprocal().float().to(device)

    def sweep(
        self,
        source: Tensor,
        base: Tensor,
        out: Tensor,
        damping: float,
        omega: float,
        residual: Tensor | None = None,
    ) -> None:
        from gclbench.filters.kernels import cuda

        cuda.sweep(
            self._pointers,
            self._columns,
            self._inverse_degree,
            source,
            base,
            out,
            damping,
            omega,
            residual,
        )

    def push_round(
        self,
        residue: Tensor,
        threshold: Tensor,
        alpha: float,
        reserve: Tensor,
        out: Tensor,
        active: Tensor,
    ) -> None:
        from gclbench.filters.kernels import cuda

        cuda.push_round(
            self._pointers,
            self._columns,
            self._inverse_degree,
            residue,
            threshold,
            alpha,
            reserve,
            out,
            active,
        )


def path_for(operator: Operator, device: str) -> Path:
    """The quickest way on this device; without the kernel the CPU's, and a line in the log saying
    why. The kernel knows no weights of edges."""
    if device.startswith("cuda") and operator.weights is not None:
        log.warning("the filter runs on the CPU: its kernel has no place for edge weights")
    elif device.startswith("cuda"):
        from gclbench.filters.kernels import cuda

        there, why_not = cuda.available(device)
        if there:
            return CudaPath(operator, torch.device(device))
        log.warning("the filter runs on the CPU, with the same result: %s", why_not)
    return CpuPath(operator)
