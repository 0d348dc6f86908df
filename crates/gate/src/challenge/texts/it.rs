//! Italian.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    challenge_title: "Un momento, per favore",
    challenge_why: "Dalla sua rete sono state richieste molte pagine di questo sito. Perché il sito resti veloce per le persone, il suo browser esegue un breve calcolo. Non deve fare nulla; nulla che la riguardi viene trasmesso ad altri.",
    working: "Il suo browser sta calcolando …",
    left: "Ancora circa {n} secondi.",
    done: "Fatto. La pagina si sta caricando.",
    progress: "Avanzamento del calcolo",
    repeated: "Non ha funzionato; nuovo tentativo …",
    no_cookies: "Consenta i cookie per questo sito e riprovi. Senza un cookie il sito non può ricordare che il suo browser ha fatto la sua parte.",
    failed: "Il suo browser non ha potuto completare la verifica. Riprovi, aggiorni il browser o disattivi le estensioni che modificano pagine o cookie di questo sito.",
    again: "Riprova",
    noscript: "Questa pagina ha bisogno di JavaScript per un breve calcolo nel suo browser. Attivi JavaScript per questo sito e ricarichi la pagina. Se non può, scriva al gestore.",
    contact: "Può raggiungere il gestore qui:",
    no_contact: "Il gestore non ha lasciato qui un indirizzo; usi i contatti che ha già.",
    incident: "Numero dell’incidente",
    block_title: "Accesso negato",
    block_why: "Le richieste dalla sua rete sembravano quelle di un programma che copia questo sito.",
    block_cure: "Se è una persona, si tratta di un errore. Comunichi al gestore il numero qui sotto; mostra perché l’accesso è stato negato, e il gestore può concederlo.",
    throttle_title: "Attenda un poco, per favore",
    throttle_why: "Sono state richieste troppe pagine in poco tempo.",
    throttle_cure: "Potrà continuare fra {n} secondi.",
    upstream_title: "Il sito non risponde",
    upstream_unreachable: "Il server di questa pagina non è raggiungibile o ha dato una risposta inutilizzabile.",
    upstream_late: "Il server di questa pagina ha impiegato troppo tempo a rispondere.",
    upstream_cure: "Non dipende da lei. Riprovi fra qualche minuto.",
};
