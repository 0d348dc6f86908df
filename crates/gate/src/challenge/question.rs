//! The question that a visitor without JavaScript answers instead of solving a challenge.
//!
//! It follows from the challenge's id, so nothing is remembered. A screen reader can read it, every answer is a number, and the number is
//! the same in all languages. It tells nobody from a program, which a test shows (`without_javascript.rs`): what keeps
//! programs from living on questions is that answers count slowly and for few pages.

use super::language::Language;
use super::texts::Group;
use super::texts::Texts;

/// Words of a list.
const LIST: usize = 5;
const GROUPS: usize = 3;
const WORDS: usize = 6;

/// A question, in no language yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plus([u8; 2]),
    Minus([u8; 2]),
    Largest([u8; LIST]),
    /// The word at this place is the only one of its group.
    Place(List, u8),
    /// So many words are of this group.
    Count(List, u8),
}

/// Words by group and place there.
type List = [(u8, u8); LIST];

/// Draws numbers from an id.
struct Draw(u128);

impl Draw {
    fn below(&mut self, end: u8) -> u8 {
        let drawn = self.0 % u128::from(end);
        self.0 /= u128::from(end);
        drawn as u8
    }

    /// A group other than this one.
    fn other(&mut self, group: u8) -> u8 {
        (group + 1 + self.below(GROUPS as u8 - 1)) % GROUPS as u8
    }

    /// A word of a group that is not in the list yet.
    fn word(&mut self, group: u8, before: &[(u8, u8)]) -> (u8, u8) {
        let first = self.below(WORDS as u8);
        let mut words = (0..WORDS as u8).map(|step| (group, (first + step) % WORDS as u8));
        // A list is shorter than a group.
        words
            .find(|word| !before.contains(word))
            .unwrap_or((group, first))
    }
}

impl Question {
    /// The question of the challenge with this id.
    pub(super) fn of(id: u128) -> Question {
        let mut draw = Draw(id);
        let kind = match draw.below(5) {
            0 => Kind::Plus([2 + draw.below(17), 2 + draw.below(17)]),
            1 => {
                let least = 1 + draw.below(9);
                Kind::Minus([least + 1 + draw.below(11), least])
            }
            2 => {
                let mut numbers = [0; LIST];
                for at in 0..LIST {
                    let drawn = 10 + draw.below(80);
                    // No two are equal.
                    let is_new = |number: &u8| !numbers[..at].contains(number);
                    numbers[at] = (drawn..).find(is_new).unwrap_or(drawn);
                }
                Kind::Largest(numbers)
            }
            3 => {
                let (group, place) = (draw.below(GROUPS as u8), draw.below(LIST as u8));
                Kind::Place(list(&mut draw, group, |at| at == usize::from(place)), place)
            }
            _ => {
                let group = draw.below(GROUPS as u8);
                // One word to all but one.
                let chosen = 1 + draw.below((1 << LIST) - 2);
                let is_of_group = |at: usize| chosen >> at & 1 == 1;
                Kind::Count(list(&mut draw, group, is_of_group), group)
            }
        };
        Question { kind }
    }

    /// The number that answers it.
    pub(super) fn answer(&self) -> u32 {
        u32::from(match self.kind {
            Kind::Plus([a, b]) => a + b,
            Kind::Minus([a, b]) => a - b,
            Kind::Largest(numbers) => numbers.into_iter().max().unwrap_or(0),
            Kind::Place(_, place) => place + 1,
            Kind::Count(list, group) => list.iter().filter(|(of, _)| *of == group).count() as u8,
        })
    }

    /// The question in a language.
    pub(super) fn text(&self, texts: &Texts) -> String {
        let ask = &texts.ask;
        let two = |pattern: &str, [a, b]: [u8; 2]| {
            let name = |number: u8| ask.numbers.get(usize::from(number)).copied();
            pattern
                .replace("{a}", name(a).unwrap_or_default())
                .replace("{b}", name(b).unwrap_or_default())
        };
        let group = |at: u8| &ask.groups[usize::from(at) % GROUPS];
        let word = |(of, at): (u8, u8)| group(of).words[usize::from(at) % WORDS];
        let words = |list: List| list.map(word);
        match self.kind {
            Kind::Plus(numbers) => two(ask.plus, numbers),
            Kind::Minus(numbers) => two(ask.minus, numbers),
            Kind::Largest(numbers) => {
                let numbers = numbers.map(|number| number.to_string());
                ask.largest.replace("{list}", &numbers.join(ask.comma))
            }
            Kind::Place(list, place) => {
                let Group { place: pattern, .. } = group(list[usize::from(place)].0);
                let numbered = words(list).into_iter().zip(1..);
                // A number stays on the line of its word.
                let numbered: Vec<String> = numbered
                    .map(|(word, at)| format!("{at}\u{a0}{word}"))
                    .collect();
                pattern.replace("{list}", &numbered.join(ask.comma))
            }
            Kind::Count(list, of) => group(of)
                .count
                .replace("{list}", &words(list).join(ask.comma)),
        }
    }
}

