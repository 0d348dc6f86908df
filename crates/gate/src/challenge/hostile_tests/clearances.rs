//! Attacks on clearance cookies, and bad luck of honest people.

use super::*;

const NAME: &str = "__Host-cattlegrid";

fn finds(gate: &Challenger, visitor: &Visitor<'_>, value: &str) -> bool {
    gate.find([format!("{NAME}={value}").as_bytes()], visitor, NOW.unix)
        .is_some()
}

#[test]
fn h088_every_changed_bit_of_a_cookie_is_refused() {
    check(Defence::Clearance, |file, part| {
        let (gate, mut jar) = (part(file.gate()), Jar::default());
        jar.pass(&gate, &visitor(), NOW);
        let bytes = URL_SAFE_NO_PAD.decode(jar.value(NAME)).unwrap();
        (0..8 * bytes.len()).any(|bit| {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            finds(&gate, &visitor(), &URL_SAFE_NO_PAD.encode(changed))
        })
    });
}

#[test]
fn h088_only_the_genuine_cookie_passes() {
    let (gate, mut jar) = (gate(), Jar::default());
    jar.pass(&gate, &visitor(), NOW);
    let value = jar.value(NAME);
    assert!(finds(&gate, &visitor(), &value));
    for index in 0..value.len() {
        assert!(!finds(&gate, &visitor(), &value[..index]));
        // Every bit of the text too, so that the bits which base64 leaves over are no second spelling.
        for bit in 0..8 {
            let mut text = value.clone().into_bytes();
            text[index] ^= 1 << bit;
            let header = [format!("{NAME}=").as_bytes(), &text].concat();
            let found = gate.find([&header[..]], &visitor(), NOW.unix);
            // A changed first letter can be white space, which is not part of a value.
            assert_eq!(found, None, "{}", String::from_utf8_lossy(&header));
        }
    }
    let jwt = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.";
    let long = "A".repeat(8192);
    let padded = format!("{value}=");
    let quoted = format!("\"{value}\"");
    let asker = jar.value("__Host-cattlegrid-ask");
    for text in [
        jwt,
        "kid=../../dev/null",
        "",
        &long,
        &padded,
        &quoted,
        &asker,
        &value.to_uppercase(),
    ] {
        assert!(!finds(&gate, &visitor(), text), "{text}");
    }
    // Signed by a gate with other keys.
    let mut other = Jar::default();
    other.pass(&super::gate(), &visitor(), NOW);
    assert!(!finds(&gate, &visitor(), &other.value(NAME)));
}

#[test]
fn h089_a_valid_cookie_is_found_among_stale_ones() {
    let (gate, mut jar) = (gate(), Jar::default());
    jar.pass(
        &gate,
        &visitor(),
        Moment {
            unix: NOW.unix - 90_000,
            ..NOW
        },
    );
    let stale = format!("{NAME}={}", jar.value(NAME));
    assert!(!jar.is_cleared(&gate, &visitor(), NOW));
    jar.pass(&gate, &visitor(), NOW);
    let valid = format!("{NAME}={}", jar.value(NAME));
    for header in [
        format!("{stale}; {valid}"),
        format!("{valid}; {stale}"),
        format!("{}{valid}", format!("{stale};").repeat(7)),
    ] {
        assert!(
            gate.find([header.as_bytes()], &visitor(), NOW.unix)
                .is_some(),
            "{header}"
        );
    }
    let headers = [stale.as_bytes(), b"a=b", valid.as_bytes()];
    assert!(
        gate.find(headers, &visitor(), NOW.unix).is_some(),
        "in a header of its own"
    );
}

#[test]
fn h089_no_more_than_eight_are_tried() {
    check(Defence::CookiesTried, |file, part| {
        let (gate, mut jar) = (part(file.gate()), Jar::default());
        jar.pass(&gate, &visitor(), NOW);
        let header = format!(
            "{}{NAME}={}",
            format!("{NAME}={};", "A".repeat(43)).repeat(50),
            jar.value(NAME)
        );
        gate.find([header.as_bytes()], &visitor(), NOW.unix)
            .is_some()
    });
}

#[test]
fn h090_a_stolen_cookie_is_void_with_another_agent() {
    check(Defence::Clearance, |file, part| {
        let (gate, mut jar) = (part(file.gate()), Jar::default());
        jar.pass(&gate, &visitor(), NOW);
        let thief = Visitor {
            agent: b"python-requests/2.32",
            ..from("203.0.113.9")
        };
        let is_stolen = jar.is_cleared(&gate, &thief, NOW);
        assert!(jar.is_cleared(&gate, &visitor(), NOW), "its owner keeps it");
        is_stolen
    });
}

