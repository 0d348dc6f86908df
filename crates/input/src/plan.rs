//! The order of reading: every input is looked at once, then read in the order of its first request.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use cattlegrid_core::analysis::Block;
use cattlegrid_core::format::Detection;
use cattlegrid_core::format::Format;
use cattlegrid_core::format::Reader;
use cattlegrid_core::format::detect;
use jiff::tz::TimeZone;

use crate::Problem;
use crate::blocks::Blocks;
use crate::find;
use crate::find::Input;
use crate::find::Naming;
use crate::follow::Tail;
use crate::follow::is_rotated_name;
use crate::open::Compression;
use crate::open::Opened;
use crate::open::fill;

/// Bytes of an input that are looked at to tell its format and its first time.
const LOOK_BYTES: usize = 64 << 10;

/// One input that will be read.
pub struct Piece {
    /// Its name.
    pub name: String,
    /// Its format.
    pub format: Arc<Format>,
    input: Input,
    /// Standard input and pipes cannot be opened twice: what was looked at, and the rest.
    begun: Option<Begun>,
    /// Time of the first request, and its line.
    first: (u32, Vec<u8>),
    /// The log is still written to.
    pub(crate) tail: Option<Tail>,
}

/// An input that was already begun: its beginning, the rest, and an error that came in between.
struct Begun {
    start: Vec<u8>,
    rest: Opened,
    error: Option<std::io::Error>,
}

/// What will be read, in this order.
#[derive(Default)]
pub struct Plan {
    /// The inputs.
    pub pieces: Vec<Piece>,
    /// Logs that hold nothing yet, and will be followed.
    pub(crate) waiting: Vec<(Input, Tail)>,
    /// Inputs that cannot be read.
    pub problems: Vec<Problem>,
    /// Bytes on disk of all inputs, where that is known.
    pub total_bytes: u64,
    /// Bytes taken from the disk so far.
    pub progress: Progress,
}

/// Counts bytes taken from the disk; can be watched from another thread.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    /// Bytes taken from the disk so far.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn taken(&self) -> &Arc<AtomicU64> {
        &self.0
    }
}

/// How inputs are looked at.
#[derive(Debug, Default)]
pub struct Looking {
    /// The format of all of them; without one each is recognised.
    pub format: Option<Format>,
    /// The field with the addresses that proxies pass on.
    pub source_field: Option<String>,
    /// Zone of times that are written without one; UTC unless given.
    pub zone: Option<TimeZone>,
    /// Files will be read on as they grow.
    pub follow: bool,
}

/// Finds what the arguments name and looks at the beginning of each.
pub fn plan(arguments: &[String], looking: &Looking) -> Plan {
    let mut plan = Plan::default();
    let found = find::find(arguments, &mut plan.problems);
    let inputs: Vec<Input> = found.iter().map(|(input, _)| input.clone()).collect();
    for (input, naming) in &found {
        if let Input::File(path) = input {
            plan.total_bytes += std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        }
        if let Err(unread) = plan.add(input, &inputs, looking) {
            plan.problems.push(unread.problem(&input.name(), *naming));
        }
    }
    // Pieces of one log come in the order of time, whatever the order of the arguments.
    plan.pieces.sort_by(|a, b| a.first.cmp(&b.first));
    plan
}

/// True for a file that is one of the inputs, also through a link. A file in an input folder counts only if it looks like a log.
pub fn is_read(file: &Path, arguments: &[String], looking: &Looking) -> bool {
    let Some(file) = identity(file) else {
        return false;
    };
    let found = find::find(arguments, &mut Vec::new());
    found.iter().any(|(input, naming)| {
        let is_same = match input {
            Input::Stdin => identity(Path::new("/dev/stdin")) == Some(file),
            Input::File(path) => identity(path) == Some(file),
        };
        is_same && (*naming == Naming::Itself || look(input, looking).is_ok())
    })
}

/// Device and inode of a file, which all its links share; nothing for a device or a pipe.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    metadata.is_file().then(|| (metadata.dev(), metadata.ino()))
}

impl Plan {
    /// True where a log will be read on as it grows.
    pub fn can_follow(&self) -> bool {
        !self.waiting.is_empty() || self.pieces.iter().any(|piece| piece.tail.is_some())
    }

