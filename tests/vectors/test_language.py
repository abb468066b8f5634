from collections import Counter

import pytest

from clusterns.errors import UserError
from clusterns.vectors.language import Language, detect_language, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Sort an array, in-place!", ["sort", "an", "array", "in", "place"]),
        ("numpy.sort_by(x2) 404", ["numpy", "sort", "by", "x2", "404"]),
        ("C++ or C#, not C", ["c++", "or", "c#", "not", "c"]),
        ("l'été d\N{RIGHT SINGLE QUOTATION MARK}or", ["l", "été", "d", "or"]),
        # The same letter composed and as letter and accent; full-width letters; ligatures.
        ("e\u0301te\u0301 ＡＢＣ ﬁnd", ["été", "abc", "find"]),
        ("हिन्दी की किताब", ["हिन्दी", "की", "किताब"]),
        ("中文书", ["中", "文", "书", "中文", "文书"]),
        ("コーヒー", ["コ", "ー", "ヒ", "ー", "コー", "ーヒ", "ヒー"]),
        ("API文档v2", ["api", "文", "档", "文档", "v2"]),
        ("한국", ["한", "국", "한국"]),
        ("กข ค", ["ก", "ข", "กข", "ค"]),
        ("x" * 41, ["x" * 40, "x"]),
        ("... -- !", []),
        ("", []),
    ],
)
def test_words(text, words):
    assert words_of(text) == words


def test_a_query_without_spaces_is_pairs_unless_it_is_one_character():
    assert words_of("中文书", is_query=True) == ["中文", "文书"]
    assert words_of("书 abc", is_query=True) == ["书", "abc"]


def test_stems_and_stop_words():
    english = Language("english")
    assert english.stems(["sorting", "sorts", "arrays"]) == ["sort", "sort", "array"]
    assert english.query_words("how to sort the arrays") == ["sort", "arrays"]
    assert english.query_words("to be or not to be") == ["to", "be", "or", "not", "to", "be"]
    assert Language("german").query_words("Die Häuser am See") == ["häuser", "see"]
    assert Language("german").stems(["häuser"]) == Language("german").stems(["haus"])


def test_a_language_without_stop_words_has_stems():
    finnish = Language("finnish")
    assert finnish.query_words("talo ja auto") == ["talo", "ja", "auto"]
    assert finnish.stems(["talossa"]) == finnish.stems(["talot"])


def test_none_changes_nothing():
    assert Language("none").stems(["Sorting"]) == ["Sorting"]
    assert Language("none").query_words("how to sort") == ["how", "to", "sort"]


def test_an_unknown_language_is_refused():
    with pytest.raises(UserError, match="--language klingon: unknown language.*, dutch, "):
        Language("klingon")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("the cat sat on the mat and it was not the dog that did", "english"),
        ("der Hund und die Katze sind nicht im Haus", "german"),
        ("le chat et le chien ne sont pas dans la maison", "french"),
        ("кошка и собака не были в доме", "russian"),
        ("numpy pandas scipy torch", "none"),
        ("我们在书店买书", "none"),
        ("", "none"),
    ],
)
def test_the_language_of_a_corpus_is_found_by_its_stop_words(text, language):
    assert detect_language(Counter(words_of(text))) == language
