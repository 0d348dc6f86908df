//! Towards sites: connections that are kept, requests that go out, and the heads of responses that come back.

mod connection;
mod deadline;
pub(crate) mod dns;
mod failure;
mod pool;
mod request_head;
mod upload;

pub(crate) use connection::FromSite;
pub(crate) use connection::SiteConnection;
pub(crate) use connection::ToSite;
pub(crate) use deadline::Deadline;
pub(crate) use failure::Failure;
pub(crate) use failure::Side;
pub(crate) use pool::Ask;
pub(crate) use pool::Pool;
pub(crate) use request_head::Outgoing;
pub(crate) use request_head::Sender;
pub(crate) use request_head::request_head;
pub(crate) use upload::Source;
pub(crate) use upload::Upload;
pub(crate) use upload::UploadBody;
pub(crate) use upload::Whole;
