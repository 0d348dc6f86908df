//! One log by its name: what the name stands for, and what lies beside it under rotated names.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;
use std::time::SystemTime;

use super::generation::Body;
use super::generation::Failure;
use super::generation::Generation;
use super::generation::Identity;
use super::generation::identity;
use super::sink::Gone;
use super::sink::Sink;

/// A file that was renamed away is let go when it has not grown for so long: servers go on writing to it for a while.
const QUIET: Duration = Duration::from_secs(60);
/// How long the copy of a file that was emptied is looked for.
const COPY_WAIT: Duration = Duration::from_secs(5);
/// How long after a change of its folder a log's neighbours are looked at: a rotation takes several steps.
const UNREST: Duration = Duration::from_secs(2);

/// One log that is followed.
pub(crate) struct Tail {
    path: PathBuf,
    /// What the name stands for now; `None` while it stands for nothing.
    current: Option<Generation>,
    /// Generations before it that may hold unread lines.
    earlier: Vec<Generation>,
    /// Beginnings of the generations that are done with.
    done: Vec<Vec<u8>>,
    /// Files beside it that are done with. A number is used again for another file; its time then differs.
    known: Vec<(Identity, SystemTime)>,
    /// The name stands for something that cannot be opened, and that was said.
    is_refused: bool,
    /// Last change of the folder, and when it was noticed.
    folder: Option<(SystemTime, Instant)>,
}

/// True for what a log's file is called once it is rotated: `access.log.1`, `access.log-20300131.gz`.
pub(crate) fn is_rotated_name(log: &Path, other: &Path) -> bool {
    let (Some(log_name), Some(other_name)) = (log.file_name(), other.file_name()) else {
        return false;
    };
    let rest = other_name
        .as_encoded_bytes()
        .strip_prefix(log_name.as_encoded_bytes());
    log.parent() == other.parent() && matches!(rest, Some([b'.' | b'-' | b'_', b'0'..=b'9', ..]))
}

impl Tail {
    /// Begins to follow a log. What already lies beside it under rotated names is none of its business.
    pub(crate) fn open(path: &Path) -> Result<Tail, String> {
        let current = Generation::open(path).map_err(|failure| match failure {
            Failure::Missing => "does not exist".to_owned(),
            Failure::Other(what) => what,
        })?;
        let mut tail = Tail {
            path: path.to_owned(),
            current: Some(current),
            earlier: Vec::new(),
            done: Vec::new(),
            known: Vec::new(),
            is_refused: false,
            folder: None,
        };
        tail.folder_changed();
        for neighbour in tail.neighbours() {
            let peeked = Generation::peek(&neighbour.path).ok();
            tail.done.extend(peeked.map(|(start, _)| start));
            tail.known.push(neighbour.key());
        }
        Ok(tail)
    }

    /// True for a file that does not grow.
    pub(crate) fn is_packed(&self) -> bool {
        self.current.as_ref().is_some_and(Generation::is_packed)
    }

    /// Reads what has come since the last look.
    pub(super) fn look(&mut self, sink: &mut Sink<'_>) -> Result<(), Gone> {
        let turned = self.turn(sink)?;
        if self.folder_changed() || turned || self.earlier.iter().any(|old| old.is_cut) {
            self.look_beside(sink)?;
        }
        for generation in self.earlier.iter_mut().chain(&mut self.current) {
            sink.drain(generation)?;
        }
        self.let_go(sink)
    }

    /// Goes over to a new generation where the log was emptied, or its name stands for another file. True if so.
    fn turn(&mut self, sink: &mut Sink<'_>) -> Result<bool, Gone> {
        if let Some(current) = &mut self.current {
            let is_same_file = fs::metadata(&self.path)
                .is_ok_and(|metadata| identity(&metadata) == current.identity);
            current.is_cut = current.was_emptied();
            if is_same_file && !current.is_cut {
                return Ok(false);
            }
            current.last_growth = Instant::now();
        }
        // While the name stands for nothing, the file it stood for may still be written to.
        self.earlier.extend(self.current.take());
        match Generation::open(&self.path) {
            Ok(new) => {
                let is_new = |old: &Generation| !old.is_cut && old.identity == new.identity;
                // The same file again: renamed and renamed back.
                let at = self.earlier.iter().position(is_new);
                self.current = Some(at.map_or(new, |at| self.earlier.remove(at)));
                self.is_refused = false;
            }
            Err(Failure::Missing) => {}
            Err(Failure::Other(what)) => {
                if !std::mem::replace(&mut self.is_refused, true) {
                    sink.note(&what)?;
                }
            }
        }
        Ok(true)
    }