    fn add(&mut self, input: &Input, all: &[Input], looking: &Looking) -> Result<(), Unread> {
        let tail = if looking.follow {
            tail(input, all)?
        } else {
            None
        };
        match (look(input, looking), tail) {
            (Ok(piece), tail) => self.pieces.push(Piece { tail, ..piece }),
            (Err(Unread::Nothing(_)), Some(tail)) => self.waiting.push((input.clone(), tail)),
            (Err(unread), _) => return Err(unread),
        }
        Ok(())
    }
}

/// A log that is still written to: not packed, nor an earlier part of one of the others.
fn tail(input: &Input, all: &[Input]) -> Result<Option<Tail>, String> {
    let path = match input {
        Input::File(path) if !input.can_only_be_read_once() => path,
        _ => return Err("cannot be followed: name the file that the server writes to".to_owned()),
    };
    let is_log = |other: &Input| matches!(other, Input::File(log) if is_rotated_name(log, path));
    if all.iter().any(is_log) {
        return Ok(None);
    }
    Ok(Some(Tail::open(path)?).filter(|tail| !tail.is_packed()))
}

/// Why an input is not read.
pub(crate) enum Unread {
    /// It holds nothing.
    Nothing(&'static str),
    /// It is no access log.
    Foreign(String),
    /// Something is wrong with it.
    Lost(String),
}

impl From<String> for Unread {
    fn from(what: String) -> Unread {
        Unread::Lost(what)
    }
}

impl Unread {
    fn problem(self, name: &str, naming: Naming) -> Problem {
        let is_loss = match (&self, naming) {
            (Unread::Nothing(_), _) | (Unread::Foreign(_), Naming::Folder) => false,
            (Unread::Foreign(_), Naming::Itself) | (Unread::Lost(_), _) => true,
        };
        let what = match (self, naming) {
            (Unread::Nothing(what), _) => what.to_owned(),
            (Unread::Foreign(_), Naming::Folder) => {
                "is passed over: it is no access log (name the file itself to learn why)".to_owned()
            }
            (Unread::Foreign(what), Naming::Itself) | (Unread::Lost(what), _) => what,
        };
        Problem {
            is_loss,
            ..Problem::new(name, what)
        }
    }
}

pub(crate) fn look(input: &Input, looking: &Looking) -> Result<Piece, Unread> {
    let mut opened = Opened::open(input, &Arc::default())?;
    let mut start = vec![0; LOOK_BYTES];
    let (length, error) = fill(&mut opened, &mut start);
    if let (0, Some(error)) = (length, &error) {
        return Err(format!("cannot be read: {error}").into());
    }
    start.truncate(length);
    if let Some(twice) = Compression::of(&start) {
        return Err(format!(
            "is compressed twice ({} inside); unpack it once",
            twice.name()
        )
        .into());
    }
    if start.is_empty() {
        return Err(Unread::Nothing("is empty"));
    }
    if start.iter().all(|byte| *byte == 0) {
        let what = "begins with nothing but NUL bytes: a sparse or damaged file";
        return Err(what.to_owned().into());
    }
    // A line cut off at the end of the look would count against the right format.
    let whole = if length == LOOK_BYTES {
        memchr::memrchr(b'\n', &start).unwrap_or(length)
    } else {
        length
    };
    let mut format = match &looking.format {
        Some(format) => format.at_start(&start[..whole])?,
        None => match detect(&start[..whole]) {
            Detection::Found(format) => format,
            Detection::NoLines => return Err(Unread::Nothing("holds no lines")),
            Detection::Unknown(message) => return Err(Unread::Lost(message)),
            Detection::Foreign(message) => return Err(Unread::Foreign(message)),
        },
    };
    if let Some(name) = &looking.source_field {
        format.set_forwarded(name)?;
    }
    let first = first_request(&start[..whole], &format, looking);
    let name = input.name();
    // A file that is renamed while others are read must still be the one that was looked at.
    let keep = looking.follow || input.can_only_be_read_once();
    let begun = keep.then_some(Begun {
        start,
        rest: opened,
        error,
    });
    Ok(Piece {
        name,
        format: Arc::new(format),
        input: input.clone(),
        begun,
        first,
        tail: None,
    })
}

/// Requests at the beginning of an input by whose times it is ordered: one wrong date must not move it.
const FIRST_REQUESTS: usize = 5;

/// The middle time of the first requests, and the first line; an input whose first lines cannot be read comes last.
fn first_request(start: &[u8], format: &Format, looking: &Looking) -> (u32, Vec<u8>) {
    let mut reader = Reader::new(&[]);
    if let Some(zone) = &looking.zone {
        reader.set_zone(zone);
    }
    let (mut times, mut first) = (Vec::new(), Vec::new());
    for line in start.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Ok(request) = format.read(line, &mut reader) {
            if times.is_empty() {
                first = line.to_vec();
            }
            times.push(request.time);
        }
        if times.len() == FIRST_REQUESTS {
            break;
        }
    }
    times.sort_unstable();
    match times.get(times.len() / 2) {
        Some(time) => (*time, first),
        None => (u32::MAX, start[..start.len().min(300)].to_vec()),
    }
}

