//! Attacks on challenges and their answers.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

use proptest::prelude::*;

use super::*;

#[test]
fn an_honest_browser_gets_its_page() {
    let (gate, mut jar) = (gate(), Jar::default());
    let puzzle = jar.ask(&gate, &visitor(), "/a?b=c;d&e=%2f", NOW);
    assert!(!jar.is_cleared(&gate, &visitor(), NOW));
    let solved = jar
        .send(&gate, &visitor(), &solution(&puzzle), later(20))
        .unwrap();
    assert_eq!(solved.return_to, "/a?b=c;d&e=%2f");
    let clearance = gate
        .find([&jar.header()[..]], &visitor(), NOW.unix + 21)
        .unwrap();
    assert_eq!(clearance.id, solved.id);
    assert_eq!(clearance.until(), NOW.unix + 20 + 24 * 3600);
}

#[test]
fn h082_an_answer_without_the_work_is_refused() {
    check(Defence::Difficulty, |file, part| {
        let (gate, mut jar) = (part(file.gate()), Jar::default());
        let puzzle = jar.ask(&gate, &visitor(), "/", NOW);
        let bodies = [
            body(&puzzle.token, &[0; 16]),
            body(&puzzle.token, &[u32::MAX; 16]),
            body(
                &puzzle.token,
                &std::array::from_fn::<u32, 16, _>(|index| 7919 * index as u32),
            ),
        ];
        bodies
            .iter()
            .any(|body| match jar.send(&gate, &visitor(), body, NOW) {
                Ok(_) => true,
                Err(refusal) => {
                    assert_eq!(refusal, Refusal::TooEasy);
                    false
                }
            })
    });
}

#[test]
fn h082_work_for_less_or_for_another_challenge_is_refused() {
    let (gate, mut jar) = (gate(), Jar::default());
    let puzzle = jar.ask(&gate, &visitor(), "/", NOW);
    let id = u128::from_str_radix(&puzzle.seed, 16).unwrap();
    for found in [work::solve(id, BITS - 5), work::solve(id ^ 1, BITS)] {
        let refusal = jar
            .send(&gate, &visitor(), &body(&puzzle.token, &found), NOW)
            .unwrap_err();
        assert_eq!(refusal, Refusal::TooEasy);
    }
    let found = work::solve(id, BITS);
    for found in [&found[..15], &[&found[..], &[1]].concat(), &[]] {
        let refusal = jar
            .send(&gate, &visitor(), &body(&puzzle.token, found), NOW)
            .unwrap_err();
        assert_eq!(refusal, Refusal::Malformed);
    }
    // None of this has spent the challenge.
    jar.send(&gate, &visitor(), &body(&puzzle.token, &found), NOW)
        .unwrap();
}

#[test]
fn h083_only_signed_values_count() {
    check(Defence::Signature, |file, part| {
        let (gate, mut jar) = (part(file.gate()), Jar::default());
        let puzzle = jar.ask(&gate, &visitor(), "/", NOW);
        let mut bytes = URL_SAFE_NO_PAD.decode(&puzzle.token).unwrap();
        // The difficulty.
        bytes[2] = 0;
        let easy = body(&URL_SAFE_NO_PAD.encode(bytes), &[0; 16]);
        jar.send(&gate, &visitor(), &easy, NOW).is_ok()
    });
}

#[test]
fn h083_every_changed_bit_is_refused() {
    let (gate, mut jar) = (gate(), Jar::default());
    let puzzle = jar.ask(&gate, &visitor(), "/page", NOW);
    let good = solution(&puzzle);
    let work = good.split_once("&work=").unwrap().1;
    let bytes = URL_SAFE_NO_PAD.decode(&puzzle.token).unwrap();
    for bit in 0..8 * bytes.len() {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let body = format!("token={}&work={work}", URL_SAFE_NO_PAD.encode(changed));
        assert_eq!(
            jar.send(&gate, &visitor(), &body, NOW),
            Err(Refusal::Forged),
            "bit {bit}"
        );
    }
    for length in 0..puzzle.token.len() {
        let body = format!("token={}&work={work}", &puzzle.token[..length]);
        assert!(jar.send(&gate, &visitor(), &body, NOW).is_err());
    }
    // What the page was told besides the token is not listened to.
    let lies = format!(
        "{}&bits=0&difficulty=-1&algorithm=none&seed=00",
        body(&puzzle.token, &[0; 16])
    );
    assert_eq!(
        jar.send(&gate, &visitor(), &lies, NOW),
        Err(Refusal::TooEasy)
    );
    jar.send(&gate, &visitor(), &format!("bits=255&{good}"), NOW)
        .unwrap();
}

