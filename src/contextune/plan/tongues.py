"""Words by which a request tells where its next part begins, in the languages whose grammar is known here.

An order begins with its verb in all of them, and "and" before a verb in that form joins two orders, where
before a noun it joins two things. So a table of verbs says more than a parser would cost.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Tongue:
    """One language: how orders are joined, what may stand before the verb, and the verbs themselves."""

    joins: str
    """Words for "and" and "then", longest first, as a pattern."""
    polite: str
    """What may be said before the verb, as a pattern."""
    verbs: frozenset[str]
    """In the form of an order, without accents."""
    nouns: frozenset[str] = frozenset()
    """Those of the verbs that are as often a thing: "the call and text from Rui"."""
    endings: str = ""
    """Pronouns that are written as one word with the verb, as a pattern."""
    follows: bool = False
    """Whether pronouns are words of their own right behind the verb: "schick sie", "stuur hem"."""
    unless: str = r"(?!)"
    """A request that begins so holds under a condition, or forbids something, as a pattern."""

    @cached_property
    def lead(self) -> re.Pattern[str]:
        """What stands before the verb."""
        return re.compile(rf"(?:(?:{self.polite})\b[\s,]*)*", re.IGNORECASE)

    @cached_property
    def joint(self) -> re.Pattern[str]:
        """Where one order may end and another begin by a word."""
        return re.compile(rf"[,;.!…]?\s+(?:{self.joins})\b[,:]?\s+", re.IGNORECASE)

    @cached_property
    def forbidden(self) -> re.Pattern[str]:
        """A condition or a negation at the beginning."""
        return re.compile(rf"(?:{self.unless})\b", re.IGNORECASE)

    def verb(self, word: str) -> str:
        """The verb that a word is, or nothing; "envíala" is "envia", "montre-moi" is "montre"."""
        plain = bare(word).split("-")[0]
        if plain in self.verbs:
            return plain
        for length in range(len(plain) - 1, 1, -1) if self.endings else ():
            if plain[:length] in self.verbs and self._hung.fullmatch(plain, length):
                return plain[:length]
        return ""

    @cached_property
    def _hung(self) -> re.Pattern[str]:
        return re.compile(rf"(?:{self.endings})+")


def bare(text: str) -> str:
    """Without case, accents and typographic marks, so that "Écris" and "ecris" are one word."""
    apart = unicodedata.normalize("NFKD", text.casefold().replace("’", "'"))
    return "".join(mark for mark in apart if not unicodedata.combining(mark))


def _set(words: str) -> frozenset[str]:
    return frozenset(bare(words).split())


_NOUNS = """
book call check email list mail mark message note order phone plan play print record ring search set share
show start stop tag text transfer
"""
ENGLISH = Tongue(
    joins=r"(?:and|&)(?: (?:then|also|after that|afterwards|next|finally|please|then also|also please))?"
    r"|then|after that|afterwards|plus",
    polite=r"please|kindly|just|hey|ok|okay|now|also|then|first|next|finally|afterwards|after that|right"
    r"|(?:can|could|would|will) you(?: please)?|i(?: want| need|['’]d like| would like) you to|go ahead and",
    verbs=_set(
        _NOUNS
        + """
        accept add answer archive arrange ask block cancel change clear close complete compose convert
        copy create decline delete dial dig draft drop find fetch flag forward get give invite jot
        launch let listen locate look make move mute open pause pin post postpone pull push put queue
        read redial reject remind remove rename reply reschedule reserve respond resume return save scan
        schedule send skip snooze summarise summarize switch tell tick toggle translate turn unpin
        unmute update upload write
        """
    ),
    nouns=_set(_NOUNS),
    unless=r"if|unless|when|whenever|once|until|in case|as soon as|do ?n['’]t|do not|never",
)
GERMAN = Tongue(
    joins=r"und(?: (?:dann|danach|anschließend|auch|bitte))?|dann|danach|anschließend",
    polite=r"bitte|hey|ok|okay|dann|danach|jetzt|zuerst|anschließend",
    verbs=_set(
        """
        antworte antworten beantworte beende bestell bestelle blockiere buch buche ergänze erinnere
        erstell erstelle erzähl find finde füg füge gib hake hol hole hör höre kauf kaufe lad lade leg
        lege leite leiten lies lösch lösche mach mache markiere merk nenn nenne notier notiere nimm öffne
        pausier pausiere plane prüf prüfe reservier reserviere ruf rufe sag sage schalt schalte schau
        schick schicke schicken schieb schreib schreibe schreiben sende setz setze spiel spiele spring
        starte stell stelle stopp stoppe streich such suche teil teile trag trage übersetz übersetze
        überspring überweise verschieb verschiebe wähl wähle weck wecke zeig zeige benenne
        """
    ),
    follows=True,
    unless=r"wenn|falls|sobald|sofern|außer",
)
FRENCH = Tongue(
    joins=r"et(?: (?:puis|ensuite|après|aussi))?|puis|ensuite|après ça",
    polite=r"s['’]il (?:te|vous) pla[iî]t|stp|svp|hé|ok|puis|ensuite|maintenant|d['’]abord",
    verbs=_set(
        """
        achete affiche ajoute annule appelle appelez archive arrete baisse bloque change cherche cherchez
        coche commande compose cree creez deplace deplacez dis demande donne donnez ecoute ecris ecrivez
        efface enregistre envoie envoyez epingle ferme fixe indique invite joue lance lis lisez marque
        mets mettez montre montrez note ouvre partage partagez passe planifie previens prends programme
        rappelle recherche regarde rends renomme reponds repondez reporte reserve retrouve supprime
        supprimez telephone traduis transfere transferez trouve trouvez verifie
        """
    ),
    unless=r"si|quand|lorsque|dès que|ne|n['’]",
)
SPANISH = Tongue(
    joins=r"[ye](?: (?:luego|después|también|entonces))?|luego|después",
    polite=r"por favor|oye|ok|luego|después|ahora|primero",
    verbs=_set(
        """
        abre adelanta añade anota apunta archiva avisa bloquea borra busca cambia cancela comparte compra
        comprueba contesta crea da di elimina encuentra envia escribe escucha fija guarda haz invita lee
        llama llevame manda marca mira muestra mueve pausa pide pon pregunta programa quita recuerda
        reenvia renombra reproduce reserva responde salta toca traduce
        """
    ),
    endings="melo|mela|selo|sela|selos|selas|me|te|se|nos|le|les|lo|la|los|las",
    unless=r"si|cuando|en cuanto|no",
)
PORTUGUESE = Tongue(
    joins=r"e(?: (?:depois|também|então|em seguida))?|depois|em seguida",
    polite=r"por favor|ok|depois|agora|primeiro",
    verbs=_set(
        """
        abre abra acrescenta adia adiciona adicione anota anote apaga apague arquiva avisa avise bloqueia
        busca busque cancela cancele cria crie compra coloca coloque compartilha compartilhe convida
        convide da diz diga elimina encaminha encaminhe encontra encontre envia envie escreve escreva
        escuta faz faca fixa guarda le leia lembra lembre liga ligue manda mande marca marque mostra
        mostre move mova muda mude ouve partilha partilhe pausa pede pergunta poe ponha procura procure
        renomeia reproduz reserva responde responda salta telefona toca toque traduz traduza
        """
    ),
    endings="",
    unless=r"se|quando|assim que|não",
)
ITALIAN = Tongue(
    joins=r"e(?:d)?(?: (?:poi|dopo|anche|quindi))?|poi|dopo",
    polite=r"per favore|per piacere|ok|poi|dopo|adesso|prima",
    verbs=_set(
        """
        aggiungi annulla annota apri archivia ascolta avvia avvisa blocca cambia cancella cerca chiama
        chiedi compra condividi controlla crea da dam di dim elimina fa fissa imposta inoltra invia invita
        leggi manda metti mostra pausa prenota ricorda rimanda rimuovi rinomina rispondi salta salva
        scrivi segna sposta suona telefona traduci trova
        """
    ),
    endings="glielo|gliela|melo|mela|mi|ti|ci|gli|le|li|lo|la|ne",
    unless=r"se|quando|appena|non",
)
DUTCH = Tongue(
    joins=r"en(?: (?:dan|daarna|ook|vervolgens))?|dan|daarna|vervolgens",
    polite=r"alsjeblieft|graag|ok|dan|daarna|nu|eerst",
    verbs=_set(
        """
        antwoord annuleer bel bewaar blokkeer boek deel geef haal herinner hernoem koop lees luister maak
        mail markeer nodig noteer open pauzeer plan plaats reserveer schrap schrijf sla speel start stel
        stop stuur toon verplaats vertaal vertel verwijder verzet vind voeg vraag wis zeg zend zet zoek
        """
    ),
    follows=True,
    unless=r"als|wanneer|zodra|tenzij|niet",
)
TONGUES = (ENGLISH, GERMAN, FRENCH, SPANISH, PORTUGUESE, ITALIAN, DUTCH)
