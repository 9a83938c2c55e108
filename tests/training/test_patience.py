"""Early stopping on the training loss."""

from __future__ import annotations

import torch
from torch import nn

from gclbench.training.patience import Patience


def walked(losses: list[float], patience: Patience, module: nn.Linear) -> int:
    """The number of the step that ended the training, or −1; the weight is the step's number."""
    for step, loss in enumerate(losses):
        module.weight.data.fill_(float(step))
        if patience.spent(loss, step):
            return step
    return -1


def test_it_ends_after_so_many_steps_without_a_new_lowest_and_goes_back():
    module = nn.Linear(1, 1)
    patience = Patience(3, module)
    assert walked([5, 4, 4.5, 3, 3, 3.5, 3, 1], patience, module) == 6
    patience.restore()
    assert module.weight.item() == 3.0
    assert (patience.findings(), patience.remarks()) == ({"steps_kept": 3}, [])


def test_a_training_that_ends_where_it_started_says_so():
    patience = Patience(2, nn.Linear(1, 1))
    assert walked([4, 4, 5], patience, nn.Linear(1, 1)) == 2
    said = (
        "the loss never fell below its first value, so early stopping kept the untrained state"
        " (method.patience=2)"
    )
    assert (patience.findings(), patience.remarks()) == ({"steps_kept": 0}, [said])


def test_a_training_of_one_step_says_that_it_compared_nothing():
    patience = Patience(2, nn.Linear(1, 1))
    walked([4], patience, nn.Linear(1, 1))
    again = Patience(2, nn.Linear(1, 1))
    again.load_state_dict(patience.state_dict())
    said = (
        "the training ended before a second loss was compared, so early stopping kept the untrained"
        " state (method.patience=2)"
    )
    assert patience.remarks() == again.remarks() == [said]


def test_without_patience_everything_stays_as_it_is():
    module = nn.Linear(1, 1)
    patience = Patience(0, module)
    assert walked([1, 2, 3, 4], patience, module) == -1
    patience.restore()
    assert module.weight.item() == 3.0
    assert (patience.findings(), patience.remarks()) == ({}, [])


def test_a_training_that_is_taken_up_again_ends_at_the_same_step_with_the_same_state():
    module = nn.Linear(1, 1)
    patience = Patience(3, module)
    assert walked([5, 4, 4.5], patience, module) == -1
    other = nn.Linear(1, 1)
    again = Patience(3, other)
    again.load_state_dict(patience.state_dict())
    assert walked([4, 4.2, 1], again, other) == 1
    again.restore()
    assert other.weight.item() == 1.0
    assert again.findings() == patience.findings() == {"steps_kept": 1}
    assert torch.equal(other.bias, module.bias)