    fn folder(&self) -> &Path {
        let folder = self.path.parent();
        folder
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."))
    }

    /// True for a while after something came or went in the log's folder.
    fn folder_changed(&mut self) -> bool {
        let changed = fs::metadata(self.folder()).and_then(|metadata| metadata.modified());
        let (Ok(changed), now) = (changed, Instant::now()) else {
            return false;
        };
        match self.folder {
            Some((before, noticed)) if changed == before => now.duration_since(noticed) < UNREST,
            _ => {
                self.folder = Some((changed, now));
                true
            }
        }
    }

    /// Files under rotated names that are not read now, oldest first.
    fn neighbours(&self) -> Vec<Neighbour> {
        let entries = fs::read_dir(self.folder()).into_iter().flatten().flatten();
        let mut found: Vec<Neighbour> = entries
            .map(|entry| self.path.with_file_name(entry.file_name()))
            .filter(|path| is_rotated_name(&self.path, path))
            .filter_map(Neighbour::new)
            .collect();
        let is_open = |neighbour: &Neighbour| {
            let mut generations = self.earlier.iter().chain(&self.current);
            generations.any(|open| !open.is_cut && open.identity == neighbour.identity)
        };
        found.retain(|neighbour| !is_open(neighbour));
        found.sort();
        found
    }

    fn look_beside(&mut self, sink: &mut Sink<'_>) -> Result<(), Gone> {
        let neighbours = self.neighbours();
        self.known
            .retain(|known| neighbours.iter().any(|neighbour| neighbour.key() == *known));
        let mut unknown: Vec<(Neighbour, Vec<u8>, Generation)> = neighbours
            .into_iter()
            .filter(|neighbour| !self.known.contains(&neighbour.key()))
            .filter_map(|neighbour| {
                // What cannot be read yet is being written: the next look will do.
                let (start, generation) = Generation::peek(&neighbour.path).ok()?;
                let is_still = generation.identity == neighbour.identity;
                (is_still && !start.is_empty()).then_some((neighbour, start, generation))
            })
            .collect();
        // While a file is being packed, both are there, and the plain one is whole.
        unknown.sort_by_key(|(_, _, generation)| generation.is_packed());
        for (neighbour, start, mut generation) in unknown {
            let is_mine = |known: &mut Generation| known.begins_with(&start);
            if self.current.as_mut().is_some_and(is_mine) {
                continue;
            }
            let mine = self
                .earlier
                .iter_mut()
                .find_map(|old| is_mine(old).then_some(old));
            if let Some(mine) = mine {
                // A copy that is gone again was packed meanwhile: the next look finds that.
                if mine.is_cut && mine.go_on_in(generation).is_err() {
                    continue;
                }
            } else if !self.done.contains(&start) {
                let name = neighbour.path.display();
                sink.note(&format!(
                    "was rotated faster than it was read; going on with {name}"
                ))?;
                // Read at once, so that it is known by its beginning: the same lines may lie here packed as well.
                sink.drain(&mut generation)?;
                self.earlier.push(generation);
                continue;
            }
            self.known.push(neighbour.key());
        }
        Ok(())
    }

    /// Lets generations go to which nothing will be added.
    fn let_go(&mut self, sink: &mut Sink<'_>) -> Result<(), Gone> {
        // Before the first line in the new file, the server writes to the old one.
        let is_begun = self
            .current
            .as_ref()
            .is_some_and(|current| current.is_begun);
        let is_over = |generation: &Generation| {
            let quiet = generation.last_growth.elapsed();
            match &generation.blocks.reader.file {
                _ if generation.is_cut => quiet >= COPY_WAIT,
                Body::Plain(_) => quiet >= QUIET && is_begun,
                Body::Packed(_) | Body::Lost => true,
            }
        };
        while let Some(at) = self.earlier.iter().position(is_over) {
            let generation = self.earlier.remove(at);
            if generation.is_cut {
                sink.note("was emptied, and no copy of it was found beside it: lines written in the last moments before may be missing")?;
            }
            self.done.push(generation.start().to_vec());
            sink.close(generation)?;
        }
        Ok(())
    }
}

