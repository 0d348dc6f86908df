//! A request boiled down to a fixed-size record: all that a profile will ever ask of it.

use super::signs::Signs;
use crate::request::Source;
use crate::request::SourceKind;
use crate::request::Tick;

/// One request, 56 bytes, without any text.
#[derive(Debug, Clone, Copy, Default)]
pub struct Record {
    pub(crate) source: u64,
    pub(crate) answer: Answer,
    /// Where the page stands among those of its group: its number, or the first letters of its name. Of a style sheet, a script or the
    /// site's icon the hash of its target.
    pub(crate) order: u64,
    /// Seconds since 1970.
    pub time: u32,
    /// Hash of the target: the upper [`FOLDER_BITS`] are its folder's, so that pages can be told by folder later on.
    pub(crate) page: u32,
    /// Hash of what the page shares with its siblings: the folder, and whether they are numbered. Only neighbours are compared, so
    /// that few bits suffice.
    pub(crate) group: u16,
    /// Lower half of the hash of the page that led there, or [`MADE_UP`].
    pub(crate) from: u16,
    /// Hash of the user agent.
    pub(crate) agent: u32,
    /// Hash of the session id; 0 for none.
    pub(crate) session: u32,
    /// Hash of the referrer's host.
    pub(crate) referrer_host: u16,
    /// Number of the site asked for, where each is judged for itself.
    pub(crate) host: u16,
    pub(crate) flags: u32,
    /// One more than the robot's number in the list; 0 for none.
    pub(crate) robot: u16,
    pub(crate) took: Took,
}

/// Bits of a page's hash that are its folder's.
pub(crate) const FOLDER_BITS: u32 = 8;
pub(super) const PAGE_MASK: u32 = u32::MAX >> FOLDER_BITS;
/// Lower half of the start page's hash: many browsers name it instead of the page that really led somewhere.
pub(crate) const START: u16 = 1;

/// Stands for a page in [`Record::from`] whose address is written as no browser writes it.
pub(super) const MADE_UP: u16 = 2;

/// True for the hash of the start page, and of hardly another.
pub(crate) fn is_start(page: u32) -> bool {
    page as u16 == START
}

/// The folder of a page, by its hash.
pub(crate) fn folder(page: u32) -> usize {
    (page >> (32 - FOLDER_BITS)) as usize
}

/// Bits of [`Record::flags`]; the lowest two are the source's kind.
pub(crate) mod flag {
    pub(crate) const PAGE: u32 = 1 << 2;
    pub(crate) const QUERY: u32 = 1 << 3;
    pub(crate) const ROBOTS: u32 = 1 << 4;
    pub(crate) const ASSET: u32 = 1 << 5;
    pub(crate) const REFERRER_LOGGED: u32 = 1 << 6;
    pub(crate) const REFERRER_EMPTY: u32 = 1 << 7;
    pub(crate) const REFERRER_LISTING: u32 = 1 << 8;
    pub(crate) const REFERRER_OWN: u32 = 1 << 9;
    pub(crate) const SESSION_LOGGED: u32 = 1 << 10;
    pub(crate) const SESSION_EMPTY: u32 = 1 << 11;
    pub(crate) const AGENT_LOGGED: u32 = 1 << 12;
    pub(crate) const AGENT_EMPTY: u32 = 1 << 13;
    pub(crate) const BROWSER: u32 = 1 << 14;
    pub(crate) const AUTOMATED: u32 = 1 << 15;
    pub(crate) const NUMBERED: u32 = 1 << 16;
    pub(crate) const DEAD: u32 = 1 << 17;
    pub(crate) const CLIENT_ERROR: u32 = 1 << 18;
    pub(crate) const REFERRER_LINK: u32 = 1 << 19;
    pub(crate) const FORBIDDEN: u32 = 1 << 20;
    pub(crate) const TIMED: u32 = 1 << 21;
    pub(crate) const UNANSWERED: u32 = 1 << 22;
    /// A page that the site really sent: neither an error nor a redirect.
    pub(crate) const SHOWN: u32 = 1 << 23;
    /// An asset that is a picture.
    pub(crate) const IMAGE: u32 = 1 << 24;
    /// A page or a form answered with a redirect. Only assets are pictures, so that both share a bit.
    pub(crate) const MOVED: u32 = IMAGE;
    /// A form that was sent to a page.
    pub(crate) const POST: u32 = 1 << 25;
    /// A form that was sent to where passwords go.
    pub(crate) const LOGIN: u32 = 1 << 26;
    /// A page of the gate behind a trap. Only forms are sent to where passwords go, so that both share a bit.
    pub(crate) const TRAP: u32 = LOGIN;
    /// A request for a weak spot that attack tools look for.
    pub(crate) const PROBE: u32 = 1 << 27;
    /// Sent by HTTP/1.0.
    pub(crate) const OLD_PROTOCOL: u32 = 1 << 28;
    /// A referrer as no browser writes it: without the slash behind the host, or the requested page itself.
    pub(crate) const REFERRER_ODD: u32 = 1 << 29;
    /// The request line tells the version of HTTP.
    pub(crate) const PROTOCOL_LOGGED: u32 = 1 << 30;
    /// What only a browser asks for that shows the page: a font, the site's icon, or whether its copy of a part is still good.
    pub(crate) const DRAWN: u32 = 1 << 31;
}

