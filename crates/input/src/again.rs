//! Reading everything once more: the same bytes as the first time, or an error that says why not.
//!
//! A log that has grown meanwhile is read to where the first reading ended. What can only be read once is kept, compressed, in a
//! temporary file without a name, which disappears with the program.

use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::io::Read;
use std::io::Seek;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use cattlegrid_core::analysis::Block;
use cattlegrid_core::format::Format;
use rapidhash::v3::rapidhash_v3;

use crate::Problem;
use crate::find::Input;
use crate::open::Opened;
use crate::plan::Ending;
use crate::plan::Plan;
use crate::plan::Progress;
use crate::plan::Reading;

/// Of standard input: about as fast as it is parsed, and a tenth of its size.
const SPOOL_LEVEL: i32 = 1;

/// Bytes at the beginning and the end of each block that the sum is taken over. Logs are rotated, emptied and written anew; nobody edits a
/// line in the middle while they are read, and a sum over all bytes costs a tenth of the analysis.
const SUM_BYTES: usize = 4096;

/// Everything that was read, to be read once more.
#[derive(Default)]
pub struct Again {
    pieces: Vec<Piece>,
    /// Bytes on disk of all inputs, where that is known.
    pub total_bytes: u64,
    /// Bytes taken from the disk so far.
    pub progress: Progress,
}

struct Piece {
    name: String,
    format: Arc<Format>,
    origin: Origin,
    /// What the first reading brought.
    seen: Seen,
}

/// Where the bytes come from the second time.
enum Origin {
    File(Input),
    Spool(Result<File, String>),
}

/// How many bytes there were, and a sum over the blocks they made that tells whether they are the same again.
#[derive(Default)]
struct Seen {
    bytes: u64,
    sum: u64,
}

impl Seen {
    fn add(&mut self, block: &Block) {
        let lines = block.lines();
        let (start, end) = (
            lines.len().min(SUM_BYTES),
            lines.len().saturating_sub(SUM_BYTES),
        );
        let sum = rapidhash_v3(&lines[..start]) ^ rapidhash_v3(&lines[end..]).rotate_left(32);
        self.sum = self.sum.rotate_left(1) ^ sum;
    }
}

impl Plan {
    /// Reads everything like [`Plan::read`], and notes what a second reading needs.
    pub fn read_first(
        self,
        mut room: impl FnMut() -> Vec<u8>,
        mut give: impl FnMut(Block) -> bool,
    ) -> (Vec<Problem>, Again) {
        let mut problems = Vec::new();
        let mut again = Again {
            total_bytes: self.total_bytes,
            ..Again::default()
        };
        for (number, piece) in self.pieces.into_iter().enumerate() {
            let (name, format) = (piece.name.clone(), Arc::clone(&piece.format));
            let input = piece.input().clone();
            let mut noted = match input.can_only_be_read_once() {
                true => Noted::keeping(),
                false => Noted::default(),
            };
            let mut blocks = Seen::default();
            let mut give = |block: Block| {
                blocks.add(&block);
                give(block)
            };
            let opened = piece.open(&self.progress);
            let read = opened.and_then(|(early, stream)| {
                let stream = Noting(stream, &mut noted);
                let reading = Reading {
                    name: &name,
                    format: &format,
                    number: number as u32,
                };
                reading.read(stream, early, &mut room, &mut give)
            });
            again.pieces.push(Piece {
                name,
                format,
                origin: noted.spool.map_or(Origin::File(input), |spool| {
                    Origin::Spool(spool.and_then(finished))
                }),
                seen: Seen {
                    bytes: noted.bytes,
                    sum: blocks.sum,
                },
            });
            match read {
                Ok(()) => {}
                Err(Ending::Damaged(problem)) => problems.push(problem),
                Err(Ending::Gone) => break,
            }
        }
        (problems, again)
    }
}

impl Again {
    /// Reads everything once more, in the same order. Ends at the first input that is no longer what it was.
    pub fn read(
        &mut self,
        mut room: impl FnMut() -> Vec<u8>,
        mut give: impl FnMut(Block) -> bool,
    ) -> Result<(), Problem> {
        for (number, piece) in self.pieces.iter_mut().enumerate() {
            let changed = |what: &str| Problem::new(&piece.name, what);
            let stream = piece
                .origin
                .open(&self.progress)
                .map_err(|what| changed(&what))?;
            let mut blocks = Seen::default();
            let mut give = |block: Block| {
                blocks.add(&block);
                give(block)
            };
            let mut noted = Noted::default();
            let reading = Reading {
                name: &piece.name,
                format: &piece.format,
                number: number as u32,
            };
            let stream = Noting(stream.take(piece.seen.bytes), &mut noted);
            match reading.read(stream, None, &mut room, &mut give) {
                Err(Ending::Gone) => return Ok(()),
                Err(Ending::Damaged(problem)) => return Err(problem),
                Ok(()) if (noted.bytes, blocks.sum) == (piece.seen.bytes, piece.seen.sum) => {}
                Ok(()) => {
                    return Err(changed(
                        "has changed since it was read first, so that verdicts and requests do not belong together; run the command again",
                    ));
                }
            }
        }
        Ok(())
    }
}

