"""Sentences in several languages, so that pages have texts that differ as real ones do."""

from random import Random
from typing import Final, NamedTuple


class Words(NamedTuple):
    """What sentences of one language are made of."""

    subjects: tuple[str, ...]
    verbs: tuple[str, ...]
    objects: tuple[str, ...]
    ends: tuple[str, ...]


def _split(text: str) -> tuple[str, ...]:
    return tuple(piece.strip() for piece in text.split("|"))


WORDS: Final = {
    "en": Words(
        _split(
            "The harbour board | A committee of residents | The national museum | Dr Larsen |"
            "The new law | Most of the farmers | An early map | The railway company |"
            "The second expedition | Her brother | The report of 1931 | The city council"
        ),
        _split(
            "rejected | had long supported | described in detail | paid for | never mentioned |"
            "was replaced by | compared its results with | published | quietly abandoned | rebuilt"
        ),
        _split(
            "the plan for a second quay | a collection of letters | the old lighthouse |"
            "the survey of the coast | a loan from the bank | the first printed edition |"
            "the wooden bridge | a series of measurements | the village school |"
            "the archive of the parish | the trade in amber | an agreement with the union"
        ),
        _split(
            "in the spring of that year | after a long dispute | for reasons that are not known |"
            "although few had asked for it | before the war began | with the help of students |"
            "at a cost of 40,000 crowns | against the advice of its engineers |"
            "as the newspapers reported | and moved to the mainland"
        ),
    ),
    "de": Words(
        _split(
            "Der Hafenmeister | Ein Ausschuss der Bürger | Das Landesmuseum | Frau Petersen |"
            "Das neue Gesetz | Die meisten Bauern | Eine frühe Karte | Die Eisenbahn |"
            "Die zweite Reise | Ihr Bruder | Der Bericht von 1931 | Der Stadtrat"
        ),
        _split(
            "verwarf | unterstützte lange | beschrieb ausführlich | bezahlte | erwähnte nie |"
            "ersetzte | verglich | veröffentlichte | vergaß | erneuerte"
        ),
        _split(
            "den Plan für einen zweiten Kai | eine Sammlung von Briefen | den alten Leuchtturm |"
            "die Vermessung der Küste | ein Darlehen der Bank | die erste gedruckte Ausgabe |"
            "die hölzerne Brücke | eine Reihe von Messungen | die Schule des Dorfes |"
            "das Archiv der Gemeinde | den Handel mit Bernstein | einen Vertrag der Werft"
        ),
        _split(
            "im Frühjahr jenes Jahres | nach langem Streit | aus unbekannten Gründen |"
            "obwohl kaum jemand danach gefragt hatte | vor dem Beginn des Krieges |"
            "mit Hilfe von Studenten | für 40.000 Mark | gegen den Rat der Ingenieure |"
            "wie die Zeitungen schrieben | und zog auf das Festland"
        ),
    ),
    "fr": Words(
        _split(
            "Le conseil du port | Un comité d'habitants | Le musée national | Madame Girard |"
            "La nouvelle loi | La plupart des paysans | Une carte ancienne | La compagnie |"
            "La seconde expédition | Son frère | Le rapport de 1931 | La mairie"
        ),
        _split(
            "refusa | soutenait depuis longtemps | décrivit en détail | finança | oublia |"
            "remplaça | compara | publia | abandonna | reconstruisit"
        ),
        _split(
            "le projet d'un second quai | un recueil de lettres | le vieux phare |"
            "le relevé de la côte | un prêt de la banque | la première édition imprimée |"
            "le pont de bois | une série de mesures | l'école du village |"
            "les archives de la paroisse | le commerce de l'ambre | un accord avec le syndicat"
        ),
        _split(
            "au printemps de cette année | après une longue dispute | pour des raisons inconnues |"
            "bien que peu l'aient demandé | avant le début de la guerre | avec des étudiants |"
            "au prix de 40 000 francs | contre l'avis des ingénieurs | selon les journaux |"
            "et partit pour le continent"
        ),
    ),
    "es": Words(
        _split(
            "La junta del puerto | Un comité de vecinos | El museo nacional | La doctora Ruiz |"
            "La nueva ley | La mayoría de los campesinos | Un mapa antiguo | La compañía |"
            "La segunda expedición | Su hermano | El informe de 1931 | El ayuntamiento"
        ),
        _split(
            "rechazó | apoyaba desde hacía años | describió con detalle | pagó | olvidó |"
            "sustituyó | comparó | publicó | abandonó | reconstruyó"
        ),
        _split(
            "el plan de un segundo muelle | una colección de cartas | el viejo faro |"
            "el estudio de la costa | un préstamo del banco | la primera edición impresa |"
            "el puente de madera | una serie de medidas | la escuela del pueblo |"
            "el archivo de la parroquia | el comercio del ámbar | un acuerdo con el sindicato"
        ),
        _split(
            "en la primavera de aquel año | tras una larga disputa | por motivos desconocidos |"
            "aunque pocos lo pedían | antes de que empezara la guerra | con ayuda de estudiantes |"
            "por 40.000 pesetas | contra el consejo de sus ingenieros | según los periódicos |"
            "y se trasladó al continente"
        ),
    ),
    "it": Words(
        _split(
            "Il consiglio del porto | Un comitato di cittadini | Il museo nazionale | Anna Conti |"
            "La nuova legge | Molti contadini | Una vecchia mappa | La ferrovia |"
            "La seconda spedizione | Suo fratello | La relazione del 1931 | Il comune"
        ),
        _split(
            "respinse | sosteneva da anni | descrisse con cura | pagò | dimenticò | sostituì |"
            "confrontò | pubblicò | abbandonò | ricostruì"
        ),
        _split(
            "il progetto di un secondo molo | una raccolta di lettere | il vecchio faro |"
            "il rilievo della costa | un prestito della banca | la prima edizione a stampa |"
            "il ponte di legno | una serie di misure | la scuola del paese |"
            "l'archivio della parrocchia | il commercio dell'ambra | un accordo con il sindacato"
        ),
        _split(
            "nella primavera di quell'anno | dopo una lunga disputa | per motivi ignoti |"
            "anche se pochi lo chiedevano | prima della guerra | con l'aiuto di studenti |"
            "per 40.000 lire | contro il parere degli ingegneri | secondo i giornali |"
            "e si trasferì sul continente"
        ),
    ),
    "nl": Words(
        _split(
            "Het havenbestuur | Een groep bewoners | Het rijksmuseum | Mevrouw de Vries |"
            "De nieuwe wet | De meeste boeren | Een vroege kaart | De spoorwegen |"
            "De tweede expeditie | Haar broer | Het verslag van 1931 | De gemeenteraad"
        ),
        _split(
            "verwierp | steunde al jaren | beschreef uitvoerig | betaalde | vergat | verving |"
            "vergeleek | publiceerde | verliet | herbouwde"
        ),
        _split(
            "het plan voor een tweede kade | een verzameling brieven | de oude vuurtoren |"
            "de opmeting van de kust | een lening van de bank | de eerste gedrukte uitgave |"
            "de houten brug | een reeks metingen | de school van het dorp |"
            "het archief van de parochie | de handel in barnsteen | een verdrag met de bond"
        ),
        _split(
            "in het voorjaar van dat jaar | na een lange strijd | om onbekende redenen |"
            "hoewel weinigen erom vroegen | voor het begin van de oorlog | met hulp van studenten |"
            "voor 40.000 gulden | tegen het advies van de ingenieurs | volgens de kranten |"
            "en vertrok naar het vasteland"
        ),
    ),
}
"""The first three are used for tuning as well; the last three for the held-out half alone."""


def sentence(random: Random, language: str) -> str:
    """Return a sentence."""
    words = WORDS[language]
    year = random.randint(1850, 2015)
    extra = f" ({year})" if random.random() < 0.3 else ""
    chosen = (random.choice(part) for part in words)
    return f"{' '.join(chosen)}{extra}."


def article(random: Random, language: str, sentences: int) -> list[str]:
    """Return the sentences of an article."""
    return [sentence(random, language) for _ in range(sentences)]


def title(random: Random, language: str) -> str:
    """Return a title."""
    words = WORDS[language]
    return f"{random.choice(words.subjects)}, {random.choice(words.objects)}"
