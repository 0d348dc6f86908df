//! Link markers: who was shown a link, and on which page, sealed into the link itself.
//!
//! [`keys`] and [`seal`] make markers and open them, [`target`] and [`reading`] find them in requests, [`links`] and [`rewrite`] put them
//! into pages. Nothing here knows a socket, a clock or a source of randomness: the caller gives the time and the nonces.

pub mod charset;
#[doc(hidden)]
pub mod invariants;
pub mod keys;
pub mod links;
mod nesting;
mod raw;
pub mod reading;
mod references;
mod refresh;
pub mod rewrite;
pub mod seal;
mod tag;
pub mod target;
#[doc(hidden)]
pub mod timing;

pub use charset::Charset;
pub use keys::Key;
pub use keys::Keyring;
pub use links::Links;
pub use links::Rules;
pub use nesting::GaveUp;
pub use reading::Marker;
pub use reading::Reader;
pub use reading::Reading;
pub use rewrite::Outcome;
pub use rewrite::Rewriter;
pub use seal::Ages;
pub use seal::Facts;
pub use seal::Opened;
pub use seal::PageMarker;
pub use seal::Site;
pub use target::Name;
pub use target::Style;
