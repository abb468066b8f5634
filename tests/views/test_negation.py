from __future__ import annotations

import random

import pytest
from transformers import AutoTokenizer

from clusterns.encoder.locate import minibert_folder
from clusterns.views.lexicon import _LEXICON, Form, forms_of
from clusterns.views.negation import negate
from clusterns.views.prompting import templated_tokenizer
from clusterns.views.template import Template
from clusterns.views.view import FullStop, Negation

NEGATED = [
    ("A man is playing a guitar.", "A man is not playing a guitar."),
    ("Two dogs are running through the snow.", "Two dogs are not running through the snow."),
    ("The children were sleeping.", "The children were not sleeping."),
    ("She has finished her work.", "She has not finished her work."),
    ("They had already left.", "They had not already left."),
    ("The house was built in 1890.", "The house was not built in 1890."),
    ("He will come tomorrow.", "He will not come tomorrow."),
    ("You should see a doctor.", "You should not see a doctor."),
    ("I can swim.", "I can not swim."),
    ("It might rain tonight.", "It might not rain tonight."),
    ("We must leave now.", "We must not leave now."),
    ("He ought to apologise.", "He ought not to apologise."),
    ("The bridge could be closed for weeks.", "The bridge could not be closed for weeks."),
    ("In May he may visit us.", "In May he may not visit us."),
    ("The sky is blue.", "The sky is not blue."),
    ("I am happy.", "I am not happy."),
    ("They were our neighbours.", "They were not our neighbours."),
    ("There is a cat on the roof.", "There is not a cat on the roof."),
    ("It was the best film of the year.", "It was not the best film of the year."),
    ("He goes home.", "He does not go home."),
    ("She likes swimming.", "She does not like swimming."),
    (
        "The band released its first album in 1999.",
        "The band did not release its first album in 1999.",
    ),
    ("They live in Paris.", "They do not live in Paris."),
    ("People need water.", "People do not need water."),
    ("He put the book on the table.", "He did not put the book on the table."),
    ("The company bought three factories.", "The company did not buy three factories."),
    ("I know that he is here.", "I do not know that he is here."),
    ("Officials said the talks failed.", "Officials did not say the talks failed."),
    ("A man dressed in black plays the piano.", "A man dressed in black does not play the piano."),
    ("She studied law and became a judge.", "She did not study law and became a judge."),
    ("He has a dog.", "He does not have a dog."),
    ("They have three children.", "They do not have three children."),
    ("He had a long beard.", "He did not have a long beard."),
    ("She does her homework.", "She does not do her homework."),
    ("I did it.", "I did not do it."),
    ("You have to go.", "You do not have to go."),
    ("The river carries sand to the sea.", "The river does not carry sand to the sea."),
    ("Water freezes at zero degrees.", "Water does not freeze at zero degrees."),
    ("He does not smoke.", "He does smoke."),
    ("She is not tired.", "She is tired."),
    ("They have not arrived yet.", "They have arrived yet."),
    ("He never drinks coffee.", "He drinks coffee."),
    ("Not all birds can fly.", "All birds can fly."),
    ("You need not worry.", "You need worry."),
    ("There is no reason.", "There is reason."),
    ("He has no money.", "He has money."),
    ("I don't know.", "I do know."),
    ("She can't swim.", "She can swim."),
    ("They won't come.", "They will come."),
    ("You cannot park here.", "You can park here."),
    ("It isn't far.", "It is far."),
    ("He didn't call.", "He did call."),
    ("She doesn't like tea.", "She does like tea."),
    ("I’m sure it wasn’t him.", "I’m not sure it wasn’t him."),
    ("She's tired.", "She's not tired."),
    ("They've gone.", "They've not gone."),
    ("I'd like some tea.", "I'd not like some tea."),
    ("We're late.", "We're not late."),
    ("It'll snow.", "It'll not snow."),
    ("Let's go.", "Let's not go."),
    ("That's a good idea.", "That's not a good idea."),
    ("Does he go home?", "Does he not go home?"),
    ("Do you like tea?", "Do you not like tea?"),
    ("Is the man playing a guitar?", "Is the man not playing a guitar?"),
    ("Is the man a teacher?", "Is the man not a teacher?"),
    ("Are you ready?", "Are you not ready?"),
    ("Can dogs swim?", "Can dogs not swim?"),
    ("Will the train be late?", "Will the train not be late?"),
    ("Has the bus arrived?", "Has the bus not arrived?"),
    ("Did she write the letter?", "Did she not write the letter?"),
    ("Why did he leave?", "Why did he not leave?"),
    ("Where do you live?", "Where do you not live?"),
    ("How do I open a file?", "How do I not open a file?"),
    ("What is your name?", "What is not your name?"),
    ("Who won the race?", "Who did not win the race?"),
    ("Where is the station?", "Where is not the station?"),
    ("Isn't it late?", "Is it late?"),
    ("Doesn't he know?", "Does he know?"),
    ("Won't you come?", "Will you come?"),
    ("Which team has won?", "Which team has not won?"),
    ("When was the bridge built?", "When was the bridge not built?"),
    ("Go home!", "Do not go home!"),
    ("Take the bus.", "Do not take the bus."),
    ("Be quiet!", "Do not be quiet!"),
    ("Do not open the window.", "Do open the window."),
    ("Don't touch it.", "Do touch it."),
    ("The dog and the cat", "Not the dog and the cat"),
    ("A red car in front of a house.", "Not a red car in front of a house."),
    ("Paris in the spring", "Not Paris in the spring"),
    ("To win is hard.", "To win is not hard."),
    ("If it is raining, we stay.", "If it is not raining, we stay."),
    ("What he says is true.", "What he says is not true."),
    ("When he arrived, the train had left.", "When he arrived, the train had not left."),
    ("Although she was ill, she worked.", "Although she was ill, she did not work."),
    ("John's car broke.", "John's car did not break."),
    ("Film stars attend the event.", "Film stars do not attend the event."),
    ("The film stars Tom Hanks.", "The film does not star Tom Hanks."),
    ("A woman and a child push strollers.", "A woman and a child do not push strollers."),
    ("The man who is here left.", "The man who is here did not leave."),
    ("Why is the sky blue?", "Why is the sky not blue?"),
    ("Good morning!", "Not Good morning!"),
    ("New prices for milk", "Not New prices for milk"),
]


