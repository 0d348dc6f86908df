//! German.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    challenge_title: "Einen Moment bitte",
    challenge_why: "Aus Ihrem Netz wurden viele Seiten dieser Website abgerufen. Damit sie für Menschen schnell bleibt, rechnet Ihr Browser kurz. Sie müssen nichts tun; nichts über Sie wird an andere weitergegeben.",
    working: "Ihr Browser rechnet …",
    left: "Noch etwa {n} Sekunden.",
    done: "Fertig. Ihre Seite wird geladen.",
    progress: "Fortschritt der Berechnung",
    repeated: "Das hat nicht geklappt; neuer Versuch …",
    no_cookies: "Bitte erlauben Sie Cookies für diese Website und versuchen Sie es erneut. Ohne Cookie kann sie sich nicht merken, dass Ihr Browser seinen Teil getan hat.",
    failed: "Ihr Browser konnte die Prüfung nicht abschließen. Versuchen Sie es erneut, aktualisieren Sie den Browser oder schalten Sie Erweiterungen ab, die hier Seiten oder Cookies verändern.",
    again: "Erneut versuchen",
    noscript: "Diese Seite braucht JavaScript für eine kurze Berechnung in Ihrem Browser. Bitte schalten Sie JavaScript für diese Website ein und laden Sie die Seite neu. Wenn das nicht geht, schreiben Sie dem Betreiber.",
    contact: "So erreichen Sie den Betreiber:",
    no_contact: "Der Betreiber hat hier keine Adresse hinterlegt; nutzen Sie Kontaktdaten, die Sie schon haben.",
    incident: "Vorgangsnummer",
    block_title: "Kein Zugang",
    block_why: "Anfragen aus Ihrem Netz sahen aus wie die eines Programms, das diese Website kopiert.",
    block_cure: "Wenn Sie ein Mensch sind, ist das ein Irrtum. Nennen Sie dem Betreiber die Nummer unten; sie zeigt, warum Sie abgewiesen wurden, und er kann Sie einlassen.",
    throttle_title: "Bitte warten Sie kurz",
    throttle_why: "In kurzer Zeit wurden zu viele Seiten abgerufen.",
    throttle_cure: "In {n} Sekunden geht es weiter.",
    upstream_title: "Die Website antwortet nicht",
    upstream_unreachable: "Der Server hinter dieser Seite ist nicht erreichbar oder gab eine unbrauchbare Antwort.",
    upstream_late: "Der Server hinter dieser Seite brauchte zu lange für eine Antwort.",
    upstream_cure: "Es liegt nicht an Ihnen. Bitte versuchen Sie es in ein paar Minuten wieder.",
};
