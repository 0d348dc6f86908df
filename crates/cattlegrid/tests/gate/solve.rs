//! A browser as far as the gate can tell: it keeps cookies, does the work of a challenge and goes on to the page it asked for.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

use serde_json::Value;

use crate::harness::Answer;
use crate::harness::Client;
use crate::harness::request;

/// Searches of one challenge; together they stand for four bits.
const PARTS: u32 = 16;
const PARTS_BITS: u32 = 4;

/// What numbers are multiplied by in walks.
const SPREAD: [u32; 2] = [0x9e37_79b1, 0x85eb_ca77];

/// The table through which the walks of a challenge go.
fn table(seed: [u32; 4]) -> Vec<u32> {
    let mut word = seed[0] ^ seed[1];
    let next = |at: usize| {
        word = (word ^ word >> 15)
            .wrapping_mul(SPREAD[0])
            .wrapping_add(seed[at % 4]);
        word
    };
    (0..1 << 16).map(next).collect()
}

/// Where eight walks end, side by side.
fn walks(words: &[u32], key: u32, first: u32) -> [u32; 8] {
    let numbers: [u32; 8] = std::array::from_fn(|at| first + at as u32);
    let mut walks = numbers.map(|number| {
        let start = (number ^ key).wrapping_mul(SPREAD[0]);
        let start = (start ^ start >> 15).wrapping_mul(SPREAD[1]);
        start ^ start >> 13
    });
    for _ in 0..2048 {
        for (walk, number) in walks.iter_mut().zip(numbers) {
            let next = (*walk ^ words[(*walk >> 16) as usize]).wrapping_mul(SPREAD[0]);
            *walk = next.wrapping_add(number).rotate_left(15);
        }
    }
    walks.map(|walk| {
        let end = (walk ^ walk >> 16).wrapping_mul(SPREAD[1]);
        end ^ end >> 15
    })
}

/// A challenge as a page or an answer in JSON carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Puzzle {
    pub(crate) token: String,
    pub(crate) seed: String,
    pub(crate) bits: u32,
}

impl Puzzle {
    /// The challenge in a page or in JSON; nothing where there is none.
    pub(crate) fn of(text: &str) -> Option<Puzzle> {
        if let Ok(value) = serde_json::from_str::<Value>(text) {
            return Some(Puzzle {
                token: value["token"].as_str()?.to_owned(),
                seed: value["seed"].as_str()?.to_owned(),
                bits: u32::try_from(value["bits"].as_u64()?).ok()?,
            });
        }
        let attribute = |name: &str| {
            let (_, rest) = text.split_once(&format!(" data-{name}=\""))?;
            Some(rest.split_once('"')?.0.to_owned())
        };
        Some(Puzzle {
            token: attribute("token")?,
            seed: attribute("seed")?,
            bits: attribute("bits")?.parse().ok()?,
        })
    }

    /// The numbers that its work wants.
    pub(crate) fn work(&self) -> Vec<u32> {
        let zeros = self.bits.saturating_sub(PARTS_BITS);
        if zeros == 0 {
            return vec![0; PARTS as usize];
        }
        let seed = u128::from_str_radix(&self.seed, 16).unwrap();
        let seed = [96, 64, 32, 0].map(|shift| (seed >> shift) as u32);
        let words = table(seed);
        let search = |part: u32| {
            let key = seed[3].wrapping_add(part.wrapping_mul(SPREAD[1]));
            let ends = (0..)
                .step_by(8)
                .flat_map(|first| (first..).zip(walks(&words, key, first)));
            let mut found = ends.filter(|(_, end)| end.leading_zeros() >= zeros);
            found.next().map_or(0, |(number, _)| number)
        };
        (0..PARTS).map(search).collect()
    }

    /// The form that answers it with these numbers.
    pub(crate) fn form(&self, work: &[u32]) -> String {
        let work: Vec<String> = work.iter().map(u32::to_string).collect();
        format!("token={}&work={}", self.token, work.join("."))
    }

    /// The form that answers it.
    pub(crate) fn solve(&self) -> String {
        self.form(&self.work())
    }
}

/// The form that answers the challenge in a page or in JSON.
pub(crate) fn solve(text: &str) -> String {
    let puzzle = Puzzle::of(text).unwrap_or_else(|| panic!("there is no challenge in: {text}"));
    puzzle.solve()
}

/// A person's browser, with one connection that is kept.
pub(crate) struct Browser {
    address: SocketAddr,
    /// Where it asks from; it may move.
    pub(crate) source: String,
    /// Headers that take the place of the usual ones.
    pub(crate) headers: Vec<(String, String)>,
    /// What the gate and the site have set.
    pub(crate) cookies: BTreeMap<String, String>,
    /// False for a browser that refuses cookies.
    pub(crate) keeps_cookies: bool,
    /// Challenges that it has solved.
    pub(crate) solved: usize,
    client: Option<(String, Client)>,
}

impl Browser {
    pub(crate) fn new(source: &str, address: SocketAddr) -> Browser {
        Browser {
            address,
            source: source.to_owned(),
            headers: Vec::new(),
            cookies: BTreeMap::new(),
            keeps_cookies: true,
            solved: 0,
            client: None,
        }
    }

