from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from clusterns.data import lines
from clusterns.data.columns import Columns
from clusterns.data.corpus import prepare_corpus
from clusterns.data.lines import text_lines
from clusterns.data.passages import located_rows
from clusterns.data.sources import find_sources


def read(text: str, name: str = "a.md") -> list[str]:
    return list(text_lines(Path(name), io.BytesIO(text.encode())))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("No markup: 2 * 3 * 4, snake_case_name, a < b, R&D.", None),
        ("# A *title* {#anchor}", "# A title"),
        ("**Bold**, *light*, _light_, __bold__, ***both*** and ~~gone~~.",
         "Bold, light, light, bold, both and gone."),
        ("Run `a_b *c* <d> {{ e }}` and ``f ` g``.", "Run a_b *c* <d> {{ e }} and f ` g."),
        (r"Five \* six \_seven\_", "Five * six _seven_"),
        ('See [the guide](http://x.org/a_(b) "Title"), [it][1] and [all][].',
         "See the guide, it and all."),
        ("An ![image](a.png) and [![badge](b.svg)](http://x.org) here.", "An and here."),
        ("[[Page]], [[page|its words]] and ![[embedded]]", "Page, its words and"),
        ("[1]: http://x.org 'Title'", ""),
        ("A claim.[^1]", "A claim."),
        ("[^1]: The note.", "The note."),
        ("One<br>two <b>three</b> <!-- four --> &amp; five&nbsp;six", "One two three & five six"),
        ("<https://x.org> and x@y.org", "https://x.org and x@y.org"),
        ("Hello {{ user.name }}, {% if x %}read{% endif %} [on]({{ site.url }}/on).",
         "Hello, read on."),
        ("- [x] A task", "- A task"),
        ("  * an *item*", "  * an item"),
        ("> A quotation", "A quotation"),
        ("> [!NOTE]", ""),
        ("::: warning", ""),
        ("array[i][j] of [1, 2]", None),
        ("See [the guide].\n\n[the guide]: x.md", "See the guide.\n\n"),
    ],
)  # fmt: skip
def test_markup_within_a_line_of_markdown(text: str, plain: str | None) -> None:
    assert "\n".join(read(text)) == (text if plain is None else plain)


@pytest.mark.parametrize(
    ("dropped", "name"),
    [
        ("---\ntitle: A page\ntags:\n  - one\n---", "a.md"),
        ('+++\ntitle = "A page"\n\n[extra]\n+++', "a.markdown"),
        ("```python\nif x:\n\n    y()\n```", "a.md"),
        ("~~~~\n```\n~~~\n~~~~", "a.md"),
        ("- ```\n  code\n  ```", "a.md"),
        ("    indented code", "a.md"),
        ("<!-- A comment\n\n```\n-->", "a.md"),
        ("<style>\np { color: red }\n\n</style>", "a.md"),
        ("{% highlight python %}\nx = 1\n{% endhighlight %}", "a.md"),
        ("<div\n  class='x'\n>", "a.md"),
        (".. toctree::\n   :maxdepth: 2\n\n   one\n   two", "a.rst"),
        (".. code-block:: python\n\n   x = 1\n\n   y = 2", "a.rst"),
        (".. A comment\n   goes on", "a.rst"),
        (".. _target:", "a.rst"),
        (".. |name| image:: x.png", "a.rst"),
        ("__ http://x.org", "a.rst"),
        (">>> 1 + 1\n2", "a.rst"),
        ("::\n\n   code", "a.rst"),
        ("<script>\nif (a < b) { c() }\n</script>", "a.html"),
        ("<nav><ul>\n<li>Home</li></ul>\n</nav>", "a.html"),
        ("<!doctype html>\n<title>A page</title>\n<!-- a\nb --><![if x]>", "a.html"),
        ("<pre>\ncode\n</pre>", "a.htm"),
    ],
)
def test_what_is_no_prose_leaves_empty_lines(dropped: str, name: str) -> None:
    text = read(f"{dropped}\n\nProse.\n", name)
    assert text == [""] * (dropped.count("\n") + 2) + ["Prose."]


