//! The paths of signed-in people: a thread of its own takes in their page requests, judges them, publishes who is a suspect, and keeps the
//! table in a file beside the knowledge base. Backups of the base have nothing of it.

use std::fs;
use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::io::BufReader;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::thread;
use std::thread::JoinHandle;
use std::time::Duration;
use std::time::Instant;

use cattlegrid_core::paths::Entry;
use cattlegrid_core::paths::Judge;
use cattlegrid_core::paths::UserLimits;
use cattlegrid_core::paths::UserRequest;
use cattlegrid_core::paths::UserStanding;
use cattlegrid_core::paths::Users;
use cattlegrid_core::paths::read_session;
use cattlegrid_core::paths::write_session;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::private_file::Written;
use super::private_file::replace;
use super::private_file::write_beside;
use crate::settings::paths::PathSetup;
use crate::state::Gate;
use crate::state::users::Told;

/// The table, in the gate's folder.
const USERS_FILE: &str = "users.jsonl";
/// Users whom the owner has forgiven, one a line, on their way to the gate.
pub const FORGIVEN_FILE: &str = "users.forgiven";
/// Long sessions of people, to learn from.
const SESSIONS_FILE: &str = "sessions.jsonl";

/// How long the thread waits for requests before it looks at the time.
const TICK: Duration = Duration::from_millis(100);
/// How often the table is saved, and how soon after somebody's standing has changed.
const EVERY: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_millis(500);
/// Between two savings lies so many times the time that it takes to write one: nobody is judged meanwhile.
const PAUSES: u32 = 20;
/// No table is larger than this.
const TABLE_BYTES_MAX: u64 = 1 << 30;
/// Beyond this the older half of the kept sessions is dropped.
const SESSIONS_BYTES_MAX: u64 = 64 << 20;
const DAY_MS: u64 = 86_400_000;

/// Keeps the table until the gate ends.
pub(crate) fn keep(judge: &Judge, gate: &Gate) {
    let Some(told) = gate.users.take() else {
        return;
    };
    let mut table = Table::open(judge, gate);
    loop {
        let received = told.recv_timeout(TICK);
        let is_quiet = received.is_err();
        if let Ok(told) = received {
            table.take_in(told);
            gate.metrics.user_requests_waiting.dec();
        }
        if table.looked.elapsed() >= TICK {
            table.look();
        }
        if is_quiet && gate.is_ending.load(Ordering::Relaxed) {
            break;
        }
    }
    table.end_saving();
    if table.is_on() {
        let saved = table.write().and_then(Written::put_in_place);
        table.note_saved(saved);
    }
}

struct Table<'a> {
    judge: &'a Judge,
    gate: &'a Gate,
    users: Users,
    folder: PathBuf,
    /// Something has changed since the table was saved.
    is_changed: bool,
    /// Somebody's standing has changed.
    is_urgent: bool,
    saved: Instant,
    /// How long the table was written, without the time that the disk took.
    took: Duration,
    /// A table on its way to the disk. A thread of its own waits for it: while a disk is slow, a crawler must not go on unjudged.
    saving: Option<JoinHandle<io::Result<()>>>,
    looked: Instant,
    /// The day on which sessions were last tidied up.
    tidied_day: u64,
}

