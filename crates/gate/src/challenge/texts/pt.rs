//! Portuguese.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    challenge_title: "Um momento, por favor",
    challenge_why: "Muitas páginas deste site foram pedidas a partir da sua rede. Para que o site continue rápido para as pessoas, o seu navegador faz um breve cálculo. Não precisa de fazer nada; nada sobre si é passado a terceiros.",
    working: "O seu navegador está a calcular …",
    left: "Faltam cerca de {n} segundos.",
    done: "Pronto. A sua página está a carregar.",
    progress: "Progresso do cálculo",
    repeated: "Não resultou; nova tentativa …",
    no_cookies: "Permita cookies para este site e tente de novo. Sem um cookie, o site não consegue lembrar-se de que o seu navegador fez a sua parte.",
    failed: "O seu navegador não conseguiu concluir a verificação. Tente de novo, atualize o navegador ou desative extensões que alterem páginas ou cookies neste site.",
    again: "Tentar de novo",
    noscript: "Esta página precisa de JavaScript para um breve cálculo no seu navegador. Ative o JavaScript para este site e carregue a página de novo. Se não puder, escreva ao responsável.",
    contact: "Pode contactar o responsável aqui:",
    no_contact: "O responsável não deixou aqui um endereço; use os contactos que já tem.",
    incident: "Número do incidente",
    block_title: "Sem acesso",
    block_why: "Os pedidos da sua rede pareciam os de um programa que copia este site.",
    block_cure: "Se é uma pessoa, trata-se de um engano. Indique ao responsável o número abaixo; mostra por que motivo o acesso foi recusado, e o responsável pode concedê-lo.",
    throttle_title: "Aguarde um pouco, por favor",
    throttle_why: "Foram pedidas demasiadas páginas em pouco tempo.",
    throttle_cure: "Pode continuar dentro de {n} segundos.",
    upstream_title: "O site não responde",
    upstream_unreachable: "O servidor desta página não está acessível ou deu uma resposta inutilizável.",
    upstream_late: "O servidor desta página demorou demasiado a responder.",
    upstream_cure: "A culpa não é sua. Tente de novo dentro de alguns minutos.",
};