def test_a_rule_at_the_top_is_no_front_matter() -> None:
    assert read("---\nProse\n---\n") == ["", "## Prose", ""]


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_markup_over_several_lines(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BLOCK", size)
    assert read("With [the\nguide](\nx.md) and\n**bold\nwords**.") == [
        "With the", "guide and", "bold", "words.", "",
    ]  # fmt: skip
    page = "<p>A &lt; B\n\nand <b>so\non</b>.</p><p>C</p>\n<h2>\nD &amp;\nE</h2>last"
    assert read(page, "a.html") == [
        "A < B and so on.", "", "", "C", "", "## D & E", "last",
    ]  # fmt: skip


def test_restructured_text() -> None:
    text = """Title
'''''
See :ref:`the guide <g>`, :func:`~os.path.join`, ``a*b``, `Python <http://x.org>`_
and Sphinx_ [1]_ in |version|. *Light*, **bold**. For example::

    code

.. note:: Be *careful*.

   More text.

.. function:: f(x)
   :noindex:

   Does it.

   :param x: The x.

.. [1] A note.
"""
    assert read(text, "a.rst") == [
        "Title", "=====", "See the guide, join, a*b, Python", "and Sphinx in version. Light, bold. For example:",
        "", "", "", "Be careful.", "", "   More text.", "", "", "", "", "   Does it.", "", "   The x.", "", "A note.",
    ]  # fmt: skip


def test_blocks_of_html() -> None:
    page = """<html><body>
<h1>A <em>title</em></h1>
<p>One sentence
that goes on.
<p>Another<br>
and more.</p>
<ul><li>one</li><li>two</li></ul>
</body></html>"""
    assert read(page, "a.html") == [
        "", "# A title", "One sentence that goes on.", "", "Another", "and more.", "one two", "",
    ]  # fmt: skip


def test_headings_and_lines_of_passages_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\ntitle: x\n---\n# The *first*\n\nSome [words](x).\n")
    (tmp_path / "b.html").write_text("<h2>Second</h2>\n\n<p>More\nwords.</p>\n<p>Last.</p>")
    (tmp_path / "c.rst").write_text(".. _t:\n\nThird\n.....\n\nOther ``words``.\n")
    batches = located_rows(find_sources([str(tmp_path)]), Columns(), unit="passage")
    rows: list[dict[str, Any]] = [row for batch in batches for row in batch.to_pylist()]
    assert [(Path(row["source"]).name, row["line"], row["heading"], row["text"]) for row in rows] == [
        ("a.md", 4, "The first", "The first\nSome words."),
        ("b.html", 1, "Second", "Second\nMore words."),
        ("b.html", 5, "Second", "Last."),
        ("c.rst", 3, "Third", "Third\nOther words."),
    ]  # fmt: skip


def test_a_corpus_of_a_folder_of_markdown(tmp_path: Path) -> None:
    """Without marks, and with all lines of a paragraph joined, whatever their length."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text(
        "---\ntitle: this is dropped\n---\n\n## The **first** has five words\n\n- A list item is\n"
        "  joined to a whole.\n- And\n  another one follows it here. It ends here.\n"
    )
    (folder / "b.md").write_text("```\nthis is code too\n```\nThe second has words, [too](b.md).\n")
    corpus = prepare_corpus(
        [str(folder)], cache=tmp_path / "cache", progress=False, split_sentences=True
    )
    expected = [
        "The first has five words", "A list item is joined to a whole.",
        "And another one follows it here.", "It ends here.", "The second has words, too.",
    ]  # fmt: skip
    assert corpus.dataset["text"][:] == expected
    batches = located_rows(find_sources([str(folder)]), Columns(), unit="sentence")
    assert [row["text"] for batch in batches for row in batch.to_pylist()] == expected