/// What the site answered, in eight bytes: how many bytes it sent, how it went, and what kind of file it was. There is room left for
/// what the request's header fields say, and for the part of the second in which it came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Answer(u64);

/// How a request went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// Nobody knows, or the connection was handed over.
    Unknown,
    /// 2xx, or refused.
    Ok,
    /// 3xx but 304.
    Moved,
    /// 304: the client's copy is still good.
    Unchanged,
    /// 4xx.
    ClientError,
    /// 5xx.
    ServerError,
}

impl Status {
    const ALL: [Status; 6] = [
        Status::Unknown,
        Status::Ok,
        Status::Moved,
        Status::Unchanged,
        Status::ClientError,
        Status::ServerError,
    ];

    pub(super) fn of(status: u16) -> Status {
        match status {
            304 => Status::Unchanged,
            // Who is refused did nothing wrong by that, and would have got the page.
            200..=299 | 401 | 403 | 407 | 429 | 499 => Status::Ok,
            300..=399 => Status::Moved,
            400..=499 => Status::ClientError,
            500..=599 => Status::ServerError,
            _ => Status::Unknown,
        }
    }
}

/// Files that are neither pages nor parts of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum File {
    /// A page, a part of one, or nothing that its name tells.
    None,
    /// Packed files: zip, gz.
    Archive,
    /// Sound and film.
    Media,
    /// Documents and plain text: pdf, txt.
    Text,
    /// Programs: exe, apk.
    Binary,
}

impl File {
    const ALL: [File; 5] = [
        File::None,
        File::Archive,
        File::Media,
        File::Text,
        File::Binary,
    ];
}

impl Answer {
    const BYTES_BITS: u32 = 40;
    const STATUS_AT: u32 = Answer::BYTES_BITS;
    const FILE_AT: u32 = Answer::STATUS_AT + 3;
    const HEAD: u64 = 1 << (Answer::FILE_AT + 3);
    const SIGNS_AT: u32 = Answer::FILE_AT + 4;
    const TICK_AT: u32 = Answer::SIGNS_AT + Signs::BITS;

    /// More than a terabyte counts as that much.
    pub(super) fn new(bytes: u64, status: Status, file: File) -> Answer {
        let bytes = bytes.min((1 << Answer::BYTES_BITS) - 1);
        Answer(bytes | (status as u64) << Answer::STATUS_AT | (file as u64) << Answer::FILE_AT)
    }

    /// The answer to a request that asks for the headers alone.
    pub(super) fn to_head(self) -> Answer {
        Answer(self.0 | Answer::HEAD)
    }

    /// The answer to a request whose header fields say this.
    pub(super) fn with_signs(self, signs: Signs) -> Answer {
        let bits = u64::from(signs.bits()) << Answer::SIGNS_AT;
        Answer(self.0 | bits)
    }

    /// The answer to a request that came in this part of its second.
    pub(super) fn at(self, tick: Tick) -> Answer {
        Answer(self.0 | u64::from(tick.bits()) << Answer::TICK_AT)
    }

    pub(crate) fn bytes(self) -> u64 {
        self.0 & ((1 << Answer::BYTES_BITS) - 1)
    }

    /// All but the bytes, to be put together again by [`Answer::join`].
    pub(crate) fn traits(self) -> [u8; 3] {
        let [.., one, two, three] = self.0.to_le_bytes();
        [one, two, three]
    }

    pub(crate) fn join(bytes: u32, traits: [u8; 3]) -> Answer {
        let [one, two, three] = traits;
        let traits = u64::from_le_bytes([0, 0, 0, 0, 0, one, two, three]);
        Answer(u64::from(bytes) | traits)
    }

    /// What the request's header fields say.
    #[inline]
    pub(crate) fn signs(self) -> Signs {
        let bits = (self.0 >> Answer::SIGNS_AT) & ((1 << Signs::BITS) - 1);
        Signs::from_bits(bits as u16)
    }

    #[inline]
    pub(crate) fn tick(self) -> Tick {
        Tick::from_bits((self.0 >> Answer::TICK_AT) as u8)
    }

    pub(crate) fn status(self) -> Status {
        let number = (self.0 >> Answer::STATUS_AT & 7) as usize;
        Status::ALL.get(number).copied().unwrap_or(Status::Unknown)
    }

    pub(crate) fn file(self) -> File {
        let number = (self.0 >> Answer::FILE_AT & 7) as usize;
        File::ALL.get(number).copied().unwrap_or(File::None)
    }

