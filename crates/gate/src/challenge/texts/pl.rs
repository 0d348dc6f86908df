//! Polish.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    challenge_title: "Chwileczkę",
    challenge_why: "Z Twojej sieci pobrano wiele stron tej witryny. Aby pozostała szybka dla ludzi, Twoja przeglądarka wykona krótkie obliczenie. Nie musisz nic robić; żadne dane o Tobie nie są nikomu przekazywane.",
    working: "Twoja przeglądarka liczy …",
    left: "Pozostało około {n} s.",
    done: "Gotowe. Strona się ładuje.",
    progress: "Postęp obliczenia",
    repeated: "Nie udało się; kolejna próba …",
    no_cookies: "Zezwól tej witrynie na pliki cookie i spróbuj ponownie. Bez nich witryna nie może zapamiętać, że Twoja przeglądarka wykonała swoją część.",
    failed: "Twoja przeglądarka nie mogła dokończyć sprawdzenia. Spróbuj ponownie, zaktualizuj przeglądarkę albo wyłącz rozszerzenia, które zmieniają tu strony lub pliki cookie.",
    again: "Spróbuj ponownie",
    noscript: "Ta strona potrzebuje JavaScriptu do krótkiego obliczenia w przeglądarce. Włącz JavaScript dla tej witryny i wczytaj stronę ponownie. Jeśli to niemożliwe, napisz do operatora.",
    contact: "Kontakt z operatorem:",
    no_contact: "Operator nie podał tu adresu; skorzystaj z danych kontaktowych, które już masz.",
    incident: "Numer zdarzenia",
    block_title: "Brak dostępu",
    block_why: "Zapytania z Twojej sieci wyglądały jak zapytania programu, który kopiuje tę witrynę.",
    block_cure: "Jeśli jesteś człowiekiem, to pomyłka. Podaj operatorowi poniższy numer; pokazuje on, dlaczego odmówiono dostępu, a operator może go przywrócić.",
    throttle_title: "Proszę chwilę poczekać",
    throttle_why: "W krótkim czasie pobrano zbyt wiele stron.",
    throttle_cure: "Możesz kontynuować za {n} s.",
    upstream_title: "Witryna nie odpowiada",
    upstream_unreachable: "Serwer tej strony jest nieosiągalny albo udzielił bezużytecznej odpowiedzi.",
    upstream_late: "Serwer tej strony zbyt długo nie odpowiadał.",
    upstream_cure: "To nie Twoja wina. Spróbuj ponownie za kilka minut.",
};
