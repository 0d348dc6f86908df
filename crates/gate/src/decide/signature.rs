//! Web Bot Auth: a request that a listed agent has signed (RFC 9421, draft-ietf-webbotauth-httpsig-protocol).
//!
//! Who signed is said by the directory that has the key, never by the user agent. A signature that is wrong, too old or used before is a
//! failed claim; one of an agent that the owner has not listed says nothing.

use cattlegrid_core::request::Source;
use cattlegrid_http1::Headers;
use cattlegrid_http1::Name;
use cattlegrid_http1::host;

use super::Facts;
use super::fields::Item;
use super::fields::Member;
use super::fields::dictionary;
use crate::settings::agent_origin;
use crate::state::Gate;
use crate::state::Live;
use crate::state::keyring::Freshness;
use crate::state::keyring::Reuse;

/// What a signature says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signed {
    /// There is none of an agent that the owner has listed.
    Absent,
    /// It cannot be checked yet.
    Unknown,
    /// It is the listed agent's of this number.
    Valid(usize),
    /// It is not what it claims to be.
    Invalid,
}

const TAG: &str = "web-bot-auth";
/// Signatures of one request that are looked at.
const SIGNATURES_MAX: usize = 4;
/// Seconds by which clocks may differ, and for which a signature may be good.
const SKEW: i64 = 60;
const LIFE_MAX: i64 = 86_400;

impl Gate {
    /// Checks the signature of a request.
    pub(super) fn signed(
        &self,
        live: &Live,
        facts: &Facts<'_>,
        source: Source,
        time: u32,
    ) -> Signed {
        let listed = &live.setup.crawlers.signed;
        if listed.is_empty() {
            return Signed::Absent;
        }
        let inputs = joined(facts.headers, "signature-input");
        let Some(inputs) = inputs.as_deref().and_then(dictionary) else {
            return Signed::Absent;
        };
        let of_robots = inputs
            .iter()
            .filter(|input| input.text_of("tag") == Some(TAG));
        for input in of_robots.take(SIGNATURES_MAX) {
            let Some(agent) = agent_of(facts.headers, &input.key) else {
                continue;
            };
            if let Some(number) = listed.iter().position(|listed| listed.agent == agent) {
                return self.checked(facts, input, (number, &agent), source, time);
            }
        }
        Signed::Absent
    }

    fn checked(
        &self,
        facts: &Facts<'_>,
        input: &Member,
        (number, agent): (usize, &str),
        source: Source,
        time: u32,
    ) -> Signed {
        let (now, keyring) = (i64::from(time), self.keyring.load());
        let (Some(created), Some(expires)) =
            (input.number_of("created"), input.number_of("expires"))
        else {
            return Signed::Invalid;
        };
        let is_timely = created <= now + SKEW
            && now < expires
            && created < expires
            && expires - created <= LIFE_MAX;
        let Some(signature) = signature_of(facts.headers, &input.key) else {
            return Signed::Invalid;
        };
        let Some(base) = base(&Message::of(facts), input).filter(|_| is_timely && is_bound(input))
        else {
            return Signed::Invalid;
        };
        let keys = keyring.get(agent).map(Vec::as_slice).unwrap_or_default();
        let named = input.text_of("keyid").unwrap_or_default();
        let Some(key) = keys.iter().find(|key| key.id == named) else {
            // The directory may have a new key that was not fetched yet.
            return Signed::Unknown;
        };
        let algorithm = input.text_of("alg");
        if !key.verifies(algorithm, base.as_bytes(), &signature, u64::from(time)) {
            return Signed::Invalid;
        }
        let reuse = match input.parameter("nonce") {
            Some(_) => Reuse::Never,
            None => Reuse::SameSource,
        };
        let until = u32::try_from(expires).unwrap_or(u32::MAX);
        // A query that is repeated to fetch its page is the same request.
        let freshness = match facts.is_counted {
            true => self.used.note(&signature, source, reuse, (time, until)),
            false => Freshness::Fresh,
        };
        match freshness {
            Freshness::Fresh => Signed::Valid(number),
            Freshness::Replayed => Signed::Invalid,
            Freshness::NoRoom => Signed::Unknown,
        }
    }
}

