//! The gate: stands before a web site, lets people pass and contains crawlers.
//!
//! A request comes in by the `door`, is read by `serve`, decided about by `decide`, and then forwarded to its `site` or answered with a
//! page of [`challenge`]. What happened goes into the access log of `state`, from which `background` learns. Each room uses only those
//! below it:
//!
//! ```text
//! start  >  door  >  background  >  serve  >  decide  >  state  >  site  >  settings  >  sign_in  >  challenge
//! ```

mod background;
pub mod challenge;
mod decide;
mod door;
mod serve;
mod settings;
mod sign_in;
mod site;
mod start;
mod state;

pub use background::learn::History;
pub use background::learn::Learner;
pub use background::users::FORGIVEN_FILE;
pub use background::users::read_users;
#[doc(hidden)]
pub use door::read_proxy_header;
pub use settings::CrawlerSetup;
pub use settings::Resolver;
pub use settings::RobotsTxt;
pub use settings::Setup;
pub use settings::SignedAgent;
pub use settings::TrapLinks;
pub use settings::TrapSetup;
pub use start::Load;
pub use start::Loaded;
pub use start::check;
pub use start::rotate_keys;
pub use start::run;
