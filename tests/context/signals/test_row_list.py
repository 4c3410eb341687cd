"""Rows after random edits are those of plain lists and matrices after the same edits."""

from random import Random

import numpy as np
import pytest

from contextune.context.enriched.row_vectors import RowVectors
from contextune.context.signals.row_list import RowList, RowNumbers
from contextune.context.signals.row_mapping import RowMapping


@pytest.mark.parametrize("seed", range(5))
def test_edits_equal_those_of_lists(seed: int) -> None:
    random = Random(seed)
    expected = [f"v{number}" for number in range(40)]
    rows, numbers = RowList(list(expected)), RowNumbers(expected)
    vectors = RowVectors.from_matrix(np.array([[float(value[1:])] for value in expected], np.float32))
    next_value = 40
    for _ in range(60):
        size = len(expected)
        removed = sorted(random.sample(range(size), min(size, random.randint(0, 2))))
        inserted = sorted(random.choices(range(size + 1), k=random.randint(0, 3)))
        values = [f"v{next_value + number}" for number in range(len(inserted))]
        next_value += len(values)
        after: list[str] = []
        for row in range(size + 1):
            after += [value for value, before in zip(values, inserted, strict=True) if before == row]
            after += [expected[row]] if row < size and row not in removed else []
        mapping = RowMapping.from_edits(size, removed, inserted)
        assert mapping.merge_lists(expected, values) == after
        rows, numbers = rows.moved(mapping, values), numbers.moved(mapping, values)
        vectors = vectors.moved(
            mapping, np.array([[float(v[1:])] for v in values], np.float32).reshape(-1, 1)
        )
        expected = after
        assert rows == expected
        assert rows[1:9:3] == expected[1:9:3]
        assert numbers == {value: row for row, value in enumerate(expected)}
        assert vectors.matrix[:, 0].tolist() == [float(value[1:]) for value in expected]
        scores = vectors.similarities([np.ones(1, np.float32)])[0]
        assert scores.tolist() == [float(value[1:]) for value in expected]
        assert [rows.find(value) for value in ("none", expected[3])] == [-1, 3]


def test_replaced_rows_leave_the_original_unchanged() -> None:
    rows = RowList(["a", "b", "c"])
    assert rows.replaced([1], ["x"]) == ["a", "x", "c"]
    assert rows == ["a", "b", "c"]
    vectors = RowVectors.from_matrix(np.eye(3, dtype=np.float32))
    changed = vectors.replaced([2], np.ones((1, 3), np.float32))
    assert changed.take([2, 0]).tolist() == [[1, 1, 1], [1, 0, 0]]
    assert vectors.matrix.tolist() == np.eye(3).tolist()