    pub(crate) fn is_to_head(self) -> bool {
        self.0 & Answer::HEAD != 0
    }
}

/// How long an answer took, in two bytes: twelve bits, and how far to shift them. Counts [`Took::UNIT_US`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Took(u16);

impl Took {
    /// A quarter of a millisecond: what is shorter costs nothing.
    pub(crate) const UNIT_US: u64 = 250;

    pub(super) fn of(us: u64) -> Took {
        let units = (us / Took::UNIT_US).min(0xfff << 15);
        let shift = (64 - units.leading_zeros()).saturating_sub(12);
        Took(((units >> shift) as u16) | (shift as u16) << 12)
    }

    pub(crate) fn units(self) -> u32 {
        u32::from(self.0 & 0xfff) << (self.0 >> 12)
    }
}

impl Record {
    /// Whom the request came from.
    pub fn source(&self) -> Source {
        Source {
            kind: SourceKind::from_bits((self.flags & 3) as u8),
            value: self.source,
        }
    }

    /// The part of the second in which it came.
    pub(crate) fn tick(&self) -> Tick {
        self.answer.tick()
    }

    /// Bytes sent.
    pub(crate) fn bytes(&self) -> u64 {
        self.answer.bytes()
    }

    /// Takes the record out of the count.
    pub fn kill(&mut self) {
        self.flags |= flag::DEAD;
    }

    /// True for a record taken out of the count.
    pub fn is_dead(&self) -> bool {
        self.has(flag::DEAD)
    }

    /// True where the site sent a page.
    pub(crate) fn shows_page(&self) -> bool {
        self.has(flag::SHOWN)
    }

    /// True for a page request.
    pub fn is_page(&self) -> bool {
        self.has(flag::PAGE)
    }

    /// True for a page of the gate behind a trap. It is none of the site's pages.
    pub fn is_trap(&self) -> bool {
        self.flags & (flag::TRAP | flag::POST) == flag::TRAP
    }

    /// True for a page request that brought a session id.
    pub fn has_session(&self) -> bool {
        self.has(flag::PAGE)
            && self.flags & (flag::SESSION_LOGGED | flag::SESSION_EMPTY) == flag::SESSION_LOGGED
    }

    /// True for a style sheet, script or image that names the page it belongs to.
    pub fn is_part_of_page(&self) -> bool {
        let both = flag::ASSET | flag::REFERRER_LINK;
        self.flags & both == both
    }

    /// Which style sheet, script or icon it is.
    pub(super) fn part(&self) -> u32 {
        self.order as u32
    }

    /// The host that an asset request names as its page's.
    pub fn asset_referrer(&self) -> Option<u32> {
        let named = self.flags & (flag::ASSET | flag::REFERRER_LOGGED | flag::REFERRER_EMPTY)
            == flag::ASSET | flag::REFERRER_LOGGED;
        named.then_some(u32::from(self.referrer_host))
    }

    /// The host that a page request names as that of the page before.
    pub fn page_referrer(&self) -> Option<u32> {
        let named = self.flags & (flag::PAGE | flag::REFERRER_LOGGED | flag::REFERRER_EMPTY)
            == flag::PAGE | flag::REFERRER_LOGGED;
        named.then_some(u32::from(self.referrer_host))
    }

    /// The page or form that was answered with a redirect, as [`Record::from`] would name it; 0 for none. Whoever sends a form from its own
    /// page has been there, and names it rightly afterwards.
    pub(super) fn moved(&self) -> u16 {
        let page = self.page as u16;
        let is_moved = self.has(flag::PAGE | flag::POST) && self.has(flag::MOVED);
        if is_moved && self.from != page {
            page
        } else {
            0
        }
    }

    /// A page request of which nothing else is known.
    #[cfg(test)]
    pub(crate) fn page_for_tests(source: u64, time: u32) -> Record {
        Record {
            source,
            time,
            page: 1,
            flags: flag::PAGE,
            ..Record::default()
        }
    }

    /// A number that is spread evenly over requests and depends on nothing else: the same request has the same.
    pub(crate) fn rank(&self) -> u64 {
        // One long multiplication, whose halves are folded: enough for what is a hash already.
        let what = u64::from(self.page) << 32 | u64::from(self.time);
        let product = u128::from(self.source ^ 0x9e37_79b9_7f4a_7c15)
            * u128::from(what ^ 0xbf58_476d_1ce4_e5b9);
        product as u64 ^ (product >> 64) as u64
    }

    /// Notes the folder in the page's hash.
    pub(super) fn set_folder(&mut self) {
        let folder = u32::from(self.group) << 16 & !PAGE_MASK;
        self.page = self.page & PAGE_MASK | folder;
    }

    pub(crate) fn has(&self, bits: u32) -> bool {
        self.flags & bits != 0
    }
}
