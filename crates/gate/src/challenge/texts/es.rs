//! Spanish.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    challenge_title: "Un momento, por favor",
    challenge_why: "Desde su red se han pedido muchas páginas de este sitio. Para que siga siendo rápido para las personas, su navegador hace un cálculo breve. No tiene que hacer nada; ningún dato suyo se pasa a otros.",
    working: "Su navegador está calculando …",
    left: "Faltan unos {n} segundos.",
    done: "Listo. Su página se está cargando.",
    progress: "Progreso del cálculo",
    repeated: "No ha funcionado; nuevo intento …",
    no_cookies: "Permita las cookies de este sitio e inténtelo de nuevo. Sin una cookie, el sitio no puede recordar que su navegador ya hizo su parte.",
    failed: "Su navegador no pudo terminar la comprobación. Inténtelo de nuevo, actualice el navegador o desactive las extensiones que cambian páginas o cookies en este sitio.",
    again: "Intentar de nuevo",
    noscript: "Esta página necesita JavaScript para un cálculo breve en su navegador. Active JavaScript para este sitio y vuelva a cargar la página. Si no puede, escriba al responsable del sitio.",
    contact: "Puede contactar con el responsable del sitio aquí:",
    no_contact: "El responsable no ha dejado aquí una dirección; use los datos de contacto que ya tenga.",
    incident: "Número de incidente",
    block_title: "Sin acceso",
    block_why: "Las peticiones de su red parecían las de un programa que copia este sitio.",
    block_cure: "Si usted es una persona, se trata de un error. Indique al responsable el número de abajo; muestra por qué se le negó el acceso, y el responsable puede dárselo.",
    throttle_title: "Espere un poco, por favor",
    throttle_why: "Se han pedido demasiadas páginas en poco tiempo.",
    throttle_cure: "Podrá continuar en {n} segundos.",
    upstream_title: "El sitio no responde",
    upstream_unreachable: "No se puede llegar al servidor de esta página, o dio una respuesta inservible.",
    upstream_late: "El servidor de esta página tardó demasiado en responder.",
    upstream_cure: "No es culpa suya. Inténtelo de nuevo en unos minutos.",
};
