"""The language of a short text, by its function words."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_WORDS: Mapping[str, str] = {
    "English": """
a an the of to in on at for from with about by and or but not is are was were be been am do does did have
has had can could will would should what when where who which how why this that these those i you he she it
we they me him her us them my your his its our their please tell show find call send remind read play set
make get add open start stop next last any there's what's it's don't i'm tomorrow today yesterday tonight
    """,
    "German": """
der die das den dem des ein eine einen einem einer und oder aber nicht ist sind war waren wird werden hat
haben hatte kann kannst muss soll wann wo wer wie warum was welche welcher welches ich du er sie es wir ihr
mich dich mir dir uns mein meine meinen meiner meinem dein deine im am zum zur vom von mit für auf aus bei
nach über bitte zeig zeige ruf rufe schick schicke erinnere spiel spiele lies mach morgen heute gestern
nächste nächsten nächster letzte letzten noch kein keine an mal doch
    """,
    "French": """
le la les un une des du de et ou mais pas est sont était être ai as avons avez ont peux peut quand où qui
que quoi quel quelle quels quelles comment pourquoi je tu il elle nous vous ils elles me te se mon ma mes
ton ta tes son sa ses notre votre leur au aux dans sur avec pour par chez ce cette ces appelle envoie
rappelle montre lis joue demain hier aujourd'hui prochain prochaine dernier dernière d'une j'ai c'est qu'est
l'école s'il
    """,
    "Spanish": """
el los las un una unos unas y o pero no es son era está están fue ser he has ha tengo tiene puedo puede
cuándo dónde quién qué cuál cómo yo tú él ella nosotros ellos mi mis tu tus su sus nuestro al del en con por
para sobre este esta ese esa llama manda envía recuérdame muéstrame muestra lee pon mañana hoy ayer próximo
próxima último última de la que cuando donde
    """,
    "Portuguese": """
o os as um uma uns umas e ou mas não é são era está estão foi ser tenho tem posso pode quando onde quem que
qual como eu tu ele ela nós eles meu minha meus minhas teu tua seu sua do da dos das no na nos nas ao à com
por para sobre este esta esse essa liga manda envia lembra mostra lê toca amanhã hoje ontem próximo próxima
último última de
    """,
    "Italian": """
il lo la i gli le un uno una e o ma non è sono era essere ho hai ha abbiamo posso può quando dove chi che
cosa quale come perché io tu lui lei noi voi loro mio mia miei mie tuo tua suo sua del della dei delle al
alla ai nel nella con per su da questo questa chiama manda invia ricordami mostra mostrami leggi metti
domani oggi ieri prossimo prossima ultimo ultima di
    """,
    "Dutch": """
de het een en of maar niet is zijn was waren wordt heb hebt heeft had kan kun moet wanneer waar wie wat
welke hoe waarom ik jij je hij zij ze wij we jullie mij mijn jouw zijn haar ons onze hun in op aan van voor
met bij naar over uit door bel stuur herinner toon laat lees speel zet morgen vandaag gisteren volgende
laatste geen nog
    """,
    "Polish": """
i oraz ale nie jest są był była było być mam masz ma może kiedy gdzie kto co jaki jaka jakie jak dlaczego ja
ty on ona my wy oni mój moja moje mnie mi ci się w we na do od z ze za po o dla przy pod nad to ten ta te
zadzwoń wyślij przypomnij pokaż przeczytaj zagraj jutro dziś dzisiaj wczoraj następny następne ostatni
ostatnia proszę
    """,
    "Swedish": """
en ett och eller men inte är var vara har hade kan ska skulle när vem vad vilken vilket hur varför jag du
han hon vi ni de mig dig min mitt mina din ditt dina på i av för med till från om hos den det denna ring
skicka påminn visa läs spela imorgon idag igår nästa senaste förra
    """,
}
_MIN_WORDS, _KNOWN, _OWN = 2, 0.4, 0.3
"""Function words of its language that a text has at least: how many, their share of its words, and the share
of those that are no English words."""


@cache
def _vocabularies() -> Mapping[str, frozenset[str]]:
    return {language: frozenset(words.split()) for language, words in _WORDS.items()}


def foreign_language(text: str) -> str | None:
    """The language of a text, if it is one of eight others, or its script, if it is not Latin; else None.

    A text with a single English function word that the other language lacks counts as English: titles and
    names of other languages stand in English requests.
    """
    words = [word.casefold().replace("’", "'") for word in _WORD.findall(text)]
    if not words:
        return None
    if script := _script(words):
        return script
    vocabularies = _vocabularies()
    known = {
        language: [word for word in words if word in vocabulary]
        for language, vocabulary in vocabularies.items()
    }
    best = max(known, key=lambda language: len(known[language]))
    english = vocabularies["English"]
    if any(word in english and word not in vocabularies[best] for word in words):
        return None
    own = sum(word not in english for word in known[best])
    is_certain = len(known[best]) >= max(_MIN_WORDS, _KNOWN * len(words)) and own >= _OWN * len(words)
    return best if is_certain else None


def _script(words: Sequence[str]) -> str | None:
    """The script of words that have hardly a Latin letter: "Cyrillic script"."""
    letters = "".join(words)
    scripts = Counter(unicodedata.name(letter, "?").partition(" ")[0] for letter in letters)
    script, count = scripts.most_common(1)[0]
    return f"{script.capitalize()} script" if script != "LATIN" and 2 * count > len(letters) else None