impl Origin {
    fn open(&mut self, progress: &Progress) -> Result<Opened, String> {
        match self {
            Origin::File(input) => Opened::open(input, progress.taken()),
            Origin::Spool(Ok(file)) => {
                file.rewind().map_err(|error| unkept(&error))?;
                let file = file.try_clone().map_err(|error| unkept(&error))?;
                Opened::unpack(Box::new(file), progress.taken())
            }
            Origin::Spool(Err(what)) => Err(what.clone()),
        }
    }
}

type Spool = zstd::Encoder<'static, File>;

/// What is noted while an input is read.
#[derive(Default)]
struct Noted {
    bytes: u64,
    /// Where it is kept, if it can only be read once.
    spool: Option<Result<Spool, String>>,
}

impl Noted {
    /// Keeps what is read.
    fn keeping() -> Noted {
        Noted {
            spool: Some(spool().map_err(|error| unkept(&error))),
            ..Noted::default()
        }
    }
}

/// Notes what is read through it. That it cannot be kept is said when it is wanted again.
struct Noting<'a, R>(R, &'a mut Noted);

impl<R: Read> Read for Noting<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.0.read(buffer)?;
        self.1.bytes += length as u64;
        if let Some(Ok(spool)) = &mut self.1.spool
            && let Err(error) = spool.write_all(&buffer[..length])
        {
            self.1.spool = Some(Err(unkept(&error)));
        }
        Ok(length)
    }
}

/// A temporary file that nobody else can open: it has no name any more.
fn spool() -> io::Result<Spool> {
    let folder = std::env::temp_dir();
    let named = |number: u32| folder.join(format!("cattlegrid-{}-{number}", std::process::id()));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let mut number = 0;
    let file = loop {
        match options.open(named(number)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 1000 => {
                number += 1
            }
            opened => break opened?,
        }
    };
    std::fs::remove_file(named(number))?;
    zstd::Encoder::new(file, SPOOL_LEVEL)
}

fn finished(spool: Spool) -> Result<File, String> {
    spool.finish().map_err(|error| unkept(&error))
}

fn unkept(error: &io::Error) -> String {
    format!(
        "could not be kept in {} for the second reading: {error}; give the log as a file, or set TMPDIR",
        std::env::temp_dir().display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Looking;
    use crate::plan;

    const LINE: &str =
        "192.0.2.1 - - [01/Jan/2030:00:00:00 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\"\n";

    fn lines(block: &Block, all: &mut Vec<u8>) -> bool {
        all.extend_from_slice(block.lines());
        true
    }

    fn first(path: &std::path::Path) -> (Vec<u8>, Again) {
        let plan = plan(&[path.display().to_string()], &Looking::default());
        let mut all = Vec::new();
        let (problems, again) = plan.read_first(Vec::new, |block| lines(&block, &mut all));
        assert!(problems.is_empty());
        (all, again)
    }

    #[test]
    fn a_log_that_grew_is_read_to_where_the_first_reading_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        // The last line is not complete yet.
        let start = LINE.repeat(20_000) + &LINE[..40];
        std::fs::write(&path, &start).unwrap();
        let (one, mut again) = first(&path);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(LINE.repeat(10).as_bytes()).unwrap();
        let mut two = Vec::new();
        again
            .read(Vec::new, |block| lines(&block, &mut two))
            .unwrap();
        assert!(one == start.as_bytes() && one == two);
    }

    #[test]
    fn a_log_that_changed_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        for other in [
            LINE.repeat(99),
            LINE.repeat(101).replace("GET /", "GET !"),
            String::new(),
        ] {
            std::fs::write(&path, LINE.repeat(100)).unwrap();
            let (_, mut again) = first(&path);
            std::fs::write(&path, &other).unwrap();
            let problem = again.read(Vec::new, |_| true).unwrap_err();
            assert!(problem.what.contains("has changed"), "{problem:?}");
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn what_can_be_read_once_is_kept() {
        let mut noted = Noted::keeping();
        let mut read = Vec::new();
        let text = LINE.repeat(1000);
        Noting(text.as_bytes(), &mut noted)
            .read_to_end(&mut read)
            .unwrap();
        let mut origin = Origin::Spool(noted.spool.unwrap().and_then(finished));
        let mut again = Vec::new();
        let mut opened = origin.open(&Progress::default()).unwrap();
        opened.read_to_end(&mut again).unwrap();
        assert_eq!(again, text.as_bytes());
        // As often as it is wanted.
        assert!(origin.open(&Progress::default()).is_ok());
    }
}
