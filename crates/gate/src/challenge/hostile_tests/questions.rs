//! Attacks on the question that visitors without JavaScript answer: a program answers it at once, so it must gain little by that.

use std::cell::Cell;

use super::*;
use crate::challenge::language::Language;

fn form(puzzle: &Puzzle) -> String {
    format!("token={}&answer={}", puzzle.token, puzzle.question.answer())
}

const WAIT: u32 = 10;

impl Jar {
    /// Sends an answer to a question, with its turn, and keeps the clearance.
    fn reply(
        &mut self,
        gate: &Challenger,
        visitor: &Visitor<'_>,
        body: &str,
        now: Moment,
        take: impl FnOnce() -> Result<(), u32>,
    ) -> Result<Solved, Unanswered> {
        let header = self.header();
        let turn = Turn {
            wait_seconds: WAIT,
            take,
        };
        let sent = (body.as_bytes(), Language::English);
        let solved = gate.answer_question(visitor, sent, [&header[..]], 50, now, turn)?;
        self.keep(&solved.set_cookie);
        Ok(solved)
    }
}

fn free() -> Result<(), u32> {
    Ok(())
}

fn is_refused(answer: Result<Solved, Unanswered>, refusal: Refusal) -> bool {
    answer == Err(Unanswered::Refused(refusal))
}

#[test]
fn an_answer_leads_back_with_a_small_clearance() {
    let (gate, mut jar) = (gate(), Jar::default());
    let puzzle = jar.ask(&gate, &visitor(), "/wanted?x=1", NOW);
    let solved = jar.reply(&gate, &visitor(), &form(&puzzle), later(10), free);
    assert_eq!(solved.unwrap().return_to, "/wanted?x=1");
    let found = gate.find([&jar.header()[..]], &visitor(), later(10).unix);
    assert_eq!(found.unwrap().pages, 50);
}

#[test]
fn h104_an_answer_counts_after_its_wait_and_an_early_one_loses_nothing() {
    check(Defence::Wait, |file, part| {
        let (gate, mut jar) = (part(file.gate()), Jar::default());
        let puzzle = jar.ask(&gate, &visitor(), "/", NOW);
        jar.reply(&gate, &visitor(), &form(&puzzle), later(9), free)
            .is_ok()
    });
    let (gate, mut jar) = (gate(), Jar::default());
    let puzzle = jar.ask(&gate, &visitor(), "/", NOW);
    let body = form(&puzzle);
    // 5, 50, 94, 99 and 300 % of the wait, by the steady clock of the gate.
    for (percent, left) in [(5, Some(9)), (50, Some(5)), (94, Some(1)), (99, None)] {
        let now = Moment {
            unix: NOW.unix + 1_000_000,
            steady_ms: NOW.steady_ms + 100 * percent,
        };
        let mut again = jar.clone();
        let answer = again.reply(&gate, &visitor(), &body, now, free);
        match left {
            Some(left) => {
                let expected = Unanswered::TooSoon(puzzle.question, left);
                assert_eq!(answer, Err(expected), "{percent}");
            }
            None => assert!(answer.is_ok()),
        }
    }
    let late = jar.ask(&gate, &visitor(), "/", NOW);
    jar.reply(&gate, &visitor(), &form(&late), later(30), free)
        .unwrap();
}

#[test]
fn h084_one_answer_counts_once_in_either_way() {
    check(Defence::SingleUse, |file, part| {
        let (gate, mut jar) = (part(file.gate()), Jar::default());
        let puzzle = jar.ask(&gate, &visitor(), "/", NOW);
        let body = form(&puzzle);
        jar.reply(&gate, &visitor(), &body, later(10), free)
            .unwrap();
        // Again, from another address, and as a challenge whose work was done.
        let again = jar.clone().reply(&gate, &visitor(), &body, later(11), free);
        let other = from("198.51.100.1");
        let moved = jar.clone().reply(&gate, &other, &body, later(11), free);
        let worked = jar
            .clone()
            .send(&gate, &visitor(), &solution(&puzzle), later(11));
        again.is_ok() || moved.is_ok() || worked.is_ok()
    });
}

#[test]
fn h085_answers_after_the_end_and_of_another_process_are_void() {
    check(Defence::Expiry, |file, part| {
        let (gate, mut jar) = (part(file.gate()), Jar::default());
        let puzzle = jar.ask(&gate, &visitor(), "/", NOW);
        jar.reply(&gate, &visitor(), &form(&puzzle), later(301), free)
            .is_ok()
    });
    let file = KeyFile::new();
    let (before, after, mut jar) = (file.gate(), file.gate(), Jar::default());
    let puzzle = jar.ask(&before, &visitor(), "/", NOW);
    let answer = jar.reply(&after, &visitor(), &form(&puzzle), later(10), free);
    assert!(is_refused(answer, Refusal::Restarted));
}