#[test]
fn h083_a_challenge_of_another_agent_is_refused() {
    check(Defence::Visitor, |file, part| {
        let (gate, mut jar) = (part(file.gate()), Jar::default());
        let puzzle = jar.ask(&gate, &visitor(), "/", NOW);
        let other = Visitor {
            agent: b"curl/8.14.1",
            ..visitor()
        };
        jar.send(&gate, &other, &solution(&puzzle), NOW).is_ok()
    });
}

#[test]
fn h083_a_challenge_of_another_site_is_refused() {
    let file = KeyFile::new();
    let other = Visitor {
        site: "shop.example.org",
        ..visitor()
    };
    // Not even without the check of the agent and site: the asker's cookie is signed for its site.
    for gate in [file.gate(), file.gate().without(Defence::Visitor)] {
        let mut jar = Jar::default();
        let puzzle = jar.ask(&gate, &other, "/", NOW);
        assert_eq!(
            jar.send(&gate, &visitor(), &solution(&puzzle), NOW),
            Err(Refusal::NoCookie)
        );
    }
    let (gate, mut jar) = (file.gate().without(Defence::Asker), Jar::default());
    let puzzle = jar.ask(&gate, &other, "/", NOW);
    assert_eq!(
        jar.send(&gate, &visitor(), &solution(&puzzle), NOW),
        Err(Refusal::OtherVisitor)
    );
}

#[test]
fn h084_an_answer_counts_once() {
    check(Defence::SingleUse, |file, part| {
        let (gate, mut jar) = (part(file.gate()), Jar::default());
        let puzzle = jar.ask(&gate, &visitor(), "/", NOW);
        jar.send(&gate, &visitor(), &solution(&puzzle), NOW)
            .unwrap();
        let again = jar.send(&gate, &visitor(), &solution(&puzzle), later(9));
        again.is_ok_and(|again| !again.set_cookie.is_empty())
    });
    // From another address neither.
    let (gate, mut jar) = (gate(), Jar::default());
    let puzzle = jar.ask(&gate, &visitor(), "/", NOW);
    jar.send(&gate, &visitor(), &solution(&puzzle), NOW)
        .unwrap();
    let refusal = jar.send(&gate, &from("203.0.113.9"), &solution(&puzzle), NOW);
    assert_eq!(refusal, Err(Refusal::Spent));
}

#[test]
fn h084_neither_a_restart_nor_another_node_makes_it_count_twice() {
    check(Defence::Start, |file, part| {
        let (gate, mut jar) = (part(file.gate()), Jar::default());
        let puzzle = jar.ask(&gate, &visitor(), "/", NOW);
        jar.send(&gate, &visitor(), &solution(&puzzle), NOW)
            .unwrap();
        let restarted = part(file.gate());
        let again = jar.send(&restarted, &visitor(), &solution(&puzzle), NOW);
        assert!(matches!(again, Ok(_) | Err(Refusal::Restarted)));
        again.is_ok()
    });
}

#[test]
fn h084_of_many_at_the_same_moment_one_counts() {
    let (gate, mut jar) = (gate(), Jar::default());
    let puzzle = jar.ask(&gate, &visitor(), "/", NOW);
    let (body, header) = (solution(&puzzle), jar.header());
    let accepted = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let answer = gate.answer(&visitor(), body.as_bytes(), [&header[..]], PAGES, NOW);
                accepted.fetch_add(usize::from(answer.is_ok()), Ordering::SeqCst);
            });
        }
    });
    assert_eq!(accepted.into_inner(), 1);
}

#[test]
fn h085_late_and_early_answers_are_refused() {
    check(Defence::Expiry, |file, part| {
        let (gate, mut jar) = (part(file.gate()), Jar::default());
        let puzzle = jar.ask(&gate, &visitor(), "/", NOW);
        jar.send(&gate, &visitor(), &solution(&puzzle), later(300))
            .is_ok()
    });
    check(Defence::Expiry, |file, part| {
        let (gate, mut jar) = (part(file.gate()), Jar::default());
        let puzzle = jar.ask(&gate, &visitor(), "/", later(121));
        jar.send(&gate, &visitor(), &solution(&puzzle), NOW).is_ok()
    });
    let (gate, mut jar) = (gate(), Jar::default());
    let puzzle = jar.ask(&gate, &visitor(), "/", NOW);
    assert_eq!(
        jar.send(&gate, &visitor(), &solution(&puzzle), later(300)),
        Err(Refusal::Expired)
    );
    jar.send(&gate, &visitor(), &solution(&puzzle), later(299))
        .unwrap();
    let puzzle = jar.ask(&gate, &visitor(), "/", later(119));
    jar.send(&gate, &visitor(), &solution(&puzzle), NOW)
        .unwrap();
}