#[test]
fn h090_the_owner_can_bind_it_to_the_network() {
    check(Defence::Clearance, |file, part| {
        let settings = Settings {
            binding: Binding::Network,
            ..Settings::default()
        };
        let (gate, mut jar) = (part(file.gate_with(settings)), Jar::default());
        jar.pass(&gate, &visitor(), NOW);
        assert!(
            jar.is_cleared(&gate, &from("192.0.2.200"), NOW),
            "the same network"
        );
        jar.is_cleared(&gate, &from("203.0.113.9"), NOW)
    });
}

#[test]
fn h091_people_who_change_networks_are_not_asked_again() {
    let addresses = [
        "192.0.2.7",
        "2001:db8:1:2::9",
        "198.51.100.20",
        "2001:db8:9::1",
    ];
    let (gate, mut jar) = (gate(), Jar::default());
    // The challenge is fetched over one family of addresses and answered over the other.
    let puzzle = jar.ask(&gate, &from(addresses[1]), "/", NOW);
    jar.send(&gate, &from(addresses[0]), &solution(&puzzle), NOW)
        .unwrap();
    for address in addresses {
        assert!(jar.is_cleared(&gate, &from(address), later(3600)));
    }
    // Bound to the network, a browser with both families is asked once for each and keeps both.
    let settings = Settings {
        binding: Binding::Network,
        ..Settings::default()
    };
    let (gate, mut jar, mut asked) = (KeyFile::new().gate_with(settings), Jar::default(), 0);
    for turn in 0..20 {
        let visitor = from(addresses[turn % 2]);
        if !jar.is_cleared(&gate, &visitor, NOW) {
            jar.pass(&gate, &visitor, NOW);
            asked += 1;
        }
    }
    assert_eq!(asked, 2);
}

/// A cookie as it is set, without its value.
fn bare(cookie: &str) -> String {
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    let (name, _) = pair.split_once('=').unwrap();
    format!("{name}; {attributes}")
}

/// All cookies of a gate: to ask and to clear, on https and on http, and one that is taken back.
fn all_cookies(gate: &Challenger) -> [String; 5] {
    let plain = Visitor {
        is_secure: false,
        ..visitor()
    };
    let ask = |visitor| {
        let puzzle = gate.mint(visitor, b"/", TERMS, [], NOW);
        bare(&puzzle.set_cookie.unwrap())
    };
    let clear = |visitor| bare(&Jar::default().pass(gate, visitor, NOW).set_cookie);
    [
        ask(&visitor()),
        clear(&visitor()),
        ask(&plain),
        clear(&plain),
        bare(&gate.clearing(&visitor())),
    ]
}

#[test]
fn h092_cookies_have_the_attributes_that_protect_them() {
    let expected = [
        "__Host-cattlegrid-ask; Path=/; Max-Age=86400; HttpOnly; SameSite=Lax; Secure",
        "__Host-cattlegrid; Path=/; Max-Age=86400; HttpOnly; SameSite=Lax; Secure",
        "cattlegrid-ask; Path=/; Max-Age=86400; HttpOnly; SameSite=Lax",
        "cattlegrid; Path=/; Max-Age=86400; HttpOnly; SameSite=Lax",
        "__Host-cattlegrid; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure",
    ];
    assert_eq!(all_cookies(&gate()), expected);
    let naive = all_cookies(&gate().without(Defence::CookieAttributes));
    let mut pairs = naive.iter().zip(expected);
    assert!(pairs.all(|(naive, expected)| naive != expected));
}

#[test]
fn h092_what_a_sibling_site_can_set_is_not_looked_at() {
    // On https that is a name without the prefix, however genuine the value is.
    check(Defence::CookieAttributes, |file, part| {
        let (gate, mut jar) = (part(file.gate()), Jar::default());
        jar.pass(&gate, &visitor(), NOW);
        assert!(jar.is_cleared(&gate, &visitor(), NOW));
        let (_, value) = jar.cookies.last().unwrap();
        let sibling = format!("cattlegrid={value}");
        let found = gate.find([sibling.as_bytes()], &visitor(), NOW.unix);
        found.is_some()
    });
}

#[test]
fn h092_a_cookie_of_a_sibling_site_is_void() {
    check(Defence::Clearance, |file, part| {
        let (gate, mut jar) = (part(file.gate()), Jar::default());
        let sibling = Visitor {
            site: "evil.example.org",
            ..visitor()
        };
        jar.pass(&gate, &sibling, NOW);
        jar.is_cleared(&gate, &visitor(), NOW)
    });
}

