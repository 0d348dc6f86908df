//! HTTP/1 messages, read from bytes without any I/O.
//!
//! A message that two readers could read in two ways is refused: a gate that lets one pass has not seen what its site will see. The same
//! reader serves both directions: [`request`] reads what clients send, [`response`] what sites send, and [`Framing`] walks through the body
//! of either. The order of header fields is kept.

pub mod chunks;
pub mod framing;
pub mod headers;
pub mod host;
#[doc(hidden)]
pub mod invariants;
pub mod request;
pub mod response;
pub mod target;
mod tokens;

pub use chunks::Piece;
pub use framing::Framing;
pub use headers::Headers;
pub use headers::Name;
pub use http::Method;
pub use http::Version;
pub use request::Request;
pub use response::Response;
