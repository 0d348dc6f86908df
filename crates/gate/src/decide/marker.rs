//! Markers in requests: read, and removed before anything else looks at the request.

use std::time::Instant;

use cattlegrid_http1::Headers;
use cattlegrid_http1::Name;
use cattlegrid_http1::Request;
use cattlegrid_http1::headers::Field;
use cattlegrid_http1::target::origin_form;
use cattlegrid_marker::Marker;
use cattlegrid_marker::Reader;
use cattlegrid_marker::Site;
use cattlegrid_marker::target::Name as MarkerName;

use super::Facts;
use crate::settings::defence::Defence;
use crate::state::Gate;
use crate::state::Live;
use crate::state::log::Marked;

/// What a request is without its markers.
#[derive(Debug)]
pub(crate) struct Unmarked {
    /// What the marker of the target says.
    pub(crate) marker: Marker,
    /// The target was sealed and does not open: nobody knows where the link leads.
    pub(crate) is_lost: bool,
    target: String,
    /// The values of fields that hold addresses, in their order.
    addresses: Vec<Vec<u8>>,
}

impl Unmarked {
    /// The request as it would have come without markers.
    pub(crate) fn request<'a>(&'a self, request: &Request<'a>) -> Request<'a> {
        let mut headers = Headers::new();
        let mut addresses = self.addresses.iter();
        for field in request.headers.iter() {
            let address = is_address(&field).then(|| addresses.next()).flatten();
            headers.add(field.name, address.map_or(field.value, |value| value));
        }
        Request {
            method: request.method.clone(),
            target: &self.target,
            authority: request.authority,
            version: request.version,
            headers,
            body: request.body,
            keeps_alive: request.keeps_alive,
            is_websocket: request.is_websocket,
        }
    }
}

/// True for a field that holds the address of the page which the request was sent from.
fn is_address(field: &Field<'_>) -> bool {
    field.known == Some(Name::Referer) || field.name.eq_ignore_ascii_case(b"hx-current-url")
}

/// The values of these fields.
fn addresses<'a>(headers: &Headers<'a>) -> impl Iterator<Item = &'a [u8]> {
    let fields = headers.iter().filter(is_address);
    fields.map(|field| field.value)
}

/// Whether a request may have a marker: nearly all have none, and this is all that they pay.
fn may_be_marked(request: &Request<'_>, name: &MarkerName) -> bool {
    let has_address = request.headers.has(Name::Referer) || request.headers.has(Name::HxRequest);
    name.may_stand_in(request.target.as_bytes())
        || has_address && addresses(&request.headers).any(|value| name.may_stand_in(value))
}

impl Gate {
    /// The request without markers; `None` where it has none.
    pub(crate) fn unmark(
        &self,
        live: &Live,
        request: &Request<'_>,
        host: &str,
        started: Instant,
    ) -> Option<Unmarked> {
        let ring = self.markers.load();
        let (ring, setup) = (ring.as_ref()?, &live.setup.markers);
        let name = &setup.rules.name;
        if !may_be_marked(request, name) || !live.setup.defences.has(Defence::Unmark) {
            return None;
        }
        let reader = Reader {
            ring,
            name,
            site: &Site::new(host),
            ages: setup.ages,
            now_minutes: self.clock.at(started) / 60,
        };
        let reading = reader.target(request.target.as_bytes());
        // A page may hold links that no request line can.
        let target = reading.target.as_deref().and_then(origin_form);
        let clean = |address: &[u8]| {
            let reading = reader.address(address);
            reading.target.map(|address| address.into_owned())
        };
        Some(Unmarked {
            is_lost: target.is_none(),
            marker: reading.marker,
            target: target.unwrap_or_else(|| lost(request.target)).to_owned(),
            addresses: addresses(&request.headers)
                .map(|address| clean(address).unwrap_or_default())
                .collect(),
        })
    }
}

/// What stands in the log for a sealed target that does not open: the name, and nothing of what a client may have made up.
fn lost(target: &str) -> &str {
    let colon = target.find(':');
    colon.map_or("/", |colon| &target[..=colon])
}

impl Facts<'_> {
    /// What the marker says about a signed-in person.
    pub(super) fn marked(&self, gate: &Gate) -> Option<Marked> {
        let user = self.user?;
        let marked = match &self.marker {
            Marker::Absent => return None,
            Marker::Broken => Marked::Broken,
            Marker::Genuine(opened) => {
                let ring = gate.markers.load();
                match ring.as_ref()?.user_name(&user.to_be_bytes()) == opened.facts.user {
                    true => Marked::Own(opened.facts.parent),
                    false => Marked::Other(opened.facts.parent),
                }
            }
        };
        gate.metrics.marker_read(marked.name());
        Some(marked)
    }
}

#[cfg(test)]
mod tests {
    use cattlegrid_http1::request;
    use cattlegrid_http1::request::Limits;

    use super::*;

    #[test]
    fn every_address_is_replaced_and_all_else_stays() {
        let head = b"GET /x?cg=T HTTP/1.1\r\nHost: a\r\nReferer: one\r\nX: 1\r\nHX-Current-URL: two\r\nreferer: three\r\n\r\n";
        let request = request::read(head, &Limits::USUAL).unwrap();
        let unmarked = Unmarked {
            marker: Marker::Broken,
            is_lost: false,
            target: "/x".to_owned(),
            addresses: ["1", "2", "3"].map(|value| value.into()).to_vec(),
        };
        let clean = unmarked.request(&request);
        assert_eq!(clean.target, "/x");
        let fields = clean.headers.iter();
        let shown: Vec<String> = fields
            .map(|field| {
                format!(
                    "{}={}",
                    field.name.escape_ascii(),
                    field.value.escape_ascii()
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                "Host=a",
                "Referer=1",
                "X=1",
                "HX-Current-URL=2",
                "referer=3"
            ]
        );
    }

    #[test]
    fn a_lost_target_shows_its_name_alone() {
        assert_eq!(lost("/cg:AAAA/-/x?y"), "/cg:");
    }
}