impl Plan {
    /// Reads everything, one block after the other, into buffers that `room` gives. Stops when `give` says so.
    pub fn read(
        self,
        mut room: impl FnMut() -> Vec<u8>,
        mut give: impl FnMut(Block) -> bool,
    ) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (number, piece) in self.pieces.into_iter().enumerate() {
            let read = piece.read(number as u32, &self.progress, &mut room, &mut give);
            match read {
                Ok(()) => {}
                Err(Ending::Damaged(problem)) => problems.push(problem),
                Err(Ending::Gone) => break,
            }
        }
        problems
    }
}

/// Why reading ended early.
pub(crate) enum Ending {
    /// The receiver has gone.
    Gone,
    Damaged(Problem),
}

impl Piece {
    /// Reads it from its beginning to its end.
    pub(crate) fn read(
        self,
        number: u32,
        progress: &Progress,
        room: &mut dyn FnMut() -> Vec<u8>,
        give: &mut dyn FnMut(Block) -> bool,
    ) -> Result<(), Ending> {
        let (name, format) = (self.name.clone(), Arc::clone(&self.format));
        let (early, stream) = self.open(progress)?;
        let reading = Reading {
            name: &name,
            format: &format,
            number,
        };
        reading.read(stream, early, room, give)
    }

    pub(crate) fn input(&self) -> &Input {
        &self.input
    }

    /// Its bytes, and an error that was met when it was looked at and belongs behind them.
    pub(crate) fn open(self, progress: &Progress) -> Result<Stream, Ending> {
        match self.begun {
            Some(Begun { start, rest, error }) => {
                progress.0.fetch_add(start.len() as u64, Ordering::Relaxed);
                let stream = std::io::Read::chain(std::io::Cursor::new(start), rest);
                Ok((error, Box::new(stream)))
            }
            None => match Opened::open(&self.input, &progress.0) {
                Ok(opened) => Ok((None, Box::new(opened))),
                Err(what) => Err(Ending::Damaged(Problem::new(&self.name, what))),
            },
        }
    }
}

/// The bytes of an input, and the error that ends them.
pub(crate) type Stream = (Option<std::io::Error>, Box<dyn std::io::Read>);

/// An input that is cut into blocks.
pub(crate) struct Reading<'a> {
    pub(crate) name: &'a str,
    pub(crate) format: &'a Arc<Format>,
    pub(crate) number: u32,
}

impl Reading<'_> {
    /// Cuts bytes into blocks to their end, and `early` is the error behind that.
    pub(crate) fn read(
        &self,
        stream: impl std::io::Read,
        mut early: Option<std::io::Error>,
        room: &mut dyn FnMut() -> Vec<u8>,
        give: &mut dyn FnMut(Block) -> bool,
    ) -> Result<(), Ending> {
        let mut blocks = Blocks::new(stream);
        let mut starts_file = true;
        loop {
            let mut buffer = room();
            let (lines, error) = blocks.next(&mut buffer);
            let ended = lines.is_none();
            if let Some((length, long_lines)) = lines {
                let block = Block {
                    piece: self.number,
                    starts_file: std::mem::take(&mut starts_file),
                    format: Arc::clone(self.format),
                    buffer,
                    length,
                    long_lines,
                };
                if !give(block) {
                    return Err(Ending::Gone);
                }
            }
            if let Some(error) = error.or_else(|| early.take_if(|_| ended)) {
                let what = format!("is damaged; what came before was read: {error}");
                return Err(Ending::Damaged(Problem::new(self.name, what)));
            }
            if ended {
                return Ok(());
            }
        }
    }
}