    /// With a header that takes the place of the usual one.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Browser {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// What it sends as its `Cookie`.
    pub(crate) fn cookie(&self) -> String {
        let pairs = self.cookies.iter();
        let pairs: Vec<String> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join("; ")
    }

    /// Sends one request, and keeps the cookies of the answer.
    pub(crate) fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let cookie = self.cookie();
        let length = body.len().to_string();
        let own = self.headers.iter();
        let own = own.map(|(name, value)| (name.as_str(), value.as_str()));
        let is_given = |name: &str| {
            headers
                .iter()
                .any(|(given, _)| given.eq_ignore_ascii_case(name))
        };
        let mut all: Vec<(&str, &str)> = own.filter(|(name, _)| !is_given(name)).collect();
        all.extend(headers);
        if !cookie.is_empty() && !is_given("cookie") {
            all.push(("Cookie", &cookie));
        }
        if method == "POST" {
            all.push(("Content-Length", &length));
        }
        let mut bytes = request(method, path, &all);
        bytes.extend_from_slice(body.as_bytes());
        let answer = self
            .exchange(&bytes, method == "HEAD")
            .unwrap_or_else(|error| panic!("{method} {path} from {}: {error}", self.source));
        if self.keeps_cookies {
            self.keep(&answer);
        }
        answer
    }

    /// Sends bytes on the connection that is kept; where it has ended, on a new one.
    fn exchange(&mut self, bytes: &[u8], is_head: bool) -> io::Result<Answer> {
        if let Some((_, mut client)) = self.client.take_if(|(source, _)| *source == self.source) {
            let answer = client.send(bytes).and_then(|()| client.answer(is_head));
            if let Ok(answer) = answer {
                self.client = Some((self.source.clone(), client));
                return Ok(answer);
            }
        }
        let mut client = Client::connect(&self.source, self.address)?;
        client.send(bytes)?;
        let answer = client.answer(is_head)?;
        self.client = Some((self.source.clone(), client));
        Ok(answer)
    }

    fn keep(&mut self, answer: &Answer) {
        for cookie in answer.values("set-cookie") {
            let pair = cookie.split(';').next().unwrap_or_default();
            let Some((name, value)) = pair.split_once('=') else {
                continue;
            };
            match cookie.contains("Max-Age=0") {
                true => self.cookies.remove(name),
                false => self.cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
    }

    /// Asks for a page and takes what comes.
    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, &[], "")
    }

    /// Asks for a part of a page, as an `<img>` does.
    pub(crate) fn part(&mut self, path: &str) -> Answer {
        let headers = [
            ("Accept", "image/avif,image/webp,*/*"),
            ("Sec-Fetch-Dest", "image"),
        ];
        self.send("GET", path, &headers, "")
    }

    /// Sends a form to one of the gate's own pages: `answer` or `challenge`.
    pub(crate) fn post(&mut self, name: &str, form: &str) -> Answer {
        let headers = [("Content-Type", "application/x-www-form-urlencoded")];
        self.send("POST", &format!("/.cattlegrid/{name}"), &headers, form)
    }

    /// Solves the challenge of a page, and says which page it leads back to.
    pub(crate) fn clear(&mut self, challenge: &Answer) -> Result<String, String> {
        let answer = self.post("answer", &solve(&challenge.text()));
        let value: Value = serde_json::from_str(&answer.text())
            .map_err(|error| format!("{error}: {}", answer.text()))?;
        match (answer.status, value["ok"] == true) {
            (200, true) => {
                self.solved += 1;
                Ok(value["return"].as_str().unwrap_or_default().to_owned())
            }
            _ => Err(value["refused"].as_str().unwrap_or_default().to_owned()),
        }
    }

    /// Ends the tab that shows a challenge as the page's script does: with a new challenge where the answer was refused, three times at
    /// most. Gives the page that the tab ends on and the challenges it took.
    pub(crate) fn end_tab(&mut self, challenge: &Answer) -> Result<(String, usize), String> {
        let mut puzzle = Puzzle::of(&challenge.text()).ok_or("no challenge")?;
        for round in 1..=3 {
            let answer = self.post("answer", &puzzle.solve());
            let value: Value = serde_json::from_str(&answer.text()).map_err(|e| e.to_string())?;
            if value["ok"] == true {
                self.solved += 1;
                return Ok((
                    value["return"].as_str().unwrap_or_default().to_owned(),
                    round,
                ));
            }
            let next = self.post("challenge", &format!("token={}", puzzle.token));
            let value: Value = serde_json::from_str(&next.text()).map_err(|e| e.to_string())?;
            if value["cleared"] == true {
                return Ok((
                    value["return"].as_str().unwrap_or_default().to_owned(),
                    round,
                ));
            }
            puzzle = Puzzle::of(&next.text()).ok_or("no new challenge")?;
        }
        Err("three rounds".to_owned())
    }

    /// Asks for a page as a person: where a challenge comes it is solved, once, and the page asked for is opened.
    pub(crate) fn open(&mut self, path: &str) -> Answer {
        let answer = self.get(path);
        if Puzzle::of(&answer.text()).is_none() {
            return answer;
        }
        let page = self
            .clear(&answer)
            .unwrap_or_else(|refused| panic!("{path}: {refused}"));
        assert_eq!(page, path, "the page first asked for");
        self.get(&page)
    }
}