#[test]
fn h090_another_browser_or_agent_or_site_cannot_answer() {
    check(Defence::Asker, |file, part| {
        let (gate, mut jar) = (part(file.gate()), Jar::default());
        let puzzle = jar.ask(&gate, &visitor(), "/", NOW);
        Jar::default()
            .reply(&gate, &visitor(), &form(&puzzle), later(10), free)
            .is_ok()
    });
    let (gate, mut jar) = (gate(), Jar::default());
    let puzzle = jar.ask(&gate, &visitor(), "/", NOW);
    let mut stranger = Jar::default();
    stranger.ask(&gate, &visitor(), "/", NOW);
    let answer = stranger.reply(&gate, &visitor(), &form(&puzzle), later(10), free);
    assert!(is_refused(answer, Refusal::OtherVisitor));
    let others = [
        Visitor {
            agent: b"curl/8.0",
            ..visitor()
        },
        Visitor {
            site: "other.example",
            ..visitor()
        },
    ];
    for other in others {
        let answer = jar
            .clone()
            .reply(&gate, &other, &form(&puzzle), later(10), free);
        assert!(matches!(answer, Err(Unanswered::Refused(_))), "{other:?}");
    }
}

#[test]
fn h082_wrong_answers_do_not_count_and_can_be_corrected() {
    check(Defence::Difficulty, |file, part| {
        let (gate, mut jar) = (part(file.gate()), Jar::default());
        let puzzle = jar.ask(&gate, &visitor(), "/", NOW);
        let wrong = format!("token={}&answer=999", puzzle.token);
        jar.reply(&gate, &visitor(), &wrong, later(10), free)
            .is_ok()
    });
    let (gate, mut jar) = (gate(), Jar::default());
    let puzzle = jar.ask(&gate, &visitor(), "/", NOW);
    for wrong in ["", "0", "999", "-1", "many", "%E2%82%AC"] {
        let body = format!("token={}&answer={wrong}", puzzle.token);
        let answer = jar.reply(&gate, &visitor(), &body, later(10), free);
        assert_eq!(answer, Err(Unanswered::Wrong(puzzle.question)), "{wrong}");
    }
    assert_eq!(gate.spent_len(), 0, "wrong answers fill no table");
    jar.reply(&gate, &visitor(), &form(&puzzle), later(10), free)
        .unwrap();
    let without = [format!("token={}", puzzle.token), "answer=1".to_owned()];
    for body in without {
        let answer = jar.reply(&gate, &visitor(), &body, later(10), free);
        assert!(is_refused(answer, Refusal::Malformed), "{body}");
    }
}

#[test]
fn h197_a_hoard_of_questions_is_answered_one_by_one() {
    let gate = gate();
    // A hundred questions at once, all answered after the wait: the turn is taken by one, and those refused are not spent.
    let mut jar = Jar::default();
    let hoard: Vec<Puzzle> = (0..100)
        .map(|_| jar.ask(&gate, &visitor(), "/", NOW))
        .collect();
    let turns = Cell::new(1);
    let take = || match turns.replace(0) {
        1 => Ok(()),
        _ => Err(20),
    };
    let answers: Vec<_> = hoard
        .iter()
        .map(|puzzle| {
            jar.clone()
                .reply(&gate, &visitor(), &form(puzzle), later(10), take)
        })
        .collect();
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    let soon =
        |answer: &&Result<Solved, Unanswered>| matches!(answer, Err(Unanswered::TooSoon(_, 20)));
    assert_eq!(answers.iter().filter(soon).count(), 99);
    assert_eq!(gate.spent_len(), 1);
    jar.reply(&gate, &visitor(), &form(&hoard[1]), later(30), free)
        .unwrap();
}

#[test]
fn no_turn_is_taken_for_what_does_not_count() {
    let (gate, mut jar) = (gate(), Jar::default());
    let puzzle = jar.ask(&gate, &visitor(), "/", NOW);
    let never = || -> Result<(), u32> { panic!("a turn was taken") };
    let right = form(&puzzle);
    let wrong = format!("token={}&answer=999", puzzle.token);
    let cases = [
        (&right, later(1)),
        (&right, later(301)),
        (&wrong, later(10)),
    ];
    for (body, now) in cases {
        assert!(jar.reply(&gate, &visitor(), body, now, never).is_err());
    }
    let mut stranger = Jar::default();
    let answer = stranger.reply(&gate, &visitor(), &right, later(10), never);
    assert!(is_refused(answer, Refusal::NoCookie));
}

#[test]
fn h091_a_question_confirms_a_clearance_in_another_network_and_adds_no_pages() {
    let (gate, mut jar) = (gate(), Jar::default());
    let puzzle = jar.ask(&gate, &visitor(), "/", NOW);
    let first = jar
        .reply(&gate, &visitor(), &form(&puzzle), later(10), free)
        .unwrap();
    let away = from("198.51.100.1");
    let terms = Terms {
        confirms: Some(first.id),
        ..TERMS
    };
    let puzzle = gate.mint(&away, b"/", terms, [&jar.header()[..]], later(20));
    let moved = jar
        .reply(&gate, &away, &form(&puzzle), later(30), free)
        .unwrap();
    assert_eq!((moved.earned, moved.id), (Earned::Confirmed, first.id));
    let found = gate.find([&jar.header()[..]], &away, later(30).unix);
    assert_eq!(found.unwrap().pages, 50);
}
