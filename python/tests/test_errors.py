"""The exceptions: one base, a code and a message, and they travel between processes."""

import pickle

import pytest

import coder_core
from coder_core import BoundaryError, CoderError, Refused, StoreError, TraceError, WorkspaceError

CLASSES = [CoderError, Refused, StoreError, TraceError, WorkspaceError, BoundaryError]


@pytest.mark.parametrize("error", CLASSES)
def test_an_error_is_its_code_and_its_message(error: type[CoderError]) -> None:
    raised = error("not_found", "there is no such task")
    assert issubclass(error, CoderError)
    assert (raised.code, raised.message) == ("not_found", "there is no such task")
    assert str(raised) == "there is no such task (not_found)"
    assert error.__module__ == "coder_core"
    again = pickle.loads(pickle.dumps(raised))  # noqa: S301 - our own bytes
    assert (type(again), again.args) == (error, raised.args)


def test_values_of_the_extension_name_their_package() -> None:
    named = [coder_core.Store, coder_core.Boundary, coder_core.Completed, coder_core.Snapshot, coder_core.Entry]
    assert {each.__module__ for each in named} == {"coder_core"}
