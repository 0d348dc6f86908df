//! The knowledge base: who is allowed and who is denied, why, since when and until when.
//!
//! One SQLite file. Every change is written with what was before it, so that it can be undone; every row carries a seal, so that a
//! damaged one is noticed and never believed.

mod base;
mod entry;
pub mod export;
mod fault;
mod seal;
mod update;
mod writer;

pub use base::Applied;
pub use base::Base;
pub use base::Change;
pub use base::ChangeRecord;
pub use base::standing_of;
pub use entry::Entry;
pub use entry::Origin;
pub use entry::Proof;
pub use entry::Subject;
pub use fault::Fault;
pub use update::Outcome;
pub use update::Updater;
pub use writer::Writer;