/// Words of a group at some places, and of the other groups elsewhere.
fn list(draw: &mut Draw, group: u8, is_of_group: impl Fn(usize) -> bool) -> List {
    let mut list = [(0, 0); LIST];
    for at in 0..LIST {
        let of = match is_of_group(at) {
            true => group,
            false => draw.other(group),
        };
        list[at] = draw.word(of, &list[..at]);
    }
    list
}

/// The number in what a visitor typed: digits of any script, or the name of a number.
pub(super) fn number(typed: &str, language: Language) -> Option<u32> {
    let word = typed.trim().trim_end_matches(['.', '。', '!']).trim_end();
    let mut names = Texts::of(language).ask.numbers.iter();
    let lower = word.to_lowercase();
    if let Some(at) = names.position(|name| *name == lower) {
        return u32::try_from(at).ok();
    }
    if word.is_empty() || word.chars().count() > 4 {
        return None;
    }
    word.chars()
        .try_fold(0, |number, digit| Some(10 * number + value(digit)?))
}

/// The value of a digit: of ASCII, of full width as Japanese keyboards write it, or of Arabic.
fn value(digit: char) -> Option<u32> {
    let zeros = ['0', '０', '٠', '۰'];
    let values = zeros.map(|zero| (digit as u32).checked_sub(zero as u32));
    values.into_iter().flatten().find(|value| *value < 10)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_question_is_whole_in_every_language() {
        for language in Language::ALL {
            let texts = Texts::of(language);
            let words = texts.ask.groups.iter().flat_map(|group| group.words);
            let all: HashSet<&str> = words.collect();
            assert_eq!(
                all.len(),
                GROUPS * WORDS,
                "{language:?}: a word is used twice"
            );
            let names: HashSet<&str> = texts.ask.numbers.into_iter().collect();
            assert_eq!(names.len(), 21, "{language:?}");
            for id in 0..2000_u128 {
                let text = Question::of(id.wrapping_mul(0x9e37_79b9_7f4a_7c15)).text(texts);
                assert!(
                    !text.contains('{') && text.len() < 300,
                    "{language:?} {text}"
                );
            }
        }
    }

    #[test]
    fn questions_are_many_and_no_answer_is_worth_guessing() {
        let (mut texts, mut answers) = (HashSet::new(), BTreeMap::<u32, u32>::new());
        for step in 0..20_000_u128 {
            let question =
                Question::of(step.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
            texts.insert(question.text(Texts::of(Language::English)));
            *answers.entry(question.answer()).or_default() += 1;
        }
        assert!(texts.len() > 10_000, "{}", texts.len());
        let most = answers.values().max().unwrap();
        assert!(*most < 20_000 / 6, "{answers:?}");
    }

    #[test]
    fn numbers_are_read_as_people_write_them() {
        let check = |typed: &str, language, expected| {
            assert_eq!(number(typed, language), expected, "{typed}");
        };
        check("19", Language::English, Some(19));
        check(" 07. ", Language::German, Some(7));
        check("Nineteen", Language::English, Some(19));
        check("zwölf", Language::German, Some(12));
        check("１２", Language::Japanese, Some(12));
        check("十二。", Language::Japanese, Some(12));
        check("٣", Language::English, Some(3));
        for bad in [
            "", " ", "-1", "+7", "1e3", "12345", "zwölf", "1 2", "<b>", "½",
        ] {
            check(bad, Language::English, None);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_any_id_asks(typed in any::<String>(), id in any::<u128>()) {
            number(&typed, Language::English);
            let question = Question::of(id);
            prop_assert!((1..=98).contains(&question.answer()), "{question:?}");
            prop_assert!(question.text(Texts::of(Language::Czech)).len() > 10);
        }
    }
}
