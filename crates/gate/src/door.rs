//! From sockets to connections: listeners, TLS, the PROXY header, and limits on frames of HTTP/2.

mod digest;
mod frames;
mod greet;
mod guard;
mod hello;
pub(crate) mod listen;
mod preface;
mod proxy_protocol;
pub(crate) mod tls;

pub use proxy_protocol::read as read_proxy_header;