/// A field with all its values, as signatures cover it.
fn joined(headers: &Headers<'_>, name: &str) -> Option<String> {
    let values: Option<Vec<&str>> = headers
        .all_named(name)
        .map(|value| std::str::from_utf8(value.trim_ascii()).ok())
        .collect();
    values
        .filter(|values| !values.is_empty())
        .map(|values| values.join(", "))
}

/// The agent that a signature names: the member of its label, or a bare text as earlier drafts had it.
fn agent_of(headers: &Headers<'_>, label: &str) -> Option<String> {
    let text = joined(headers, "signature-agent")?;
    let members = match text.starts_with('"') {
        true => dictionary(&format!("{label}={text}"))?,
        false => dictionary(&text)?,
    };
    let member = members.into_iter().find(|member| member.key == label)?;
    let is_directory = match member.parameter("type") {
        None => true,
        Some(Item::Token(kind)) => kind == "directory",
        Some(_) => false,
    };
    match member.value {
        Item::Text(url) if is_directory => agent_origin(&url),
        _ => None,
    }
}

fn signature_of(headers: &Headers<'_>, label: &str) -> Option<Vec<u8>> {
    let members = dictionary(&joined(headers, "signature")?)?;
    let member = members.into_iter().find(|member| member.key == label)?;
    match member.value {
        Item::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

fn components(input: &Member) -> &[(String, Vec<(String, Item)>)] {
    match &input.value {
        Item::List(components) => components,
        _ => &[],
    }
}

/// True where a signature covers the site that it is for, and the agent that it names.
fn is_bound(input: &Member) -> bool {
    let has = |name: &str| components(input).iter().any(|(known, _)| known == name);
    let covers_agent = components(input).iter().any(|(name, parameters)| {
        let is_own = match parameters.as_slice() {
            [] => true,
            [(key, Item::Text(label))] => key == "key" && *label == input.key,
            _ => false,
        };
        name == "signature-agent" && is_own
    });
    covers_agent && (has("@authority") || has("@target-uri"))
}

/// A request as signatures see it.
struct Message<'a> {
    method: &'a str,
    authority: String,
    target: &'a str,
    scheme: &'a str,
    headers: &'a Headers<'a>,
}

impl<'a> Message<'a> {
    fn of(facts: &'a Facts<'_>) -> Message<'a> {
        // The port belongs to it where it is not the usual one; the host has been checked without it.
        let sent = facts.headers.get(Name::Host).unwrap_or_default();
        let is_same = host::canonical(sent).is_some_and(|host| host == facts.host);
        let port = std::str::from_utf8(sent).ok().filter(|_| is_same);
        let port = port.and_then(|sent| sent.rsplit_once(':'));
        let port = port.map(|(_, port)| port).filter(|port| {
            !matches!(*port, "80" | "443")
                && !port.is_empty()
                && port.bytes().all(|byte| byte.is_ascii_digit())
        });
        Message {
            method: facts.method.as_str(),
            authority: match port {
                Some(port) => format!("{}:{port}", facts.host),
                None => facts.host.to_owned(),
            },
            target: facts.target,
            scheme: if facts.is_secure { "https" } else { "http" },
            headers: facts.headers,
        }
    }

    fn path_and_query(&self) -> (&str, &str) {
        let at = self.target.find('?').unwrap_or(self.target.len());
        self.target.split_at(at)
    }

    /// The value of a component. None for what is not there, and for what is not supported.
    fn value(&self, name: &str, parameters: &[(String, Item)]) -> Option<String> {
        let (path, query) = self.path_and_query();
        let derived = match name {
            "@method" => self.method.to_owned(),
            "@authority" => self.authority.clone(),
            "@scheme" => self.scheme.to_owned(),
            "@target-uri" => format!("{}://{}{}", self.scheme, self.authority, self.target),
            "@request-target" => self.target.to_owned(),
            "@path" => path.to_owned(),
            "@query" if query.is_empty() => "?".to_owned(),
            "@query" => query.to_owned(),
            _ if name.starts_with('@') => return None,
            _ => return self.field(name, parameters),
        };
        parameters.is_empty().then_some(derived)
    }

    fn field(&self, name: &str, parameters: &[(String, Item)]) -> Option<String> {
        let whole = joined(self.headers, name)?;
        match parameters {
            [] => Some(whole),
            [(parameter, Item::Text(key))] if parameter == "key" => {
                let members = dictionary(&whole)?;
                let member = members.into_iter().find(|member| member.key == *key)?;
                Some(member.text)
            }
            _ => None,
        }
    }
}