@pytest.mark.parametrize(("sentence", "negation"), NEGATED)
def test_rules(sentence: str, negation: str) -> None:
    assert negate(sentence) == negation


@pytest.mark.parametrize(
    ("text", "negation"),
    [("", "Not"), ("  ", "Not"), ("?!", "Not ?!"), ("猫が好きです", "Not 猫が好きです")],
)
def test_texts_without_english_words(text: str, negation: str) -> None:
    assert negate(text) == negation


@pytest.mark.parametrize(
    ("word", "lemma"),
    [("planned", "plan"), ("visited", "visit"), ("carried", "carry"), ("released", "release"),
     ("wrote", "write"), ("travelled", "travel"), ("traveled", "travel"), ("googled", "google"),
     ("rebooted", "reboot"), ("digitised", "digitise")],
)  # fmt: skip
def test_lemma_of_a_past(word: str, lemma: str) -> None:
    assert Form(lemma, "past") in forms_of(word)


def test_words_in_ed_that_are_no_verbs() -> None:
    assert not any(forms_of(word) for word in ("hundred", "sacred", "red", "speed"))


def test_lexicon_has_no_verb_twice() -> None:
    assert len(_LEXICON["regular"].split()) == len(set(_LEXICON["regular"].split()))


GENERATOR = random.Random(0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A man eats", "A man eats."),
        ("Who eats?", "Who eats?"),
        ("Go! ", "Go!."),  # as at test: the rule is PromptBERT's
        ('"Yes"', '"Yes"'),
    ],
)
def test_a_full_stop_where_there_is_none(text: str, expected: str) -> None:
    assert FullStop()(text, GENERATOR) == expected


def test_the_full_stop_is_where_the_model_has_it_at_test() -> None:
    tokenizer = AutoTokenizer.from_pretrained(minibert_folder())
    template = Template("{sentence} means {mask}.")
    test, training = (templated_tokenizer(tokenizer, template, full_stop=f) for f in (True, False))
    for end in ("", ".", "?", "!", ",", ")", "'", '"', " ", ". ", "\n"):
        text = f"A man eats{end}"
        assert training(FullStop()(text, GENERATOR)).input_ids == test(text).input_ids, end


def test_a_negated_sentence_ends_in_a_full_stop() -> None:
    assert Negation()("The man is eating", GENERATOR) == "The man is not eating."
