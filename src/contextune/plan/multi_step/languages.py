"""Verbs and conjunctions per language, for splitting requests.

In all these languages an imperative begins with its verb: "and" before an imperative joins two requests,
"and" before a noun joins two things. So a table of verbs does the work of a parser.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Language:
    """One language: conjunctions, polite openings and imperatives."""

    conjunctions: str
    """Pattern of the words for "and" and "then", longest first."""
    polite: str
    """Pattern of what may precede the verb."""
    verbs: frozenset[str]
    """Imperatives, without accents."""
    nouns: frozenset[str] = frozenset()
    """Verbs that are as often nouns: "the call and text from Rui"."""
    enclitics: str = ""
    """Pattern of the pronouns that are attached to the verb."""
    separate_pronouns: bool = False
    """Whether pronouns are separate words right after the verb: "schick sie", "stuur hem"."""
    unless: str = r"(?!)"
    """Pattern of openings that make a request conditional or negative."""

    @cached_property
    def lead(self) -> re.Pattern[str]:
        """Matches what precedes the verb."""
        return re.compile(rf"(?:(?:{self.polite})\b[\s,]*)*", re.IGNORECASE)

    @cached_property
    def conjunction(self) -> re.Pattern[str]:
        """Matches a conjunction between two imperatives."""
        return re.compile(rf"[,;.!…]?\s+(?:{self.conjunctions})\b[,:]?\s+", re.IGNORECASE)

    @cached_property
    def conditional(self) -> re.Pattern[str]:
        """Matches a condition or a negation at the beginning."""
        return re.compile(rf"(?:{self.unless})\b", re.IGNORECASE)

    def verb(self, word: str) -> str:
        """The imperative in a word, or "": "envíala" is "envia", "montre-moi" is "montre"."""
        plain = fold(word).split("-")[0]
        if plain in self.verbs:
            return plain
        for length in range(len(plain) - 1, 1, -1) if self.enclitics else ():
            if plain[:length] in self.verbs and self._attached.fullmatch(plain, length):
                return plain[:length]
        return ""

    @cached_property
    def _attached(self) -> re.Pattern[str]:
        return re.compile(rf"(?:{self.enclitics})+")


def fold(text: str) -> str:
    """Remove case and accents: "Écris" becomes "ecris"."""
    apart = unicodedata.normalize("NFKD", text.casefold().replace("’", "'"))
    return "".join(mark for mark in apart if not unicodedata.combining(mark))


def _set(words: str) -> frozenset[str]:
    return frozenset(fold(words).split())


_NOUNS = """
book call check count email estimate export guide import list load lock log mail mark message note order
phone plan play preview print record report ring route run search set share show start stop store sync tag
text track transfer view wake watch
"""
ENGLISH = Language(
    conjunctions=r"(?:and|&)"
    r"(?: (?:then|also|after that|afterwards|next|finally|please|then also|also please))?"
    r"|then|after that|afterwards|plus",
    polite=r"please|kindly|just|hey|ok|okay|now|also|then|first|next|finally|afterwards|after that|right"
    r"|(?:can|could|would|will) you(?: please)?|i(?: want| need|['’]d like| would like) you to|go ahead and",
    verbs=_set(
        _NOUNS
        + """
        accept add answer archive arrange ask block calculate cancel change clear close compare complete
        compose compute connect convert copy create decline delete determine dial dig dim download draft
        drop enter extract fetch find flag forward get give grab hide hire install invite jot launch let
        listen locate look make merge move mute navigate notify open organise organize pause pin post
        postpone publish pull push put queue read recommend redial refresh reject remember remind remove
        rename repeat replay reply reschedule reserve respond restart resume retrieve return save scan
        schedule send shuffle skip snooze solve sort submit subscribe suggest summarise summarize switch
        tell tick toggle transcribe translate turn unlock unmute unpin unsubscribe update upload weigh
        write
        """
    ),
    nouns=_set(_NOUNS),
    unless=r"if|unless|when|whenever|once|until|in case|as soon as|do ?n['’]t|do not|never",
)
GERMAN = Language(
    conjunctions=r"und(?: (?:dann|danach|anschließend|auch|bitte))?|dann|danach|anschließend",
    polite=r"bitte|hey|ok|okay|dann|danach|jetzt|zuerst|anschließend",
    verbs=_set(
        """
        antworte antworten beantworte beende benenne berechne bestell bestelle blockiere bring bringe buch
        buche ergänze erinnere erstell erstelle erzähl exportiere find finde füg füge gib hake hol hole
        hör höre kauf kaufe lad lade leg lege leite leiten lies lösch lösche mach mache markiere merk
        navigiere nenn nenne nimm notier notiere pausier pausiere plane prüf prüfe rechne reservier
        reserviere ruf rufe sag sage schalt schalte schau schick schicke schicken schieb schreib schreibe
        schreiben sende setz setze sortiere speicher speichere sperre spiel spiele spring starte stell
        stelle stopp stoppe streich such suche teil teile trag trage verbinde vergleiche verschieb
        verschiebe weck wecke wiederhole wähl wähle zeig zeige öffne übersetz übersetze überspring
        überweise
        """
    ),
    separate_pronouns=True,
    unless=r"wenn|falls|sobald|sofern|außer",
)
FRENCH = Language(
    conjunctions=r"et(?: (?:puis|ensuite|après|aussi))?|puis|ensuite|après ça",
    polite=r"s['’]il (?:te|vous) pla[iî]t|stp|svp|hé|ok|puis|ensuite|maintenant|d['’]abord",
    verbs=_set(
        """
        achete affiche ajoute annule appelez appelle archive arrete baisse bloque calcule change cherche
        cherchez coche commande compare compose cree creez demande demarre deplace deplacez dis donne
        donnez ecoute ecris ecrivez efface enregistre envoie envoyez epingle exporte ferme fixe guide
        imprime indique invite joue lance lis lisez marque mets mettez montre montrez note ouvre partage
        partagez passe planifie prends previens programme rappelle recherche regarde rends renomme
        repondez reponds reporte reserve resume retrouve sauvegarde supprime supprimez telecharge
        telephone traduis transfere transferez trie trouve trouvez valide verifie
        """
    ),
    unless=r"si|quand|lorsque|dès que|ne|n['’]",
)
SPANISH = Language(
    conjunctions=r"[ye](?: (?:luego|después|también|entonces))?|luego|después",
    polite=r"por favor|oye|ok|luego|después|ahora|primero",
    verbs=_set(
        """
        abre adelanta anota apunta archiva avisa añade bloquea borra busca calcula cambia cancela compara
        comparte compra comprueba contesta crea da descarga di elimina encuentra envia escribe escucha
        fija graba guarda haz imprime inicia invita lee llama llevame manda marca mira muestra mueve
        ordena pausa pide pon pregunta programa quita recuerda reenvia renombra reproduce reserva responde
        resume salta silencia sube toca traduce
        """
    ),
    enclitics="melo|mela|selo|sela|selos|selas|me|te|se|nos|le|les|lo|la|los|las",
    unless=r"si|cuando|en cuanto|no",
)
PORTUGUESE = Language(
    conjunctions=r"e(?: (?:depois|também|então|em seguida))?|depois|em seguida",
    polite=r"por favor|ok|depois|agora|primeiro",
    verbs=_set(
        """
        abra abre acrescenta adia adiciona adicione anota anote apaga apague arquiva avisa avise bloqueia
        busca busque calcula cancela cancele coloca coloque compara compartilha compartilhe compra convida
        convide cria crie da descarrega diga diz elimina encaminha encaminhe encontra encontre envia envie
        escreva escreve escuta faca faz fixa grava guarda imprime inicia le leia lembra lembre liga ligue
        manda mande marca marque mostra mostre mova move muda mude ouve partilha partilhe pausa pede
        pergunta poe ponha procura procure renomeia reproduz reserva responda responde resume salta
        silencia telefona toca toque traduz traduza verifica
        """
    ),
    enclitics="",
    unless=r"se|quando|assim que|não",
)
ITALIAN = Language(
    conjunctions=r"e(?:d)?(?: (?:poi|dopo|anche|quindi))?|poi|dopo",
    polite=r"per favore|per piacere|ok|poi|dopo|adesso|prima",
    verbs=_set(
        """
        aggiungi annota annulla apri archivia ascolta avvia avvisa blocca calcola cambia cancella carica
        cerca chiama chiedi compra condividi confronta controlla crea da dam di dim elimina fa fissa
        imposta inoltra invia invita leggi manda metti mostra pausa prenota registra riassumi ricorda
        rimanda rimuovi rinomina rispondi salta salva scarica scrivi segna sposta stampa suona telefona
        traduci trova verifica
        """
    ),
    enclitics="glielo|gliela|melo|mela|mi|ti|ci|gli|le|li|lo|la|ne",
    unless=r"se|quando|appena|non",
)
DUTCH = Language(
    conjunctions=r"en(?: (?:dan|daarna|ook|vervolgens))?|dan|daarna|vervolgens",
    polite=r"alsjeblieft|graag|ok|dan|daarna|nu|eerst",
    verbs=_set(
        """
        annuleer antwoord bel bereken bewaar blokkeer boek deel download druk geef haal herhaal herinner
        hernoem koop lees luister maak mail markeer nodig noteer open pauzeer plaats plan print reserveer
        schrap schrijf sla sorteer speel start stel stop stuur toon vergelijk verplaats vertaal vertel
        verwijder verzet vind voeg vraag wis zeg zend zet zoek
        """
    ),
    separate_pronouns=True,
    unless=r"als|wanneer|zodra|tenzij|niet",
)
LANGUAGES = (ENGLISH, GERMAN, FRENCH, SPANISH, PORTUGUESE, ITALIAN, DUTCH)