/// A file under a rotated name.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Neighbour {
    modified: SystemTime,
    path: PathBuf,
    identity: Identity,
}

impl Neighbour {
    fn new(path: PathBuf) -> Option<Neighbour> {
        let metadata = fs::symlink_metadata(&path).ok()?;
        metadata.is_file().then_some(Neighbour {
            modified: metadata.modified().ok()?,
            path,
            identity: identity(&metadata),
        })
    }

    /// What tells it from every other file.
    fn key(&self) -> (Identity, SystemTime) {
        (self.identity, self.modified)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use std::fs::File;
    use std::fs::OpenOptions;
    use std::io::Seek;
    use std::io::SeekFrom;
    use std::io::Write;
    use std::sync::Arc;

    use cattlegrid_core::format::Format;

    use tempfile::TempDir;

    use super::*;
    use crate::Event;

    /// A log in a folder of its own, followed.
    struct Followed {
        folder: TempDir,
        tail: Tail,
        written: usize,
        lines: Vec<String>,
        notes: Vec<String>,
    }

    impl Followed {
        fn new() -> Followed {
            let folder = TempDir::new().unwrap();
            let path = folder.path().join("access.log");
            fs::write(&path, "").unwrap();
            Followed {
                tail: Tail::open(&path).unwrap(),
                folder,
                written: 0,
                lines: Vec::new(),
                notes: Vec::new(),
            }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        /// Writes numbered lines to the end of a file.
        fn write(&mut self, name: &str, lines: usize) {
            let path = self.path(name);
            let mut file = OpenOptions::new()
                .append(true)
                .create(true)
                .open(path)
                .unwrap();
            for _ in 0..lines {
                writeln!(
                    file,
                    "line {:06} {}",
                    self.written,
                    "x".repeat(self.written % 90)
                )
                .unwrap();
                self.written += 1;
            }
        }

        fn look(&mut self) {
            let format = Arc::new(Format::parse("common").unwrap());
            let (lines, notes) = (&mut self.lines, &mut self.notes);
            let mut give = |event| {
                match event {
                    Event::Block(block) => {
                        let text = String::from_utf8(block.lines().to_vec()).unwrap();
                        lines.extend(text.lines().map(str::to_owned));
                    }
                    Event::Note(note) => notes.push(note),
                    _ => {}
                }
                true
            };
            let mut sink = Sink {
                name: "log",
                piece: 0,
                format: &format,
                room: &mut || vec![0; crate::BLOCK_BYTES],
                give: &mut give,
                spare: &mut None,
            };
            assert!(self.tail.look(&mut sink).is_ok());
        }

        fn copy_and_empty(&self, copy: &str) {
            fs::copy(self.path("access.log"), self.path(copy)).unwrap();
            File::options()
                .write(true)
                .open(self.path("access.log"))
                .unwrap()
                .set_len(0)
                .unwrap();
        }

        fn rename(&self, from: &str, to: &str) {
            fs::rename(self.path(from), self.path(to)).unwrap();
        }

        fn pack(&self, from: &str, to: &str) {
            let file = File::create(self.path(to)).unwrap();
            let mut packer = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
            packer
                .write_all(&fs::read(self.path(from)).unwrap())
                .unwrap();
            packer.finish().unwrap();
            fs::remove_file(self.path(from)).unwrap();
        }

        /// Every line exactly once, in any order.
        #[track_caller]
        fn check(mut self, notes: usize) {
            self.look();
            self.look();
            self.lines.sort();
            let numbers: Vec<usize> = self
                .lines
                .iter()
                .map(|line| line[5..11].parse().unwrap())
                .collect();
            assert_eq!(numbers, (0..self.written).collect::<Vec<_>>());
            assert_eq!(self.notes.len(), notes, "{:?}", self.notes);
        }
    }

    #[test]
    fn h188_renamed_and_begun_anew() {
        let mut log = Followed::new();
        for _ in 0..3 {
            log.write("access.log", 50);
            log.look();
            log.write("access.log", 50);
            fs::rename(log.path("access.log.1"), log.path("access.log.2")).ok();
            log.rename("access.log", "access.log.1");
            // The server goes on with the old file until it is told.
            log.write("access.log.1", 20);
            log.look();
            log.write("access.log.1", 20);
            log.write("access.log", 20);
            log.write("access.log.1", 20);
            log.look();
        }
        log.check(0);
    }

    #[test]
    fn h188_copied_and_emptied_with_unread_lines() {
        let mut log = Followed::new();
        for round in 0..3 {
            log.write("access.log", 50);
            log.look();
            log.write("access.log", 50);
            log.copy_and_empty(&format!("access.log.{round}"));
            // Once shorter than what was read, once longer.
            log.write("access.log", [2, 70, 200][round]);
            log.look();
        }
        log.check(0);
    }

    #[test]
    fn h188_emptied_and_grown_to_the_same_length() {
        let mut log = Followed::new();
        for round in 0..3 {
            log.written = round * 90;
            log.write("access.log", 90);
            log.look();
            log.copy_and_empty(&format!("access.log.{round}"));
        }
        log.check(0);
    }

    #[test]
    fn h188_copied_emptied_and_packed() {
        let mut log = Followed::new();
        log.write("access.log", 500);
        log.look();
        log.write("access.log", 500);
        log.copy_and_empty("access.log.1");
        log.pack("access.log.1", "access.log.1.gz");
        log.write("access.log", 5);
        log.look();
        log.check(0);
    }

    #[test]
    fn h188_rotated_more_often_than_looked_at() {
        for packed in [false, true] {
            let mut log = Followed::new();
            log.write("access.log", 10);
            log.look();
            log.write("access.log", 10);
            log.rename("access.log", "access.log.2");
            log.write("access.log", 10);
            log.rename("access.log", "access.log.1");
            if packed {
                log.pack("access.log.1", "access.log.1.gz");
            }
            log.write("access.log", 10);
            log.check(1);
            let mut log = Followed::new();
            log.look();
            log.write("access.log", 10);
            log.copy_and_empty("access.log.2");
            log.write("access.log", 10);
            log.copy_and_empty("access.log.1");
            log.write("access.log", 10);
            log.check(2);
        }
    }

    #[test]
    fn h188_rotated_unseen_and_packed_beside_the_plain_file() {
        let mut log = Followed::new();
        log.write("access.log", 10);
        log.look();
        log.rename("access.log", "access.log.2");
        log.write("access.log", 10);
        log.rename("access.log", "access.log.1");
        fs::copy(log.path("access.log.1"), log.path("kept")).unwrap();
        log.pack("access.log.1", "access.log.1.gz");
        log.rename("kept", "access.log.1");
        log.write("access.log", 10);
        log.check(1);
    }

    #[test]
    fn h188_seen_with_half_a_line_and_rotated() {
        for packed in [false, true] {
            let mut log = Followed::new();
            log.write("access.log", 5);
            log.look();
            log.copy_and_empty("access.log.3");
            log.look();
            fs::write(log.path("access.log"), "line 0").unwrap();
            log.look();
            fs::write(log.path("access.log"), "").unwrap();
            log.write("access.log", 5);
            log.copy_and_empty("access.log.2");
            if packed {
                log.pack("access.log.2", "access.log.2.gz");
            }
            log.write("access.log", 5);
            log.check(1);
        }
    }

    #[test]
    fn h188_a_packed_file_that_is_not_whole_yet() {
        let mut log = Followed::new();
        log.write("access.log", 3000);
        log.look();
        log.write("access.log", 3000);
        log.copy_and_empty("access.log.1");
        log.write("access.log", 5);
        fs::copy(log.path("access.log.1"), log.path("kept")).unwrap();
        log.pack("access.log.1", "whole");
        let whole = fs::read(log.path("whole")).unwrap();
        fs::write(log.path("access.log.1.gz"), &whole[..whole.len() / 2]).unwrap();
        log.rename("kept", "access.log.1");
        log.look();
        fs::write(log.path("access.log.1.gz"), &whole).unwrap();
        fs::remove_file(log.path("access.log.1")).unwrap();
        log.check(0);
    }

    #[test]
    fn h188_rotated_files_are_renamed_and_packed_later() {
        let mut log = Followed::new();
        log.write("access.log", 10);
        log.look();
        log.rename("access.log", "access.log.1");
        log.write("access.log", 10);
        log.look();
        log.rename("access.log.1", "access.log.2");
        log.rename("access.log", "access.log.1");
        log.write("access.log", 10);
        log.look();
        log.pack("access.log.2", "access.log.2.gz");
        log.look();
        log.rename("access.log.2.gz", "access.log.3.gz");
        log.pack("access.log.1", "access.log.2.gz");
        log.check(0);
    }

    #[test]
    fn h188_older_parts_are_left_alone() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("access.log");
        for name in ["access.log", "access.log.1", "access.log.2"] {
            fs::write(folder.path().join(name), format!("old {name}\n")).unwrap();
        }
        let mut log = Followed::new();
        log.tail = Tail::open(&path).unwrap();
        log.folder = folder;
        log.look();
        assert_eq!(log.lines, ["old access.log"]);
        log.lines.clear();
        log.pack("access.log.2", "access.log.3.gz");
        log.rename("access.log.1", "access.log.2");
        log.rename("access.log", "access.log.1");
        log.write("access.log", 3);
        log.check(0);
    }

    #[test]
    fn h188_emptied_in_the_middle_of_a_line_without_a_copy() {
        let mut log = Followed::new();
        log.write("access.log", 3);
        let path = log.path("access.log");
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"line 000003 is never fin").unwrap();
        log.written += 1;
        log.look();
        assert_eq!(log.lines.len(), 3);
        file.set_len(0).unwrap();
        log.write("access.log", 3);
        log.look();
        log.tail.earlier[0].last_growth -= COPY_WAIT;
        log.check(1);
    }

