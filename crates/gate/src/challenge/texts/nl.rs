//! Dutch.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    challenge_title: "Een ogenblik geduld",
    challenge_why: "Vanaf uw netwerk zijn veel pagina’s van deze site opgevraagd. Om de site snel te houden voor mensen maakt uw browser een korte berekening. U hoeft niets te doen; er wordt niets over u aan anderen doorgegeven.",
    working: "Uw browser is aan het rekenen …",
    left: "Nog ongeveer {n} seconden.",
    done: "Klaar. Uw pagina wordt geladen.",
    progress: "Voortgang van de berekening",
    repeated: "Dat lukte niet; nog een poging …",
    no_cookies: "Sta cookies toe voor deze site en probeer het opnieuw. Zonder cookie kan de site niet onthouden dat uw browser zijn deel heeft gedaan.",
    failed: "Uw browser kon de controle niet afronden. Probeer het opnieuw, werk uw browser bij of schakel extensies uit die hier pagina’s of cookies veranderen.",
    again: "Opnieuw proberen",
    noscript: "Deze pagina heeft JavaScript nodig voor een korte berekening in uw browser. Zet JavaScript aan voor deze site en laad de pagina opnieuw. Lukt dat niet, schrijf dan de beheerder.",
    contact: "U bereikt de beheerder hier:",
    no_contact: "De beheerder heeft hier geen adres achtergelaten; gebruik contactgegevens die u al hebt.",
    incident: "Incidentnummer",
    block_title: "Geen toegang",
    block_why: "Verzoeken vanaf uw netwerk leken op die van een programma dat deze site kopieert.",
    block_cure: "Bent u een mens, dan is dit een vergissing. Geef de beheerder het nummer hieronder; het laat zien waarom u geweigerd bent, en de beheerder kan u toelaten.",
    throttle_title: "Wacht even alstublieft",
    throttle_why: "Er zijn in korte tijd te veel pagina’s opgevraagd.",
    throttle_cure: "U kunt over {n} seconden verder.",
    upstream_title: "De site antwoordt niet",
    upstream_unreachable: "De server achter deze pagina is niet bereikbaar of gaf een onbruikbaar antwoord.",
    upstream_late: "De server achter deze pagina deed te lang over een antwoord.",
    upstream_cure: "Het ligt niet aan u. Probeer het over een paar minuten opnieuw.",
};
