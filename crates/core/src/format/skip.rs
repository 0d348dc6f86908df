//! The reasons why a line does not count as a request.

use std::fmt;

/// Why a line was not counted. Each is a name in the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Skip {
    /// The line does not have the format's fields and separators.
    Shape,
    /// A quoted field never ends.
    OpenQuote,
    /// Nothing, or `-`, stands where the client should be.
    NoSource,
    /// The client field is longer than any address or host name.
    LongSource,
    /// The time cannot be read.
    BadTime,
    /// The time is before 1990 or after 2100.
    TimeOutOfRange,
    /// A day or more away from the lines before and after it.
    TimeJump,
    /// Something else than an address stands where the client should be, in a log whose clients had been addresses.
    ChangedSource,
    /// The connection brought no request: the request field is empty.
    NoRequest,
    /// The request field is not `METHOD target`: TLS bytes on a plain port, probes.
    NotHttp,
    /// The status is not a number from 100 to 999.
    BadStatus,
    /// The size is neither a number nor `-`.
    BadBytes,
    /// Not a JSON object, or nested deeper than 64.
    BadJson,
    /// A JSON line names its client, time, request or decision twice.
    DuplicateKey,
    /// A JSON line lacks its client, time, request or status, or a line of the gate its decision.
    MissingKey,
    /// Longer than the longest line that is read.
    LongLine,
    /// A comment or header line.
    Comment,
    /// A line of another kind of log among the requests: an error, a connection that failed.
    OtherLog,
    /// Before or after the span of time that was asked for.
    OutsideSpan,
    /// A request that the gate or the knowledge base had refused: it says nothing about who sent it.
    Refused,
    /// A request of somebody whom the gate knows to be signed in: it says nothing about others at the same address.
    SignedIn,
}

impl Skip {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Skip; 21] = [
        Skip::Shape,
        Skip::OpenQuote,
        Skip::NoSource,
        Skip::LongSource,
        Skip::BadTime,
        Skip::TimeOutOfRange,
        Skip::TimeJump,
        Skip::ChangedSource,
        Skip::NoRequest,
        Skip::NotHttp,
        Skip::BadStatus,
        Skip::BadBytes,
        Skip::BadJson,
        Skip::DuplicateKey,
        Skip::MissingKey,
        Skip::LongLine,
        Skip::Comment,
        Skip::OtherLog,
        Skip::OutsideSpan,
        Skip::Refused,
        Skip::SignedIn,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Skip::Shape => "wrong_shape",
            Skip::OpenQuote => "open_quote",
            Skip::NoSource => "no_source",
            Skip::LongSource => "long_source",
            Skip::BadTime => "bad_time",
            Skip::TimeOutOfRange => "time_out_of_range",
            Skip::TimeJump => "time_jump",
            Skip::ChangedSource => "changed_source",
            Skip::NoRequest => "no_request",
            Skip::NotHttp => "not_http",
            Skip::BadStatus => "bad_status",
            Skip::BadBytes => "bad_bytes",
            Skip::BadJson => "bad_json",
            Skip::DuplicateKey => "duplicate_key",
            Skip::MissingKey => "missing_key",
            Skip::LongLine => "long_line",
            Skip::Comment => "comment",
            Skip::OtherLog => "other_log",
            Skip::OutsideSpan => "outside_span",
            Skip::Refused => "refused",
            Skip::SignedIn => "signed_in",
        }
    }

    /// The reason in words.
    pub fn explain(self) -> &'static str {
        match self {
            Skip::Shape => "does not have the fields of this format",
            Skip::OpenQuote => "a quoted field never ends",
            Skip::NoSource => "names no client",
            Skip::LongSource => "the client field is longer than a host name can be",
            Skip::BadTime => "the time cannot be read",
            Skip::TimeOutOfRange => "the time is before 1990 or after 2100",
            Skip::TimeJump => "a day or more away from the lines around it",
            Skip::ChangedSource => {
                "the client is not an address, unlike in the lines before: the format changed here, or the lines are damaged; put the lines from here on into a separate file and read that with --format"
            }
            Skip::NoRequest => "the connection brought no request",
            Skip::NotHttp => "the request is not HTTP (TLS bytes on a plain port, probes)",
            Skip::BadStatus => "the status is not a number from 100 to 999",
            Skip::BadBytes => "the size is not a number",
            Skip::BadJson => "not a JSON object, or nested too deep",
            Skip::DuplicateKey => "a field that decides who or when stands there twice",
            Skip::MissingKey => "client, time, request, status or decision is missing",
            Skip::LongLine => "longer than the longest line that is read (64 KiB)",
            Skip::Comment => "a comment",
            Skip::OtherLog => "a line of another log: an error, a failed connection",
            Skip::OutsideSpan => "outside of --since and --until",
            Skip::Refused => {
                "refused by the gate or the knowledge base: says nothing about who sent it"
            }
            Skip::SignedIn => "of a signed-in person, whom the gate limits by name",
        }
    }

    /// Of two faults of one line the one to report: where there was no request, it had no status either.
    pub(super) fn or_worse(self, before: Option<Skip>) -> Skip {
        match (before, self) {
            (None, _) => self,
            (Some(Skip::BadStatus | Skip::BadBytes), Skip::NoRequest | Skip::NotHttp) => self,
            (Some(before), _) => before,
        }
    }

    /// True where the line is a sound log line of something that was no HTTP request.
    pub fn is_sound(self) -> bool {
        matches!(
            self,
            Skip::NoRequest
                | Skip::NotHttp
                | Skip::Comment
                | Skip::OtherLog
                | Skip::OutsideSpan
                | Skip::Refused
                | Skip::SignedIn
        )
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.explain())
    }
}
