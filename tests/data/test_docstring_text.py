from __future__ import annotations

import pytest

from clusterns.data.docstring_text import docstring_sentences

NUMPY_STYLE = """
    sort_all(a, axis=-1)

    Return a sorted copy of an array.

    It is stable. The copy has the type
    of the array, see :ref:`the guide <https://example.org/guide>`_ [1]_.

    .. versionadded:: 1.4
       Not a sentence for us.

    Parameters
    ----------
    a : array_like
        Array to be sorted at length.

    Notes
    -----
    Any of :func:`~package.sort` and ``argsort`` may be used:

    - the *first* one is fast and
      it is simple,
    - the **second** one gives indices.

    .. note:: It never changes its input.

    =====  =======
    kind   speed of it all
    =====  =======
    heap   slow as it goes
    =====  =======

    Examples
    --------
    This sentence leads to an example.

    >>> sort_all([2, 1])
    [1, 2]
    """

GOOGLE_STYLE = """Loads a model by its name.

Some more about [`AutoModel`] and [links](http://example.org).

Example::

    model = load("this is no sentence")

Args:
    name (str): The name of the model to load.

        With one more paragraph about it.
    cache: Where files are kept for later.

Returns:
    The model that was loaded.

Note:
    A note is prose as well.

```python
load("this is no sentence either")
```

>>> load("nor is this one")
no sentence at all

:param other: An argument in another style
    that goes on here.
:returns: the same thing again

The last words of it all.
"""


def test_numpy_style() -> None:
    assert docstring_sentences(NUMPY_STYLE) == [
        "Return a sorted copy of an array.",
        "It is stable.",
        "The copy has the type of the array, see the guide.",
        "the first one is fast and it is simple,",
        "the second one gives indices.",
        "It never changes its input.",
    ]


def test_google_and_sphinx_style() -> None:
    assert docstring_sentences(GOOGLE_STYLE) == [
        "Loads a model by its name.",
        "Some more about AutoModel and links.",
        "A note is prose as well.",
        "The last words of it all.",
    ]


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("", []),
        ("Too short.", []),
        ("dtype : numpy.dtype, optional", []),
        ("x = (a[0] + b[1]) ** 2 - c", []),
        (r"where :math:`\alpha` is a number", []),
        ("One line without a full stop", ["One line without a full stop"]),
        ("Title of it\n===========\n\nThen there is text.", ["Then there is text."]),
        ("| a | table | row |\n|---|---|---|\n\nAnd then a sentence.", ["And then a sentence."]),
        ("Words:\n\nterm\n    Its definition is a sentence.", ["Its definition is a sentence."]),
    ],
)
def test_small_cases(docstring: str, expected: list[str]) -> None:
    assert docstring_sentences(docstring) == expected