impl<'a> Table<'a> {
    /// The table as it was saved, with its suspects published.
    fn open(judge: &'a Judge, gate: &'a Gate) -> Table<'a> {
        let live = gate.live.load();
        let folder = live.setup.state.clone();
        let limits = live.setup.paths.limits;
        let users = match live.setup.paths.is_on {
            true => read(&folder.join(USERS_FILE), gate),
            false => None,
        };
        let users = users.unwrap_or_else(|| Users::new(limits));
        for suspect in users.suspects() {
            gate.users.publish(suspect.user, suspect.standing);
        }
        Table {
            judge,
            gate,
            users,
            folder,
            is_changed: false,
            is_urgent: false,
            saved: Instant::now(),
            took: Duration::ZERO,
            saving: None,
            looked: Instant::now(),
            tidied_day: 0,
        }
    }

    fn is_on(&self) -> bool {
        self.gate.live.load().setup.paths.is_on
    }

    fn take_in(&mut self, told: Told) {
        let live = self.gate.live.load();
        let setup = &live.setup.paths;
        match told {
            _ if !setup.is_on => {}
            Told::Request(request) => self.observe(request, setup),
            Told::Name(user, name) if setup.keeps_names => self.users.introduce(user, &name),
            Told::Name(..) => {}
        }
    }

    fn observe(&mut self, mut request: UserRequest, setup: &PathSetup) {
        request.day = local_day(&setup.zone, request.at_ms);
        let user = request.user;
        let is_suspect = matches!(self.users.standing(user), UserStanding::Suspect(_));
        // Whoever answers a question is published as a normal user at once, by the thread that has read the answer.
        if is_suspect && self.gate.users.standing(user) == UserStanding::Normal {
            self.users.solved(user);
            self.is_urgent = true;
        }
        let noted = self.users.observe(&request, self.judge);
        self.is_changed = true;
        for oddity in &noted.odd {
            self.gate.metrics.odd_request(*oddity);
        }
        if noted.is_new {
            self.gate.users.publish(user, noted.standing);
            self.is_urgent = true;
            self.say(user, noted.standing);
        }
        if let Some(session) = noted.session.filter(|_| setup.keeps_sessions) {
            let kept = self.keep_session(&session);
            self.note_failure("keep a session of a user", kept);
        }
    }

    /// Tells the owner. The name is in the table alone.
    fn say(&mut self, user: u64, standing: UserStanding) {
        let user = format!("{user:016x}");
        match standing {
            UserStanding::Normal => {}
            UserStanding::Suspect(cause) => {
                self.gate.metrics.suspected(cause);
                tracing::info!(user, cause = cause.name(), "a signed-in user is a suspect");
                self.tidy_sessions();
            }
            UserStanding::Throttled(cause) => {
                self.gate.metrics.suspected(cause);
                tracing::warn!(
                    user,
                    cause = cause.name(),
                    "a signed-in user is a suspect again and is throttled; 'cattlegrid paths users --config FILE' lists such users, and 'cattlegrid paths forgive' lets one go"
                );
                self.tidy_sessions();
            }
        }
    }

    /// What is done now and then.
    fn look(&mut self) {
        self.looked = Instant::now();
        let live = self.gate.live.load();
        let setup = &live.setup.paths;
        if !setup.is_on {
            self.is_saving();
            // What is switched off has nothing left to save.
            self.gate.metrics.users_failed.set(0);
            return;
        }
        self.users.set_limits(setup.limits);
        if !setup.keeps_names {
            self.users.forget_names();
        }
        self.forgive();
        if self.is_time_to_save() {
            self.save();
        }
        let day = self.gate.clock.now_ms() / DAY_MS;
        if self.tidied_day != day {
            self.tidied_day = day;
            self.tidy_sessions();
        }
        let metrics = &self.gate.metrics;
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let (suspects, throttled) = self.gate.users.counts();
        metrics.users.set(number(self.users.len()));
        metrics.suspect_users.set(number(suspects));
        metrics.throttled_users.set(number(throttled));
    }

    /// Lets those go whom the owner has forgiven.
    fn forgive(&mut self) {
        let (path, taken) = (
            self.folder.join(FORGIVEN_FILE),
            self.folder.join("users.forgiven.taken"),
        );
        // What is added from now on goes to another file.
        if fs::rename(&path, &taken).is_err() {
            return;
        }
        let text = fs::read_to_string(&taken);
        let text = text.unwrap_or_else(|error| {
            tracing::error!(%error, path = %taken.display(), "cannot read whom the owner has forgiven");
            String::new()
        });
        let numbers = text.lines().map(|line| u64::from_str_radix(line, 16));
        for user in numbers.flatten() {
            self.users.forgive(user);
            self.gate.users.publish(user, UserStanding::Normal);
            self.is_urgent = true;
            tracing::info!(
                user = format!("{user:016x}"),
                "the owner has forgiven a user"
            );
        }
        let removed = fs::remove_file(&taken);
        self.note_failure("remove users.forgiven.taken", removed);
    }

    /// True while a table is on its way to the disk.
    fn is_saving(&mut self) -> bool {
        let is_done = self.saving.as_ref().is_none_or(JoinHandle::is_finished);
        if is_done {
            self.end_saving();
        }
        !is_done
    }

    /// True where the table is to be saved now: one at a time is on its way to the disk.
    fn is_time_to_save(&mut self) -> bool {
        if self.is_saving() {
            return false;
        }
        let since = self.saved.elapsed();
        let is_due = self.is_urgent && since >= SOON || self.is_changed && since >= EVERY;
        is_due && since >= self.took * PAUSES
    }

    /// Writes the table, and leaves it to a thread to wait for the disk.
    fn save(&mut self) {
        let thread = self.write().and_then(|written| {
            let named = thread::Builder::new().name("save users".to_owned());
            named.spawn(move || written.put_in_place())
        });
        match thread {
            Ok(thread) => self.saving = Some(thread),
            Err(error) => self.note_saved(Err(error)),
        }
    }

    fn write(&mut self) -> io::Result<Written> {
        let began = Instant::now();
        self.users.forget_old(self.gate.clock.now_ms());
        let is_normal = |user: u64| self.users.standing(user) == UserStanding::Normal;
        self.gate.users.free_if(is_normal);
        let path = self.folder.join(USERS_FILE);
        let written = write_beside(&path, |out| self.users.save(out));
        (self.is_changed, self.is_urgent) = (false, false);
        self.took = began.elapsed();
        written
    }

    /// Waits for the table that is on its way to the disk.
    fn end_saving(&mut self) {
        if let Some(thread) = self.saving.take() {
            let done = thread.join();
            self.note_saved(done.unwrap_or_else(|_| Err(io::Error::other("the thread failed"))));
        }
    }

    fn note_saved(&mut self, done: io::Result<()>) {
        self.saved = Instant::now();
        // What could not be saved is still to be.
        self.is_changed |= done.is_err();
        let failed = &self.gate.metrics.users_failed;
        failed.set(i64::from(done.is_err()));
        self.note_failure("save the table of signed-in users", done);
    }

    fn note_failure(&self, what: &str, done: io::Result<()>) {
        if let Err(error) = done {
            tracing::error!(%error, folder = %self.folder.display(), "cannot {what}");
        }
    }

    fn keep_session(&self, session: &[Entry]) -> io::Result<()> {
        let mut line = Vec::new();
        write_session(session, &mut line)?;
        let mut options = OpenOptions::new();
        options.create(true).append(true).mode(0o600);
        let mut file = options.open(self.folder.join(SESSIONS_FILE))?;
        file.write_all(&line)
    }

    /// Drops kept sessions that are too old or too many, and those of suspects: nothing is learned from them.
    fn tidy_sessions(&self) {
        let path = self.folder.join(SESSIONS_FILE);
        let Ok(found) = fs::metadata(&path) else {
            return;
        };
        let memory_ms = self.gate.live.load().setup.paths.limits.memory_ms;
        let oldest_ms = self.gate.clock.now_ms().saturating_sub(memory_ms);
        let is_kept = |line: &&[u8]| {
            let session = read_session(line).unwrap_or_default();
            let last = session.last();
            last.is_some_and(|last| {
                let standing = self.gate.users.standing(last.user);
                last.at_ms >= oldest_ms && standing == UserStanding::Normal
            })
        };
        let tidied = fs::read(&path).and_then(|text| {
            let start = match found.len() > SESSIONS_BYTES_MAX {
                true => text.len() / 2,
                false => 0,
            };
            let lines = text[start..].split(|byte| *byte == b'\n');
            let kept: Vec<&[u8]> = lines.filter(is_kept).collect();
            replace(&path, |out| {
                for line in kept {
                    out.write_all(line)?;
                    out.write_all(b"\n")?;
                }
                Ok(())
            })
        });
        self.note_failure("tidy up the kept sessions of users", tidied);
    }
}

