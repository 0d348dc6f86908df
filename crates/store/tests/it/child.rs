//! A process that writes a base and tells what it tries and what was confirmed, for tests that kill it or fail its disk; and what a base
//! must hold after that.

use std::collections::BTreeMap;
use std::env;
use std::io;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;

use cattlegrid_core::policy::Action;
use cattlegrid_store::Base;
use cattlegrid_store::Change;
use cattlegrid_store::Entry;
use cattlegrid_store::Fault;
use cattlegrid_store::Origin;
use cattlegrid_store::Proof;
use cattlegrid_store::Subject;
use cattlegrid_store::Writer;

use crate::Dice;
use crate::NOW;
use crate::deny;
use crate::put;

const TASK: &str = "CATTLEGRID_STORE_TASK";
const BASE: &str = "CATTLEGRID_STORE_BASE";
const DAY: u32 = 86_400;

/// Changes that are made together: the entry that shall be there, or none.
pub(crate) type Job = Vec<(Subject, Option<Entry>)>;

/// The entries of a base.
pub(crate) type Model = BTreeMap<Subject, Entry>;

/// This program again, doing a task on a base.
pub(crate) fn command(task: &str, path: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", "child::child", "--nocapture", "--test-threads=1"])
        .env(TASK, task)
        .env(BASE, path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

/// Not a test by itself: what the process does that other tests start.
#[test]
fn child() {
    let Ok(task) = env::var(TASK) else { return };
    let path = PathBuf::from(env::var_os(BASE).unwrap());
    say("");
    let words: Vec<&str> = task.split(' ').collect();
    match words[..] {
        ["mixed", seed, round, steps] => Mixed {
            dice: Dice(seed.parse().unwrap()),
            now: NOW + round.parse::<u32>().unwrap() * DAY,
            path: &path,
        }
        .run(steps.parse().unwrap()),
        ["serve"] => serve(&path),
        ["restore"] => drop(Base::restore(&path).unwrap()),
        _ => panic!("no such task: {task}"),
    }
}

/// One line, in one write: it has left this process when this returns.
fn say(line: &str) {
    let mut out = io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

fn try_job(job: &Job) {
    say(&format!("TRY {}", serde_json::to_string(job).unwrap()));
}

fn changes(job: &Job) -> Vec<Change> {
    job.iter()
        .cloned()
        .map(|(subject, entry)| match entry {
            Some(entry) => put(entry),
            None => Change::Remove(subject),
        })
        .collect()
}

/// Writes of all kinds.
struct Mixed<'a> {
    dice: Dice,
    now: u32,
    path: &'a Path,
}

impl Mixed<'_> {
    fn run(&mut self, steps: usize) {
        let mut base = Base::open_or_create(self.path).unwrap();
        for _ in 0..steps {
            match self.dice.below(20) {
                0 => {
                    base.keep_copy().unwrap();
                    say("COPY");
                }
                1 => {
                    drop(base);
                    base = Base::open(self.path).unwrap();
                }
                2..5 => self.undo(&mut base),
                5..9 => base = self.through_writer(base),
                _ => {
                    let job = self.job();
                    try_job(&job);
                    base.apply(&changes(&job), "a test", self.now).unwrap();
                    say("ACK");
                }
            }
        }
    }

    /// Takes back what was done last, which may have been an undoing.
    fn undo(&mut self, base: &mut Base) {
        let mut latest = base.changes(2000).unwrap();
        let Some(batch) = latest.first().map(|record| record.batch) else {
            return;
        };
        latest.retain(|record| record.batch == batch);
        let job = latest
            .into_iter()
            .map(|record| (record.subject, record.before))
            .collect();
        try_job(&job);
        base.undo(batch, "undo", self.now).unwrap();
        say("ACK");
    }

    fn through_writer(&mut self, base: Base) -> Base {
        let writer = Writer::start(base, "the gate").unwrap();
        let jobs: Vec<Job> = (0..1 + self.dice.below(8)).map(|_| self.job()).collect();
        let answers: Vec<_> = jobs
            .iter()
            .map(|job| {
                try_job(job);
                writer.submit(changes(job), self.now)
            })
            .collect();
        for answer in answers {
            answer.recv().unwrap().unwrap();
            say("ACK");
        }
        writer.finish().unwrap()
    }

    fn job(&mut self) -> Job {
        let many = match self.dice.below(15) {
            0 => 80,
            _ => 1 + self.dice.below(5),
        };
        (0..many).map(|_| self.change()).collect()
    }

    fn change(&mut self) -> (Subject, Option<Entry>) {
        let number = self.dice.below(60);
        let name = match self.dice.below(6) {
            0 => format!("10.{number}.0.0/16"),
            1 => format!("agent:Scraper/{number}.0"),
            2 => format!("campaign:agent-{number}"),
            3 => format!("2001:db8:{number:x}::/64"),
            _ => format!("10.0.{number}.{}", self.dice.below(4)),
        };
        let subject: Subject = name.parse().unwrap();
        if self.dice.below(4) == 0 {
            return (subject, None);
        }
        let action = [Action::Allow, Action::Deny, Action::Watch][self.dice.below(3)];
        let entry = Entry {
            reason: "too many pages ".repeat(1 + self.dice.below(12)),
            evidence: (0..self.dice.below(3))
                .map(|_| Proof {
                    detector: "breadth".to_owned(),
                    weight: self.dice.below(400) as f64 / 4.0,
                    why: format!("{} pages in a day", self.dice.below(10_000)),
                })
                .collect(),
            expires: Some(self.now + 1 + self.dice.below(30) as u32 * DAY),
            ..Entry::new(subject.clone(), action, Origin::Analysis, self.now)
        };
        (subject, Some(entry))
    }
}

/// Does what it is told, line by line, and says what came of it.
fn serve(path: &Path) {
    let mut base = Some(Base::open_or_create(path).unwrap());
    for line in io::stdin().lines() {
        let line = line.unwrap();
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let open = base.as_mut().unwrap();
        let answer = match word {
            // Some changes for one address, so large that they fill a disk soon.
            "put" => open
                .apply(&[put(large(rest))], "a test", NOW)
                .map(|_| String::new()),
            "copy" => open.keep_copy().map(|_| String::new()),
            "check" => open.check().map(|()| String::new()),
            "count" => open.entries().map(|entries| entries.len().to_string()),
            "reopen" => {
                drop(base.take());
                let opened = Base::open(path);
                opened.map(|opened| {
                    base = Some(opened);
                    String::new()
                })
            }
            _ => panic!("no such order: {line}"),
        };
        match answer {
            Ok(text) => say(&format!("DONE {text}")),
            Err(fault) => say(&format!("FAULT {}", name_of(&fault))),
        }
    }
}

/// An entry of some 10 KB.
pub(crate) fn large(subject: &str) -> Entry {
    Entry {
        reason: "too many pages ".repeat(700),
        ..deny(subject)
    }
}

fn name_of(fault: &Fault) -> String {
    match fault {
        Fault::Full(_) => "full".to_owned(),
        Fault::Unconfirmed(_) => "unconfirmed".to_owned(),
        other => other.to_string(),
    }
}

/// A process that does what it is told.
pub(crate) struct Server {
    child: Child,
    lines: io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Server {
    pub(crate) fn start(command: &mut Command) -> Server {
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Server { child, lines }
    }

    /// Gives an order, and the answer to it.
    pub(crate) fn ask(&mut self, order: &str) -> String {
        writeln!(self.child.stdin.as_mut().unwrap(), "{order}").unwrap();
        loop {
            let line = self.lines.next().expect("the process has ended").unwrap();
            if let Some(done) = line.strip_prefix("DONE ") {
                return done.to_owned();
            }
            if let Some(fault) = line.strip_prefix("FAULT ") {
                return fault.to_owned();
            }
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// What a process has told of its work.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) tries: Vec<Job>,
    pub(crate) acked: usize,
    pub(crate) copies: usize,
}

impl Told {
    /// Takes in a line. The last line of a process that was killed may be a part of one: what it announced was not begun.
    pub(crate) fn hear(&mut self, line: &str) {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("TRY", job) => self.tries.extend(serde_json::from_str::<Job>(job)),
            ("ACK", _) => self.acked += 1,
            ("COPY", _) => self.copies += 1,
            _ => {}
        }
    }

    /// Sees that a base holds what was known before, all that was confirmed, and of the rest a beginning in whole transactions.
    /// Gives what it holds.
    pub(crate) fn verify(&self, known: &Model, base: &Base) -> Result<Model, String> {
        let entries = base.entries().map_err(|fault| fault.to_string())?;
        let there: Model = entries
            .into_iter()
            .map(|(_, entry)| (entry.subject.clone(), entry))
            .collect();
        verify_changes(base, &there)?;
        let mut model = known.clone();
        for (number, job) in self.tries.iter().enumerate() {
            if self.acked <= number && model == there {
                return Ok(there);
            }
            for (subject, entry) in job {
                match entry {
                    Some(entry) => model.insert(subject.clone(), entry.clone()),
                    None => model.remove(subject),
                };
            }
        }
        match model == there {
            true => Ok(there),
            false => Err(format!(
                "{} transactions were tried, {} confirmed, and what is there is none of what may be",
                self.tries.len(),
                self.acked
            )),
        }
    }
}

/// The changes that were written down must lead to what is there, and be undone all or not at all.
fn verify_changes(base: &Base, there: &Model) -> Result<(), String> {
    let changes = base.changes(1_000_000).map_err(|fault| fault.to_string())?;
    let mut latest = BTreeMap::new();
    let mut undone = BTreeMap::new();
    for record in &changes {
        let after = *latest.entry(&record.subject).or_insert(&record.after);
        if after.as_ref() != there.get(&record.subject) {
            return Err(format!(
                "the last change of {} is not what is there",
                record.subject
            ));
        }
        if *undone.entry(record.batch).or_insert(record.undone_by) != record.undone_by {
            return Err(format!("changes {} are undone in part", record.batch));
        }
    }
    Ok(())
}