    #[test]
    fn h188_a_writer_that_does_not_append_leaves_a_hole() {
        let mut log = Followed::new();
        log.write("access.log", 2000);
        let path = log.path("access.log");
        let mut file = OpenOptions::new().write(true).open(&path).unwrap();
        file.seek(SeekFrom::End(0)).unwrap();
        log.look();
        log.copy_and_empty("access.log.1");
        log.look();
        file.write_all(b"line 002000 behind a hole\n").unwrap();
        log.written += 1;
        log.look();
        file.write_all(b"line 002001 behind a hole\n").unwrap();
        log.written += 1;
        log.check(0);
    }

    #[test]
    fn h188_the_same_inode_for_another_file() {
        let mut log = Followed::new();
        for round in 0..20 {
            log.write("access.log", 20);
            log.look();
            log.write("access.log", 3);
            fs::remove_file(log.path("access.log.1")).ok();
            log.copy_and_empty("access.log.1");
            if round % 3 == 0 {
                log.look();
            }
        }
        log.look();
        let missing = log.written - log.lines.len();
        assert_eq!(missing, 0);
        log.check(0);
    }

    #[test]
    fn h188_a_link_that_is_turned_to_another_file() {
        let mut log = Followed::new();
        fs::remove_file(log.path("access.log")).unwrap();
        log.write("monday", 5);
        std::os::unix::fs::symlink("monday", log.path("access.log")).unwrap();
        log.look();
        log.write("monday", 5);
        std::os::unix::fs::symlink("tuesday", log.path("next")).unwrap();
        log.write("tuesday", 5);
        log.rename("next", "access.log");
        log.write("monday", 5);
        log.check(0);
    }

    #[test]
    fn a_line_is_handed_over_when_it_is_complete() {
        let mut log = Followed::new();
        let path = log.path("access.log");
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"line 000000 half").unwrap();
        log.look();
        assert!(log.lines.is_empty());
        file.write_all(b" and whole\nline 000001").unwrap();
        log.look();
        assert_eq!(log.lines, ["line 000000 half and whole"]);
        // Renamed away and let go, it counts as it is.
        log.written = 2;
        log.rename("access.log", "access.log.1");
        log.write("access.log", 1);
        log.look();
        log.tail.earlier[0].last_growth -= QUIET;
        log.check(0);
    }
}
