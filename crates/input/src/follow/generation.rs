//! The lines from one beginning of a log to its end, whatever the file is called by now.

use std::fs;
use std::fs::File;
use std::io;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::os::unix::fs::FileExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::blocks::Blocks;
use crate::find::open_error;
use crate::open::Compression;
use crate::open::Opened;
use crate::open::fill;

/// Bytes at its beginning by which a generation is known.
const START_BYTES: usize = 256;

/// Device and number of a file.
pub(super) type Identity = (u64, u64);

/// The lines from one beginning of a log to its end.
pub(super) struct Generation {
    pub(super) blocks: Blocks<Counted>,
    pub(super) identity: Identity,
    pub(super) last_growth: Instant,
    /// Its file was emptied, and maybe written to again: the rest of it can only be in a copy.
    pub(super) is_cut: bool,
    pub(super) is_begun: bool,
    /// It cannot be read to its end, and that was said.
    pub(super) is_damaged: bool,
}

/// A file, where its text begins, how far it was read, and its first bytes.
pub(super) struct Counted {
    pub(super) file: Body,
    origin: u64,
    pub(super) position: u64,
    start: Vec<u8>,
}

pub(super) enum Body {
    Plain(File),
    Packed(Opened),
    /// The rest is nowhere to be found.
    Lost,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = match &mut self.file {
            Body::Plain(file) => {
                if self.start.is_empty() {
                    self.origin = pass_hole(file)?;
                    self.position = self.origin;
                }
                file.read(buffer)?
            }
            Body::Packed(stream) => stream.read(buffer)?,
            Body::Lost => 0,
        };
        let wanted = (START_BYTES - self.start.len()).min(length);
        self.start.extend_from_slice(&buffer[..wanted]);
        self.position += length as u64;
        Ok(length)
    }
}

/// A writer that does not append leaves a hole of zeros where the file was emptied. Goes to its end.
fn pass_hole(file: &mut File) -> io::Result<u64> {
    let mut buffer = vec![0; 64 << 10];
    let mut position = file.seek(SeekFrom::Start(0))?;
    loop {
        let (length, error) = fill(file, &mut buffer);
        if let Some(error) = error {
            return Err(error);
        }
        let text = buffer[..length].iter().position(|byte| *byte != 0);
        position += text.unwrap_or(length) as u64;
        if text.is_some() || length == 0 {
            return file.seek(SeekFrom::Start(position));
        }
    }
}

impl Generation {
    pub(super) fn open(path: &Path) -> Result<Generation, Failure> {
        let mut file = File::open(path)?;
        let identity = identity(&file.metadata()?);
        let mut start = [0; 6];
        let (length, _) = fill(&mut file, &mut start);
        let file = if Compression::of(&start[..length]).is_some() {
            file.rewind()?;
            let opened = Opened::unpack(Box::new(file), &Arc::default());
            Body::Packed(opened.map_err(Failure::Other)?)
        } else {
            Body::Plain(file)
        };
        Ok(Generation {
            blocks: Blocks::growing(Counted {
                file,
                origin: 0,
                position: 0,
                start: Vec::new(),
            }),
            identity,
            last_growth: Instant::now(),
            is_cut: false,
            is_begun: false,
            is_damaged: false,
        })
    }

    pub(super) fn start(&self) -> &[u8] {
        &self.blocks.reader.start
    }

    /// True where a file that begins like this holds the same lines. Asked after the file was looked at: lines may have
    /// come, been copied and packed away since the last time anything was read here.
    pub(super) fn begins_with(&mut self, start: &[u8]) -> bool {
        match &mut self.blocks.reader {
            Counted {
                file: Body::Plain(file),
                start: known,
                position,
                ..
            } if !self.is_cut && !known.contains(&b'\n') => {
                let mut now = vec![0; START_BYTES];
                let read = pass_hole(file).and_then(|origin| {
                    file.seek(SeekFrom::Start(*position))?;
                    file.read_at(&mut now, origin)
                });
                is_same(&now[..read.unwrap_or(0)], start)
            }
            reader => is_same(&reader.start, start),
        }
    }

    /// A file that nothing was read from yet, and its first bytes.
    pub(super) fn peek(path: &Path) -> Result<(Vec<u8>, Generation), Failure> {
        let mut start = vec![0; START_BYTES];
        let mut looked_at = Generation::open(path)?;
        let (length, error) = fill(&mut looked_at.blocks.reader, &mut start);
        if let Some(error) = error {
            return Err(error.into());
        }
        start.truncate(length);
        let generation = Generation::open(path)?;
        // Renamed in between, the name stands for another file.
        if generation.identity != looked_at.identity
            || generation.is_packed() != looked_at.is_packed()
        {
            return Err(Failure::Missing);
        }
        Ok((start, generation))
    }

    pub(super) fn is_packed(&self) -> bool {
        matches!(self.blocks.reader.file, Body::Packed(_))
    }

    /// True where the file no longer holds what was read from it.
    pub(super) fn was_emptied(&self) -> bool {
        let Counted {
            file: Body::Plain(file),
            origin,
            position,
            start,
        } = &self.blocks.reader
        else {
            return false;
        };
        let length = file.metadata().map_or(*position, |metadata| metadata.len());
        // Emptied and grown to where we were or past it, it begins with other lines.
        let begins_otherwise = || {
            let mut now = vec![0; start.len()];
            file.read_exact_at(&mut now, *origin).is_ok() && now != *start
        };
        length < *position || begins_otherwise()
    }

    /// Goes on in a copy of what was read here.
    pub(super) fn go_on_in(&mut self, copy: Generation) -> io::Result<()> {
        let position = self.blocks.reader.position;
        let mut file = copy.blocks.reader.file;
        match &mut file {
            Body::Plain(file) => drop(file.seek(SeekFrom::Start(position))?),
            Body::Packed(stream) => drop(io::copy(&mut stream.take(position), &mut io::sink())?),
            Body::Lost => {}
        }
        self.blocks.reader.file = file;
        self.identity = copy.identity;
        self.is_cut = false;
        self.last_growth = Instant::now();
        Ok(())
    }
}

/// Why a file cannot be opened.
pub(super) enum Failure {
    /// There is none of this name.
    Missing,
    Other(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::NotFound => Failure::Missing,
            _ => Failure::Other(open_error(&error)),
        }
    }
}

pub(super) fn identity(metadata: &fs::Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}

/// True where both are beginnings of the same lines.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    let common = a.len().min(b.len());
    common > 0 && a[..common] == b[..common]
}
