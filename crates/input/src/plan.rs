//! The order of reading: every input is looked at once, then read in the order of its first request.

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
}

/// An input that was already begun: its beginning, the rest, and an error that came in between.
struct Begun {
    start: Vec<u8>,
    rest: Opened,
    error: Option<std::io::Error>,
}

/// What will be read, in this order.
pub struct Plan {
    /// The inputs.
    pub pieces: Vec<Piece>,
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
}

/// Finds what the arguments name and looks at the beginning of each.
pub fn plan(arguments: &[String], looking: &Looking) -> Plan {
    let mut problems = Vec::new();
    let inputs = find::find(arguments, &mut problems);
    let mut pieces = Vec::new();
    let mut total_bytes = 0;
    for input in inputs {
        if let Input::File(path) = &input {
            total_bytes += std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        }
        let name = input.name();
        match look(input, looking) {
            Ok(piece) => pieces.push(piece),
            Err(what) => problems.push(Problem {
                is_loss: what != EMPTY && what != NO_LINES,
                ..Problem::new(&name, what)
            }),
        }
    }
    // Pieces of one log come in the order of time, whatever the order of the arguments.
    pieces.sort_by(|a, b| a.first.cmp(&b.first));
    Plan {
        pieces,
        problems,
        total_bytes,
        progress: Progress::default(),
    }
}

const EMPTY: &str = "is empty";
const NO_LINES: &str = "holds no lines";

fn look(input: Input, looking: &Looking) -> Result<Piece, String> {
    let mut opened = Opened::open(&input, &Arc::default())?;
    let mut start = vec![0; LOOK_BYTES];
    let (length, error) = fill(&mut opened, &mut start);
    if let (0, Some(error)) = (length, &error) {
        return Err(format!("cannot be read: {error}"));
    }
    start.truncate(length);
    if let Some(twice) = Compression::of(&start) {
        return Err(format!(
            "is compressed twice ({} inside); unpack it once",
            twice.name()
        ));
    }
    if start.is_empty() {
        return Err(EMPTY.to_owned());
    }
    if start.iter().all(|byte| *byte == 0) {
        return Err("begins with nothing but NUL bytes: a sparse or damaged file".to_owned());
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
            Detection::NoLines => return Err(NO_LINES.to_owned()),
            Detection::Unknown(message) => return Err(message),
        },
    };
    if let Some(name) = &looking.source_field {
        format.set_forwarded(name)?;
    }
    let first = first_request(&start[..whole], &format, looking);
    let name = input.name();
    let begun = input.can_only_be_read_once().then_some(Begun {
        start,
        rest: opened,
        error,
    });
    Ok(Piece {
        name,
        format: Arc::new(format),
        input,
        begun,
        first,
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
            let Piece {
                name,
                format,
                input,
                begun,
                ..
            } = piece;
            let mut early = None;
            let stream: Box<dyn std::io::Read> = match begun {
                Some(Begun { start, rest, error }) => {
                    early = error;
                    self.progress
                        .0
                        .fetch_add(start.len() as u64, Ordering::Relaxed);
                    Box::new(std::io::Read::chain(std::io::Cursor::new(start), rest))
                }
                None => match Opened::open(&input, &self.progress.0) {
                    Ok(opened) => Box::new(opened),
                    Err(what) => {
                        problems.push(Problem::new(&name, what));
                        continue;
                    }
                },
            };
            let mut blocks = Blocks::new(stream);
            loop {
                let mut buffer = room();
                let (lines, error) = blocks.next(&mut buffer);
                let ended = lines.is_none();
                if let Some((length, long_lines)) = lines
                    && !give(Block {
                        piece: number as u32,
                        format: Arc::clone(&format),
                        buffer,
                        length,
                        long_lines,
                    })
                {
                    return problems;
                }
                if let Some(error) = error.or_else(|| early.take_if(|_| ended)) {
                    problems.push(Problem::new(
                        &name,
                        format!("is damaged; what came before was read: {error}"),
                    ));
                    break;
                }
                if ended {
                    break;
                }
            }
        }
        problems
    }
}