/// The table in a file. One that is damaged is set aside.
fn read(path: &Path, gate: &Gate) -> Option<Users> {
    let limits = gate.live.load().setup.paths.limits;
    match read_table(path, limits, gate.clock.now_ms()) {
        Ok(users) => users,
        Err(what) => {
            let mut aside = path.as_os_str().to_owned();
            aside.push(".damaged");
            let moved = fs::rename(path, &aside);
            tracing::error!(
                "{}: {what}; it is set aside as {} and the table begins anew: suspects are normal users again, and nothing else is affected",
                path.display(),
                Path::new(&aside).display()
            );
            if let Err(error) = moved {
                tracing::error!(%error, "it cannot be set aside and will be overwritten");
            }
            None
        }
    }
}

/// The table of the gate with this folder, for commands beside it; nothing where it has none.
pub fn read_users(state: &Path, now_ms: u64) -> Result<Option<Users>, String> {
    let path = state.join(USERS_FILE);
    // Whatever the gate may keep.
    let limits = UserLimits {
        users: usize::MAX,
        ..UserLimits::default()
    };
    read_table(&path, limits, now_ms).map_err(|what| format!("{}: {what}", path.display()))
}

/// Reads a table; nothing where there is none.
fn read_table(path: &Path, limits: UserLimits, now_ms: u64) -> Result<Option<Users>, String> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    if length > TABLE_BYTES_MAX {
        return Err("larger than any table of users".to_owned());
    }
    Users::restore(limits, &mut BufReader::new(file), now_ms).map(Some)
}

/// The number of the day at a place.
fn local_day(zone: &TimeZone, at_ms: u64) -> u32 {
    let at_ms = i64::try_from(at_ms).unwrap_or(i64::MAX);
    let moment = Timestamp::from_millisecond(at_ms).unwrap_or(Timestamp::MAX);
    let seconds = moment.as_second() + i64::from(zone.to_offset(moment).seconds());
    u32::try_from(seconds.div_euclid(86_400)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_ends_at_local_midnight() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        // 2030-07-01T22:00:00Z is midnight in summer, 23:00 in winter time.
        let midnight = 1_909_173_600_000;
        let day = |at_ms: u64| local_day(&berlin, at_ms);
        assert_eq!(day(midnight), day(midnight - 1) + 1);
        assert_eq!(day(midnight + DAY_MS - 1), day(midnight));
        assert_eq!(local_day(&TimeZone::UTC, midnight), day(midnight - 1));
    }

    #[test]
    fn files_are_for_their_owner_alone_and_replaced_whole() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let put = |text: &'static [u8]| replace(&path, |out| out.write_all(text));
        put(b"one").unwrap();
        put(b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let failed = replace(&path, |_| Err(io::Error::other("full")));
        failed.unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        let names = fs::read_dir(folder.path()).unwrap();
        assert_eq!(names.count(), 1, "half a file takes space that is missing");
    }
}
