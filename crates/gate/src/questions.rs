//! Plain questions of a trusted web server: every request of its sites is one.

use hyper::Method;

use crate::forward_auth;
use crate::gate::Live;
use crate::plain::Plain;
use crate::plain::Step;
use crate::serve::Connection;

/// The answer to a question, if it is one that plain requests can put.
pub(crate) fn step(connection: &Connection, live: &Live, plain: &Plain<'_>) -> Option<Step> {
    if plain.method != Method::GET || !live.setup.trust.trusts(connection.peer) {
        return None;
    }
    let (path, headers) = (plain.target, plain.headers);
    forward_auth::by_headers(connection, live, path, headers, plain.started).map(Step::Answer)
}