#[test]
fn h086_garbage_in_place_of_a_challenge_is_refused() {
    let (gate, mut jar) = (gate(), Jar::default());
    jar.ask(&gate, &visitor(), "/", NOW);
    let long = "A".repeat(1 << 20);
    for garbage in [
        "",
        "x",
        "*",
        "{x}",
        "../../x",
        "' OR 1=1 --",
        "\r\nFLUSHALL\r\n",
        "AAAA",
        "\0",
        "%00",
        "\u{202e}",
        &long,
    ] {
        let body = body(garbage, &[0; 16]);
        let refusal = jar.send(&gate, &visitor(), &body, NOW).unwrap_err();
        assert_eq!(
            refusal,
            Refusal::Malformed,
            "{}",
            &garbage[..garbage.len().min(20)]
        );
        assert_eq!(gate.return_of(body.as_bytes()), "/");
    }
    assert_eq!(gate.spent_len(), 0);
}

#[test]
fn h093_a_client_without_cookies_is_told_so_and_costs_nothing() {
    let gate = gate();
    for round in 0..50 {
        let puzzle = gate.mint(&visitor(), b"/", TERMS, [], later(round));
        let refusal = gate
            .answer(
                &visitor(),
                solution(&puzzle).as_bytes(),
                [],
                PAGES,
                later(round),
            )
            .unwrap_err();
        assert_eq!(refusal, Refusal::NoCookie);
        assert!(!refusal.is_evidence());
    }
    assert_eq!(gate.spent_len(), 0);
}

#[test]
fn h095_a_victim_cannot_be_made_to_send_anothers_answer() {
    check(Defence::Asker, |file, part| {
        let (gate, mut attacker) = (part(file.gate()), Jar::default());
        let puzzle = attacker.ask(&gate, &visitor(), "/", NOW);
        let body = solution(&puzzle);
        // A browser that never met a challenge, and one that is about to solve its own.
        let (mut stranger, mut victim) = (Jar::default(), Jar::default());
        victim.ask(&gate, &visitor(), "/", NOW);
        let refusals = [Refusal::NoCookie, Refusal::OtherVisitor];
        [&mut stranger, &mut victim]
            .into_iter()
            .zip(refusals)
            .any(|(jar, expected)| {
                let answer = jar.send(&gate, &visitor(), &body, NOW);
                assert!(answer.is_ok() || answer == Err(expected));
                answer.is_ok()
            })
    });
}

#[test]
fn h095_an_asker_of_a_sibling_site_does_not_hide_ours() {
    let (gate, mut jar) = (gate(), Jar::default());
    let plain = Visitor {
        is_secure: false,
        ..visitor()
    };
    let puzzle = jar.ask(&gate, &plain, "/", NOW);
    let mut sibling = Jar::default();
    sibling.ask(&gate, &plain, "/", NOW);
    let header = [&sibling.header()[..], b"; ", &jar.header()].concat();
    gate.answer(
        &plain,
        solution(&puzzle).as_bytes(),
        [&header[..]],
        PAGES,
        NOW,
    )
    .unwrap();
}

#[test]
fn h105_five_tabs_at_once_all_get_their_page() {
    let (gate, mut jar) = (gate(), Jar::default());
    // The tabs ask before any of them has a cookie, so the last answer's cookie is the one that stays.
    let empty = Jar::default();
    let tabs: Vec<Puzzle> = (0..5)
        .map(|tab| {
            let puzzle = empty
                .clone()
                .ask(&gate, &visitor(), &format!("/{tab}"), NOW);
            jar.keep(puzzle.set_cookie.as_ref().unwrap());
            puzzle
        })
        .collect();
    for order in [[0, 1, 2, 3, 4], [4, 0, 3, 1, 2]] {
        let mut jar = jar.clone();
        for tab in order {
            let mut puzzle = tabs[tab].clone();
            if jar
                .send(&gate, &visitor(), &solution(&puzzle), later(1))
                .is_err()
            {
                // The page asks for a new one in its place, which knows where the tab wanted to go.
                let page = gate.return_of(format!("token={}", puzzle.token).as_bytes());
                puzzle = jar.ask(&gate, &visitor(), &page, later(2));
                let solved = jar
                    .send(&gate, &visitor(), &solution(&puzzle), later(3))
                    .unwrap();
                assert_eq!(solved.return_to, format!("/{tab}"));
            }
            assert!(jar.is_cleared(&gate, &visitor(), later(4)));
        }
    }
    // Tabs that are opened with the cookie there are solved in any order, each at the first attempt.
    let tabs: Vec<Puzzle> = (0..5)
        .map(|tab| jar.ask(&gate, &visitor(), &format!("/{tab}"), NOW))
        .collect();
    for tab in [3, 0, 4, 1, 2] {
        let solved = jar
            .send(&gate, &visitor(), &solution(&tabs[tab]), later(5))
            .unwrap();
        assert_eq!(solved.return_to, format!("/{tab}"));
    }
}