#[test]
fn h093_changed_keys_and_settings_cost_one_challenge() {
    // A clearance that is good for ever would cost none, also for who made it with a key that leaked.
    check(Defence::Clearance, |file, part| {
        let (gate, mut jar) = (part(file.gate()), Jar::default());
        jar.pass(&gate, &visitor(), NOW);
        gate.replace_keys(Keys::rotate(&file.path, NOW.unix, 0).unwrap());
        jar.is_cleared(&gate, &visitor(), NOW)
    });
    let (file, mut jar) = (KeyFile::new(), Jar::default());
    let gate = file.gate();
    jar.pass(&gate, &visitor(), NOW);
    gate.replace_keys(Keys::rotate(&file.path, NOW.unix, 0).unwrap());
    assert!(!jar.is_cleared(&gate, &visitor(), NOW));
    // The asker's cookie is void as well, and the new challenge replaces it.
    jar.pass(&gate, &visitor(), NOW);
    assert!(jar.is_cleared(&gate, &visitor(), NOW));
    let gate = file.gate_with(Settings {
        binding: Binding::Network,
        ..Settings::default()
    });
    assert!(!jar.is_cleared(&gate, &visitor(), NOW));
    jar.pass(&gate, &visitor(), NOW);
    assert!(jar.is_cleared(&gate, &visitor(), NOW));
}

#[test]
fn h108_nobody_is_lost_while_keys_are_rotated() {
    const DAY: u64 = 86_400;
    let file = KeyFile::new();
    let (first, second) = (file.gate(), file.gate());
    let (mut jar, mut meanwhile) = (Jar::default(), Jar::default());
    jar.pass(&first, &visitor(), NOW);
    let pending = jar.clone().ask(&first, &visitor(), "/", NOW);
    first.replace_keys(Keys::rotate(&file.path, NOW.unix, DAY).unwrap());
    jar.clone()
        .send(&first, &visitor(), &solution(&pending), later(5))
        .unwrap();
    // What the first node signs before the second knows the new key is good on the second.
    meanwhile.pass(&first, &visitor(), later(30));
    assert!(meanwhile.is_cleared(&second, &visitor(), later(30)));
    second.replace_keys(Keys::open(&file.path, NOW.unix).unwrap());
    for gate in [&first, &second] {
        assert!(jar.is_cleared(gate, &visitor(), later(3600)));
    }
    // Behind the grace the old key goes, and whoever still shows it meets one challenge.
    let mut late = Jar::default();
    late.pass(&first, &visitor(), later(60));
    first.replace_keys(Keys::rotate(&file.path, NOW.unix + DAY + 1, DAY).unwrap());
    assert!(!late.is_cleared(&first, &visitor(), later(DAY - 60)));
    late.pass(&first, &visitor(), later(DAY));
    assert!(late.is_cleared(&first, &visitor(), later(DAY + 60)));
}

#[test]
fn h110_clearances_end_and_a_clock_that_leaps_locks_nobody_out() {
    check(Defence::ClearanceExpiry, |file, part| {
        let (gate, mut jar) = (part(file.gate()), Jar::default());
        jar.pass(&gate, &visitor(), NOW);
        assert!(jar.is_cleared(&gate, &visitor(), later(86_399)));
        jar.is_cleared(&gate, &visitor(), later(86_400))
    });
    let gate = gate();
    let at = |unix| Moment { unix, ..NOW };
    // Issued while the clock was ahead: void once it is right, or the cookie would be good for a month.
    let mut jar = Jar::default();
    jar.pass(&gate, &visitor(), at(NOW.unix + 30 * 86_400));
    assert!(!jar.is_cleared(&gate, &visitor(), NOW));
    // Two minutes are nothing.
    jar.pass(&gate, &visitor(), at(NOW.unix + 120));
    assert!(jar.is_cleared(&gate, &visitor(), NOW));
    // A clock that goes back and forth by an hour costs one challenge more and no loop.
    let (mut jar, mut asked) = (Jar::default(), 0);
    for second in 0..60 {
        let now = at(NOW.unix + second + if second % 2 == 0 { 3600 } else { 0 });
        if !jar.is_cleared(&gate, &visitor(), now) {
            jar.pass(&gate, &visitor(), now);
            asked += 1;
        }
    }
    assert!(asked <= 2, "{asked}");
    for unix in [0, 1, u64::from(u32::MAX) - 1, u64::from(u32::MAX), u64::MAX] {
        let mut jar = Jar::default();
        jar.pass(&gate, &visitor(), at(unix));
        assert_eq!(
            jar.is_cleared(&gate, &visitor(), at(unix)),
            unix <= u64::from(u32::MAX),
            "{unix}"
        );
    }
}
