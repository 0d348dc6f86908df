//! French.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    challenge_title: "Un instant, s’il vous plaît",
    challenge_why: "De nombreuses pages de ce site ont été demandées depuis votre réseau. Pour que le site reste rapide pour les personnes, votre navigateur effectue un court calcul. Vous n’avez rien à faire ; rien de ce qui vous concerne n’est transmis à des tiers.",
    working: "Votre navigateur calcule …",
    left: "Encore {n} secondes environ.",
    done: "Terminé. Votre page se charge.",
    progress: "Progression du calcul",
    repeated: "Cela n’a pas fonctionné ; nouvel essai …",
    no_cookies: "Veuillez autoriser les cookies pour ce site, puis réessayez. Sans cookie, le site ne peut pas retenir que votre navigateur a fait sa part.",
    failed: "Votre navigateur n’a pas pu terminer la vérification. Réessayez, mettez le navigateur à jour ou désactivez les extensions qui modifient les pages ou les cookies de ce site.",
    again: "Réessayer",
    noscript: "Cette page a besoin de JavaScript pour un court calcul dans votre navigateur. Veuillez activer JavaScript pour ce site et recharger la page. Si c’est impossible, écrivez à l’exploitant.",
    contact: "Vous pouvez joindre l’exploitant ici :",
    no_contact: "L’exploitant n’a pas laissé d’adresse ici ; utilisez les coordonnées que vous avez déjà.",
    incident: "Numéro d’incident",
    block_title: "Accès refusé",
    block_why: "Des requêtes de votre réseau ressemblaient à celles d’un programme qui copie ce site.",
    block_cure: "Si vous êtes une personne, c’est une erreur. Indiquez à l’exploitant le numéro ci-dessous ; il montre pourquoi l’accès a été refusé, et l’exploitant peut vous l’ouvrir.",
    throttle_title: "Veuillez patienter un peu",
    throttle_why: "Trop de pages ont été demandées en peu de temps.",
    throttle_cure: "Vous pourrez continuer dans {n} secondes.",
    upstream_title: "Le site ne répond pas",
    upstream_unreachable: "Le serveur derrière cette page est injoignable ou a donné une réponse inutilisable.",
    upstream_late: "Le serveur derrière cette page a mis trop de temps à répondre.",
    upstream_cure: "Vous n’y êtes pour rien. Veuillez réessayer dans quelques minutes.",
};