/// The text that is signed (RFC 9421, 2.5).
fn base(message: &Message<'_>, input: &Member) -> Option<String> {
    let mut lines = String::new();
    let mut known: Vec<String> = Vec::new();
    for (name, parameters) in components(input) {
        let value = message.value(name, parameters)?;
        let parameters: String = parameters
            .iter()
            .map(|(key, item)| match item {
                Item::Text(text) => Some(format!(";{key}=\"{text}\"")),
                _ => None,
            })
            .collect::<Option<String>>()?;
        let identifier = format!("\"{name}\"{parameters}");
        let is_plain = !name
            .bytes()
            .any(|byte| byte.is_ascii_uppercase() || b"\"\\".contains(&byte));
        if !is_plain || known.contains(&identifier) {
            return None;
        }
        lines += &format!("{identifier}: {value}\n");
        known.push(identifier);
    }
    Some(format!("{lines}\"@signature-params\": {}", input.text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::keyring::read_directory;

    /// The request, key and signature of RFC 9421, B.2.6.
    #[test]
    fn the_example_of_rfc_9421() {
        let head = b"POST /foo?param=Value&Pet=dog HTTP/1.1\r\nHost: example.com\r\nDate: Tue, 20 Apr 2021 02:07:55 GMT\r\nContent-Type: application/json\r\nContent-Digest: sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:\r\nContent-Length: 18\r\n\r\n";
        let keys = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}]}"#;
        let input = r#"sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519""#;
        let signature = "sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:";
        let key = &read_directory(keys).unwrap()[0];
        let verifies = |head: &[u8], input: &str| {
            let headers_at = head.windows(2).position(|pair| pair == b"\r\n").unwrap() + 2;
            let text = std::str::from_utf8(&head[headers_at..]).unwrap();
            let mut headers = Headers::default();
            for line in text.lines().filter(|line| !line.is_empty()) {
                let (name, value) = line.split_once(':').unwrap();
                headers.add(name.as_bytes(), value.trim().as_bytes());
            }
            let message = Message {
                method: "POST",
                authority: "example.com".to_owned(),
                target: "/foo?param=Value&Pet=dog",
                scheme: "https",
                headers: &headers,
            };
            let input = &dictionary(input).unwrap()[0];
            let Some(base) = base(&message, input) else {
                return false;
            };
            let Item::Bytes(signature) = &dictionary(signature).unwrap()[0].value else {
                return false;
            };
            key.verifies(None, base.as_bytes(), signature, 1_618_884_475)
                && !key.verifies(
                    Some("hmac-sha256"),
                    base.as_bytes(),
                    signature,
                    1_618_884_475,
                )
        };
        assert!(verifies(head, input));
        assert!(!verifies(head, &input.replace("1618884473", "1618884474")));
        assert!(!verifies(head, &input.replace("\"date\" ", "")));
        let text = String::from_utf8(head.to_vec()).unwrap();
        for (from, to) in [
            ("02:07:55", "02:07:56"),
            ("application/json", "text/html"),
            ("Length: 18", "Length: 19"),
        ] {
            assert!(!verifies(text.replace(from, to).as_bytes(), input), "{to}");
        }
        assert!(!verifies(text.replace("Date:", "Day:").as_bytes(), input));
        // It names no site and no agent: it is nobody's proof here.
        assert!(!is_bound(&dictionary(input).unwrap()[0]));
    }
}