#[test]
fn h110_the_systems_clock_does_not_touch_challenges() {
    let (gate, mut jar) = (gate(), Jar::default());
    let mut steady_ms = NOW.steady_ms;
    for unix in [
        NOW.unix,
        NOW.unix - 3600,
        NOW.unix + 3600,
        NOW.unix + 30 * 86_400,
        0,
        u64::MAX,
        NOW.unix,
    ] {
        let puzzle = jar.ask(&gate, &visitor(), "/", Moment { unix, steady_ms });
        steady_ms += 1000;
        for unix in [0, NOW.unix + 7, u64::MAX] {
            let again = Moment { unix, steady_ms };
            gate.find([&jar.header()[..]], &visitor(), again.unix);
        }
        jar.send(
            &gate,
            &visitor(),
            &solution(&puzzle),
            Moment { unix, steady_ms },
        )
        .unwrap();
    }
    // At the end of its range the steady clock's challenges have ended, at its beginning they are good.
    for (steady_ms, is_good) in [(0, true), (u64::MAX - 1, true), (u64::MAX, false)] {
        let now = Moment { steady_ms, ..NOW };
        let puzzle = jar.ask(&gate, &visitor(), "/", now);
        let answer = jar.send(&gate, &visitor(), &solution(&puzzle), now);
        assert_eq!(answer.is_ok(), is_good, "{steady_ms}");
    }
}

#[test]
fn h110_a_clock_set_back_does_not_make_an_answer_count_twice() {
    let (gate, mut jar) = (gate(), Jar::default());
    let first = jar.ask(&gate, &visitor(), "/", NOW);
    jar.send(&gate, &visitor(), &solution(&first), NOW).unwrap();
    // Ten minutes on, the first has left the set.
    let second = jar.ask(&gate, &visitor(), "/", later(600));
    jar.send(&gate, &visitor(), &solution(&second), later(600))
        .unwrap();
    assert_eq!(gate.spent_len(), 1);
    assert_eq!(
        jar.send(&gate, &visitor(), &solution(&first), NOW),
        Err(Refusal::Expired)
    );
}

#[test]
fn a_full_set_of_spent_challenges_accepts_none_twice() {
    let settings = Settings {
        spent_max: 4,
        ..Settings::default()
    };
    let (gate, mut jar) = (KeyFile::new().gate_with(settings), Jar::default());
    let puzzles: Vec<Puzzle> = (0..9)
        .map(|second| jar.ask(&gate, &visitor(), "/", later(second)))
        .collect();
    for puzzle in &puzzles {
        jar.send(&gate, &visitor(), &solution(puzzle), later(10))
            .unwrap();
    }
    assert!(gate.spent_len() <= 4);
    for puzzle in &puzzles {
        let refusal = jar
            .send(&gate, &visitor(), &solution(puzzle), later(11))
            .unwrap_err();
        assert!(
            matches!(refusal, Refusal::Spent | Refusal::Expired),
            "{refusal:?}"
        );
    }
}

proptest! {
    #[test]
    fn any_bytes_get_an_answer(
        body in prop::collection::vec(any::<u8>(), 0..400),
        token in "[A-Za-z0-9_-]{0,300}",
        cookie in prop::collection::vec(any::<u8>(), 0..200),
        value in "[A-Za-z0-9_=-]{40,48}",
        agent in prop::collection::vec(any::<u8>(), 0..600),
        target in prop::collection::vec(any::<u8>(), 0..100),
        site in ".{0,40}",
        bits: u8,
        unix: u64,
        steady_ms: u64,
    ) {
        let gate = gate();
        let visitor = Visitor { agent: &agent, site: &site, ..visitor() };
        let now = Moment { unix, steady_ms };
        let named = format!("__Host-cattlegrid={value}; __Host-cattlegrid-ask={value}");
        let headers = || [&cookie[..], named.as_bytes()];
        prop_assert!(gate.answer(&visitor, &body, headers(), PAGES, now).is_err());
        let form = super::body(&token, &[0; 16]);
        prop_assert!(gate.answer(&visitor, form.as_bytes(), headers(), PAGES, now).is_err());
        prop_assert_eq!(gate.return_of(&body), "/");
        prop_assert_eq!(gate.find(headers(), &visitor, unix), None);
        let puzzle = gate.mint(&visitor, &target, Terms { bits, ..TERMS }, headers(), now);
        prop_assert!(puzzle.set_cookie.is_some() && puzzle.bits <= 32);
    }
}
