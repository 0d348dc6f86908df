//! A world told request by request: every source with its truth, every request with its header fields.
//!
//! Worlds that models are tested on are built from this and from [`Random`] alone. They share no description of people or crawlers with
//! the worlds that models learn from, so that a good result cannot come from a common author.

use std::io;
use std::io::Write;
use std::net::Ipv4Addr;
use std::rc::Rc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::actor::Label;
use crate::random::Random;

/// One request.
#[derive(Debug, Clone)]
pub struct Hit {
    /// Milliseconds since the start of the world.
    pub at_ms: u64,
    /// Number of the source, as [`Scene::source`] gave it.
    pub source: u32,
    /// The method.
    pub method: &'static str,
    /// Path and query.
    pub target: Rc<str>,
    /// HTTP/1.1 and the like.
    pub protocol: &'static str,
    /// Status of the response.
    pub status: u16,
    /// Bytes of the response.
    pub bytes: u32,
    /// The `Referer` header; empty where there was none.
    pub referrer: Rc<str>,
    /// The `User-Agent` header; empty where there was none.
    pub agent: Rc<str>,
}

/// One source with its truth.
#[derive(Debug, Clone)]
pub struct Party {
    /// IPv4 address.
    pub address: u32,
    /// What it is.
    pub label: Label,
    /// The campaign it belongs to; empty for none.
    pub campaign: String,
    /// What kind of people or crawler, in a word or two: results are told by kind.
    pub kind: &'static str,
}

/// Which header fields the log has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fields {
    /// 'combined': with referrer and user agent.
    Combined,
    /// 'common': without.
    Common,
}

/// A world under construction.
#[derive(Debug)]
pub struct Scene {
    /// Random numbers of this world.
    pub random: Random,
    /// The first second: midnight UTC.
    pub start: u32,
    parties: Vec<Party>,
    hits: Vec<Hit>,
}

impl Scene {
    /// An empty world that starts at a midnight UTC.
    pub fn new(start: u32, random: Random) -> Scene {
        Scene {
            random,
            start,
            parties: Vec::new(),
            hits: Vec::new(),
        }
    }

    /// Adds a source and gives its number. Each address may be added once.
    pub fn source(&mut self, party: Party) -> u32 {
        self.parties.push(party);
        self.parties.len() as u32 - 1
    }

    /// Adds a request; requests may come in any order.
    pub fn request(&mut self, hit: Hit) {
        self.hits.push(hit);
    }

    /// All sources.
    pub fn parties(&self) -> &[Party] {
        &self.parties
    }

    /// All requests.
    pub fn hits(&self) -> &[Hit] {
        &self.hits
    }

    /// Writes what everybody is: `source,label,campaign,habit`, in the order of addresses.
    pub fn write_labels(&self, out: &mut impl Write) -> io::Result<()> {
        let mut parties: Vec<&Party> = self.parties.iter().collect();
        parties.sort_by_key(|party| party.address);
        writeln!(out, "source,label,campaign,habit")?;
        for party in parties {
            let (source, label) = (Ipv4Addr::from(party.address), party.label.name());
            writeln!(out, "{source},{label},{},{}", party.campaign, party.kind)?;
        }
        Ok(())
    }

    /// Writes all requests in the order of their time. Gives how many they are.
    pub fn write_log(&mut self, fields: Fields, out: &mut impl Write) -> io::Result<u64> {
        // Stable: requests of one millisecond stay in the order in which they were added.
        self.hits.sort_by_key(|hit| hit.at_ms);
        let mut out = io::BufWriter::with_capacity(1 << 20, out);
        let mut clock = (u64::MAX, String::new());
        for hit in &self.hits {
            let second = u64::from(self.start) + hit.at_ms / 1000;
            if clock.0 != second {
                clock = (second, time_text(second));
            }
            let address = Ipv4Addr::from(self.parties[hit.source as usize].address);
            write!(
                out,
                "{address} - - [{}] \"{} {} {}\" {} {}",
                clock.1, hit.method, hit.target, hit.protocol, hit.status, hit.bytes
            )?;
            match fields {
                Fields::Common => writeln!(out)?,
                Fields::Combined => {
                    let (referrer, agent) = (or_dash(&hit.referrer), or_dash(&hit.agent));
                    writeln!(out, " \"{referrer}\" \"{agent}\"")?;
                }
            }
        }
        out.flush()?;
        Ok(self.hits.len() as u64)
    }
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}

fn time_text(second: u64) -> String {
    let time = Timestamp::from_second(second as i64).unwrap_or_default();
    let time = time.to_zoned(TimeZone::UTC);
    time.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_in_the_order_of_time() {
        let mut scene = Scene::new(1_893_974_400, Random::new(1, 1));
        let source = scene.source(Party {
            address: u32::from(Ipv4Addr::new(192, 0, 2, 7)),
            label: Label::User,
            campaign: String::new(),
            kind: "reader",
        });
        for at_ms in [61_500, 500] {
            scene.request(Hit {
                at_ms,
                source,
                method: "GET",
                target: "/a".into(),
                protocol: "HTTP/1.1",
                status: 200,
                bytes: 10,
                referrer: "".into(),
                agent: "Mozilla/5.0".into(),
            });
        }
        let mut log = Vec::new();
        assert_eq!(scene.write_log(Fields::Combined, &mut log).unwrap(), 2);
        assert_eq!(
            String::from_utf8(log).unwrap(),
            "192.0.2.7 - - [07/Jan/2030:00:00:00 +0000] \"GET /a HTTP/1.1\" 200 10 \"-\" \"Mozilla/5.0\"\n\
             192.0.2.7 - - [07/Jan/2030:00:01:01 +0000] \"GET /a HTTP/1.1\" 200 10 \"-\" \"Mozilla/5.0\"\n"
        );
        let mut labels = Vec::new();
        scene.write_labels(&mut labels).unwrap();
        assert_eq!(
            String::from_utf8(labels).unwrap(),
            "source,label,campaign,habit\n192.0.2.7,user,,reader\n"
        );
    }
}
