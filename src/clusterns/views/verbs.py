"""English verbs: from a form to its lemma, by a short lexicon and the rules of spelling."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Literal, NamedTuple

Kind = Literal["base", "third", "past", "participle"]


class Form(NamedTuple):
    """What a word can be as a form of a verb."""

    lemma: str
    kind: Kind


# Lemma, past and, where it differs, participle.
IRREGULAR = """
arise arose arisen/awake awoke awoken/bear bore born/beat beat beaten/become became become
begin began begun/bend bent/bet bet/bid bid/bind bound/bite bit bitten/bleed bled/blow blew blown
break broke broken/breed bred/bring brought/broadcast broadcast/build built/burst burst/buy bought
cast cast/catch caught/choose chose chosen/cling clung/come came come/cost cost/creep crept/cut cut
deal dealt/dig dug/draw drew drawn/drink drank drunk/drive drove driven/eat ate eaten
fall fell fallen/feed fed/feel felt/fight fought/find found/flee fled/fling flung/fly flew flown
forbid forbade forbidden/forget forgot forgotten/forgive forgave forgiven/freeze froze frozen
get got gotten/give gave given/go went gone/grind ground/grow grew grown/hang hung/have had
hear heard/hide hid hidden/hit hit/hold held/hurt hurt/keep kept/kneel knelt/know knew known/lay laid
lead led/leap leapt/leave left/lend lent/let let/lie lay lain/light lit/lose lost/make made
mean meant/meet met/mistake mistook mistaken/overcome overcame overcome/pay paid/put put/quit quit
read read/ride rode ridden/ring rang rung/rise rose risen/run ran run/say said/see saw seen
seek sought/sell sold/send sent/set set/shake shook shaken/shed shed/shine shone/shoot shot
show showed shown/shrink shrank shrunk/shut shut/sing sang sung/sink sank sunk/sit sat/sleep slept
slide slid/slit slit/speak spoke spoken/spend spent/spin spun/split split/spread spread
spring sprang sprung/stand stood/steal stole stolen/stick stuck/sting stung/strike struck/string strung
swear swore sworn/sweep swept/swim swam swum/swing swung/take took taken/teach taught/tear tore torn
tell told/think thought/throw threw thrown/tread trod trodden/undergo underwent undergone
understand understood/uphold upheld/undertake undertook undertaken/wake woke woken/wear wore worn/weave wove woven
weep wept/win won/wind wound/withdraw withdrew withdrawn/write wrote written/do did done
"""

REGULAR = """
abandon absorb accept accompany accomplish achieve acknowledge acquire act adapt add address adjust
admire admit adopt advance advise affect afford agree aim allow alter amaze announce annoy answer
anticipate apologise apologize appeal appear apply appoint appreciate approach approve argue arrange
arrest arrive ask assemble assert assess assign assist associate assume assure attach attack attain
attempt attend attract award avoid back bake balance ban bark base behave believe belong benefit
blame block boast boil book borrow bother bounce bow breathe brush burn bury calculate call calm camp
cancel capture care carry carve cause cease celebrate challenge change charge chase chat cheat check
cheer chew chop claim clap clean clear click climb close coach collapse collect combine comfort
command comment commit communicate compare compensate compete complain complete compose comprise conceal concentrate
concern conclude conduct confess confirm confuse connect conquer consider consist constitute construct
consult consume contact contain contest continue contribute control convert convey convict convince cook
cooperate cope copy correct correspond cough count cover crash crawl create criticise criticize cross
cry cultivate cure curl cycle damage dance dare date debate decide declare decline decorate decrease
dedicate defeat defend define delay delete deliver demand demonstrate deny depart depend depict deploy
deposit derive descend describe deserve design desire destroy detect determine develop devote die differ
diminish dine direct disagree disappear discover discuss dislike dismiss display distinguish distribute
dive divide divorce dominate donate double doubt download drag dream dress drift drop drown dry earn
edit educate elect eliminate embrace emerge emit emphasise emphasize employ enable encounter encourage end
endorse endure enforce engage enhance enjoy enrol enroll ensure enter entertain escape establish estimate
evaluate evolve examine exceed exchange excite exclude execute exercise exhibit exist expand expect
experience explain explode explore export expose express extend face fade fail fear feature fetch fill
film finance finish fire fit fix flash float flow fold follow force form frame frighten fry fulfil
function fund gain gather gaze generate glance govern grab graduate grant greet grip guarantee guard guess
guide hand handle happen harm hate head heal heat help hesitate highlight hike hire honour honor hope host
hug hunt hurry identify ignore illustrate imagine imply import impose impress improve include incorporate
increase indicate influence inform inherit inhabit initiate injure insert insist inspect inspire install
intend interpret interrupt interview introduce invade invent invest investigate invite involve iron issue
jog join joke judge juggle jump justify kick kill kiss knit knock label lack land last laugh launch
lean learn level lick lift like limit link list listen live load locate lock look love lower maintain
manage march mark marry master match matter measure melt mention merge miss mix modify monitor motivate mount
move murder name need negotiate nod note notice obey object observe obtain occupy occur offer open operate
oppose order organise organize originate outline overlook owe own pack paint park participate pass pause
peel perceive perform permit persuade phone pick place plan plant play please point polish portray possess
post pour practise practice praise pray predict prefer prepare prescribe present preserve press pretend
prevent print proceed produce progress prohibit promise promote propose protect protest prove provide
publish pull punch punish purchase pursue push qualify question quote race raise range rank rate reach
react realise realize recall receive recognise recognize recommend record recover reduce refer reflect
refuse regard register regret regulate reject relate relax release rely remain remember remind remove
rent repair repeat replace reply report represent request require rescue research resemble reserve reside
resign resist resolve respect respond rest restore restrict result retain retire return reveal reverse
review reward roar rob roll row rub ruin rule rush sail satisfy save scare schedule score scream search
seem select separate serve settle shape share shave shift shop shout sign signal ski skate slap slice slip
slow smash smell smile smoke snow solve sound spell spill spot squeeze stab stare star start state stay
stem step stir stop store strengthen stress stretch struggle study submit succeed suffer suggest suit supply
support suppose surprise surrender surround survive suspect suspend switch symbolise symbolize talk target
taste tend terminate test thank threaten tie touch tour trace track trade train transfer transform translate
transmit transport travel treat trigger try turn type unite unveil update upload urge use utilise utilize
vanish vary visit vote wait walk wander want warm warn wash waste watch water wave weigh welcome whisper
widen wipe wish witness wonder work worry wrap yell yield zoom capsize arouse allege
"""

# Words in -ed that are no past of a verb.
NO_PAST = frozenset(
    "hundred sacred naked wicked rugged ragged kindred hatred biped moped infrared indeed wretched "
    "beloved talented gifted bed red shed sled speed seed weed deed creed breed greed steed".split()
)
VOWELS = frozenset("aeiou")


@cache
def _table() -> dict[str, tuple[Form, ...]]:
    """All forms of the verbs of the lexicon."""
    table: dict[str, list[Form]] = {}
    for entry in IRREGULAR.replace("\n", "/").strip("/").split("/"):
        lemma, past, *rest = entry.split()
        for word, kind in ((past, "past"), (rest[0] if rest else past, "participle")):
            table.setdefault(word, []).append(Form(lemma, kind))  # type: ignore[arg-type]
        _add_present(table, lemma)
    for lemma in REGULAR.split():
        past = _past(lemma)
        table.setdefault(past, []).extend([Form(lemma, "past"), Form(lemma, "participle")])
        _add_present(table, lemma)
    return {word: tuple(dict.fromkeys(forms)) for word, forms in table.items()}


def _add_present(table: dict[str, list[Form]], lemma: str) -> None:
    third = {"have": "has"}.get(lemma, _third(lemma))
    table.setdefault(lemma, []).append(Form(lemma, "base"))
    table.setdefault(third, []).append(Form(lemma, "third"))


def _third(lemma: str) -> str:
    if lemma.endswith(("s", "x", "z", "ch", "sh", "o")):
        return lemma + "es"
    return lemma[:-1] + "ies" if _ends_in_y(lemma) else lemma + "s"


def _past(lemma: str) -> str:
    if lemma.endswith("e"):
        return lemma + "d"
    if _ends_in_y(lemma):
        return lemma[:-1] + "ied"
    return (lemma + lemma[-1] if _doubles(lemma) else lemma) + "ed"


def _ends_in_y(lemma: str) -> bool:
    return lemma.endswith("y") and lemma[-2] not in VOWELS


# Of the longer verbs those with the stress at the end double their last letter.
_STRESSED_AT_THE_END = frozenset(
    "admit commit permit submit emit transmit occur refer prefer transfer regret control enrol "
    "fulfil cancel travel label level signal".split()
)


def _doubles(lemma: str) -> bool:
    if lemma in _STRESSED_AT_THE_END:
        return True
    a, b, c = tuple((" " + lemma)[-3:])
    syllables = sum(x in VOWELS and y not in VOWELS for x, y in pairwise(lemma))
    return syllables == 1 and a not in VOWELS and b in VOWELS and c not in VOWELS | set("wxy")


def forms_of(word: str) -> tuple[Form, ...]:
    """What a lower-case word can be as a verb; unknown words in -ed are taken for regular pasts."""
    known = _table().get(word)
    if known is not None:
        return known
    if not word.endswith("ed") or len(word) < 5 or "-" in word or word in NO_PAST:
        return ()
    lemma = _lemma_of_past(word)
    return (Form(lemma, "past"), Form(lemma, "participle"))


_MUTE_E_BEHIND = tuple(
    "c s v z u e at dg rg ng ag ut bl pl tl dl gl kl cl fl ib um ud od ad ot".split()
)
_NO_MUTE_E = ("ss", "zz", "eat", "oat", "out", "ing", "ong", "oot", "oad", "ead", "oud", "ood")


def _lemma_of_past(word: str) -> str:
    """The lemma of a regular past by spelling alone: planned, carried, produced, walked."""
    stem = word[:-2]
    if stem.endswith("i"):
        return stem[:-1] + "y"
    if stem[-1] == stem[-2] and stem[-1] not in "lsz":
        return stem[:-1]
    if stem.endswith(_MUTE_E_BEHIND) and not stem.endswith(_NO_MUTE_E):
        return stem + "e"
    if stem.endswith(("ar", "ir", "ur", "in", "id", "ik", "ak", "ok", "im", "am")):
        return stem if stem[-3] in VOWELS else stem + "e"
    return stem
