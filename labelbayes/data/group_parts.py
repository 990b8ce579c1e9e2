"""The parts of an evaluation set by group, as a dictionary that shows itself as a table."""

from __future__ import annotations

from typing import Protocol, TypeVar

from labelbayes._html import table_html


class _HasLabels(Protocol):
    """What the table needs of an evaluation set."""

    @property
    def n(self) -> int:
        """Number of rows, multiplicities counted."""

    @property
    def n_labeled(self) -> int:
        """Number of labeled rows."""

    @property
    def n_unlabeled(self) -> int:
        """Number of rows without a label."""


Part = TypeVar("Part", bound=_HasLabels)


class GroupParts(dict[str, Part]):
    """Evaluation sets by group; a dictionary in all but how a notebook shows it.

    See Also
    --------
    labelbayes.data.evaluation_set.EvaluationSet.groups : Makes one.
    """

    def _repr_html_(self) -> str:
        rows = [
            [name, *(f"{n:,}" for n in (part.n, part.n_labeled, part.n_unlabeled))]
            for name, part in self.items()
        ]
        return table_html(["group", "rows", "labeled", "label missing"], rows)
