"""InfoGraph and GraphCL as plain torch_geometric scripts: a loader of single graphs, augmentations
graph by graph, dense losses. What `bench_graphs.py` compares with.

The batches of all epochs come from a function of their own, so that a training can also be timed on
batches that lie ready.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize, one_hot, softplus
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GINConv, global_add_pool
from torch_geometric.utils import subgraph

from gclbench.graph import Graph
from gclbench.methods.graphcl import Graphcl
from gclbench.methods.infograph import Infograph


class PlainGin(nn.Module):
    """Three GIN layers of PyG's, batch norm after ReLU, sum pooling of each."""

    def __init__(self, inputs: int, width: int, layers: int):
        super().__init__()
        sizes = [inputs, *[width] * (layers - 1)]
        self.layers = nn.ModuleList(
            GINConv(nn.Sequential(nn.Linear(before, width), nn.ReLU(), nn.Linear(width, width)))
            for before in sizes
        )
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in sizes)

    def forward(self, batch: Data) -> tuple[Tensor, Tensor]:
        """Nodes and graphs, the layers side by side."""
        h, found = batch.x, []
        for layer, norm in zip(self.layers, self.norms, strict=True):
            h = norm(layer(h, batch.edge_index).relu())
            found.append(h)
        nodes = torch.cat(found, dim=1)
        return nodes, global_add_pool(nodes, batch.batch, batch.num_graphs)


class PlainHead(nn.Module):
    """Three layers with ReLU and a linear shortcut."""

    def __init__(self, width: int):
        super().__init__()
        layers = [layer for _ in range(3) for layer in (nn.Linear(width, width), nn.ReLU())]
        self.layers, self.shortcut = nn.Sequential(*layers), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """M×d → M×d."""
        return self.layers(x) + self.shortcut(x)


def single_graphs(graph: Graph) -> list[Data]:
    """The graphs of a collection, one by one."""
    sizes = torch.bincount(graph.graph_of)
    edges = torch.bincount(graph.graph_of[graph.edge_index[0]], minlength=len(sizes))
    first = sizes.cumsum(0) - sizes
    parts = zip(
        graph.x.split(sizes.tolist()),
        graph.edge_index.split(edges.tolist(), dim=1),
        first,
        strict=True,
    )
    return [Data(x=x, edge_index=entries - start) for x, entries, start in parts]


def augmented(data: Data, ratio: float, walk: float, draw: random.Random) -> Data:
    """Nodes dropped or a walk kept, each with probability ½."""
    nodes = data.num_nodes
    if draw.random() < 0.5:
        gone = set(draw.sample(range(nodes), int(ratio * nodes)))
        kept = [node for node in range(nodes) if node not in gone]
    else:
        neighbours: list[list[int]] = [[] for _ in range(nodes)]
        for u, v in data.edge_index.T.tolist():
            neighbours[u].append(v)
        taken = {draw.randrange(nodes)}
        frontier = {node for start in taken for node in neighbours[start]}
        for _ in range(int(walk * nodes)):
            if not frontier:
                break
            node = draw.choice(sorted(frontier))
            taken.add(node)
            frontier = (frontier | set(neighbours[node])) - taken
        kept = sorted(taken)
    index = torch.tensor(kept)
    edge_index, _ = subgraph(index, data.edge_index, relabel_nodes=True, num_nodes=nodes)
    return Data(x=data.x[index], edge_index=edge_index)


class Pairs(torch.utils.data.Dataset):
    """Each graph with an augmented copy of it, drawn when it is asked for."""

    def __init__(self, graphs: list[Data], method: Graphcl, draw: random.Random):
        self.graphs, self.method, self.draw = graphs, method, draw

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, number: int) -> tuple[Data, Data]:
        data = self.graphs[number]
        return data, augmented(data, self.method.ratio, self.method.walk, self.draw)


def contrast(u: Tensor, v: Tensor, tau: float) -> Tensor:
    """GraphCL's loss from the whole matrix of similarities."""
    scores = (normalize(u, dim=1) @ normalize(v, dim=1).T / tau).exp()
    positive = scores.diagonal()
    return -(positive / (scores.sum(dim=1) - positive)).log().mean()


def discrimination(nodes: Tensor, graphs: Tensor, graph_of: Tensor) -> Tensor:
    """InfoGraph's loss from the whole matrix of scores, its masks by comparison of indices."""
    scores = nodes @ graphs.T
    own = one_hot(graph_of, len(graphs)).to(scores.dtype)
    log_2 = torch.log(torch.tensor(2.0))
    positive = (log_2 - softplus(-scores * own)).sum() / len(nodes)
    others = scores * (1 - own)
    negative = (softplus(-others) + others - log_2).sum() / (len(nodes) * (len(graphs) - 1))
    return negative - positive


def graphcl_batches(graphs: list[Data], method: Graphcl, seed: int) -> Iterator[tuple[Data, Data]]:
    """The batches of all epochs, each with its augmented view."""
    torch.manual_seed(seed)
    pairs = Pairs(graphs, method, random.Random(seed))
    for _ in range(method.epochs):
        yield from DataLoader(pairs, method.batch_size, shuffle=True)


def train_graphcl(
    inputs: int, method: Graphcl, seed: int, batches: Iterable[tuple[Data, Data]]
) -> PlainGin:
    """GraphCL's encoder, trained on these batches of graphs with so many features."""
    torch.manual_seed(seed)
    encoder = PlainGin(inputs, method.hidden, method.layers)
    width = method.hidden * method.layers
    projector = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
    parameters = [*encoder.parameters(), *projector.parameters()]
    optimiser = torch.optim.Adam(parameters, lr=method.lr)
    for batch, view in batches:
        loss = contrast(projector(encoder(batch)[1]), projector(encoder(view)[1]), method.tau)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return encoder


def infograph_batches(graphs: list[Data], method: Infograph, seed: int) -> Iterator[Data]:
    """The batches of all epochs."""
    torch.manual_seed(seed)
    for _ in range(method.epochs):
        yield from DataLoader(graphs, method.batch_size, shuffle=True)


def train_infograph(inputs: int, method: Infograph, seed: int, batches: Iterable[Data]) -> PlainGin:
    """InfoGraph's encoder, trained on these batches of graphs with so many features."""
    torch.manual_seed(seed)
    encoder = PlainGin(inputs, method.hidden, method.layers)
    heads = [PlainHead(method.hidden * method.layers) for _ in range(2)]
    parameters = [p for module in (encoder, *heads) for p in module.parameters()]
    optimiser = torch.optim.Adam(parameters, lr=method.lr)
    for batch in batches:
        nodes, wholes = encoder(batch)
        loss = discrimination(heads[0](nodes), heads[1](wholes), batch.batch)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return encoder


def embedded(encoder: PlainGin, graphs: list[Data], batch_size: int) -> Tensor:
    """The graph vectors in order."""
    encoder.eval()
    with torch.no_grad():
        return torch.cat([encoder(batch)[1] for batch in DataLoader(graphs, batch_size)])
