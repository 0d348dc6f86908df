//! Why an exchange with a site failed: whose side it was, and whether the request may be sent again.

use std::fmt;
use std::io;

use cattlegrid_http1::response::Invalid;

/// Why an exchange with a site failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The site cannot be connected to.
    Unreachable(io::Error),
    /// The site did not respond in time.
    Late,
    /// The site closed the connection before the first byte of a response.
    Closed(io::Error),
    /// The response is invalid, or ended in its head.
    Invalid(Invalid),
    /// The client did not send all of its request body.
    IncompleteBody,
    /// The client closed the connection.
    ClientGone,
}

/// The side on which an exchange failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Site,
    Client,
}

impl Failure {
    /// Whose side it was.
    pub(crate) fn side(&self) -> Side {
        match self {
            Failure::IncompleteBody | Failure::ClientGone => Side::Client,
            _ => Side::Site,
        }
    }

    /// True where the site cannot have acted on the request: a connection that was kept may end just when it is used.
    pub(crate) fn is_retry_safe(&self) -> bool {
        matches!(self, Failure::Closed(_))
    }

    /// The name in metrics and on pages.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Failure::Unreachable(_) => "unreachable",
            Failure::Late => "late",
            Failure::Closed(_) | Failure::Invalid(_) => "broken",
            Failure::IncompleteBody | Failure::ClientGone => "client",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Unreachable(error) => write!(out, "cannot connect to upstream: {error}"),
            Failure::Late => out.write_str("upstream timed out"),
            Failure::Closed(error) => {
                write!(
                    out,
                    "upstream closed the connection without a response: {error}"
                )
            }
            Failure::Invalid(what) => write!(out, "invalid response from upstream: {what}"),
            Failure::IncompleteBody => {
                out.write_str("the client did not send its whole request body")
            }
            Failure::ClientGone => out.write_str("the client closed the connection"),
        }
    }
}
