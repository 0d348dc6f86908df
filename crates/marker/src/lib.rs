//! Link markers: who was shown a link, and on which page, sealed into the link itself.
//!
//! [`keys`] and [`seal`] make markers and open them, [`target`] and [`reading`] find them in requests.
//! Nothing here knows a socket, a clock or a source of randomness: the caller gives the time and the nonces.

pub mod keys;
pub mod reading;
pub mod seal;
pub mod target;

pub use keys::Key;
pub use keys::Keyring;
pub use reading::Marker;
pub use reading::Reader;
pub use reading::Reading;
pub use seal::Ages;
pub use seal::Facts;
pub use seal::Opened;
pub use seal::PageMarker;
pub use seal::Site;
pub use target::Name;
pub use target::Style;
