//! The documented defaults of the `[gate]` part.

/// The documented defaults, as a part of the settings file. What has no default is shown behind `#`.
pub(super) const MANUAL: &str = r##"
# The gate ('cattlegrid gate', docs/gate.md). Other commands pass over this part.
[gate]
# shadow: everything passes, and the log says what would have happened. enforce: decisions are carried out.
mode = "shadow"
# Folder of the knowledge base (kb.sqlite), the signing keys, the counters and, unless 'log' says otherwise, the access log.
state = "/var/lib/cattlegrid"
# The access log, JSON lines that 'analyze' reads. SIGUSR1 opens it anew after a rotation.
# log = "/var/log/cattlegrid/access.log"
# Address of /metrics and /healthz; "off" for none. Do not make it public.
admin = "127.0.0.1:9180"
# Threads that serve; 0 for one per core.
workers = 0
# Folder of the gate's own pages on every site.
prefix = "/.cattlegrid/"
# How people who were stopped by mistake can reach you; shown on the pages.
contact = ""
# An HTML file as a frame around the gate's pages, with the placeholders {{lang}}, {{title}}, {{style}} and {{content}} (docs/gate.md).
# template = "/etc/cattlegrid/page.html"
# Whose word about a client's address (X-Forwarded-For, Forwarded, a PROXY header) is taken: addresses, networks, and "unix" for
# whoever connects through a socket file. Without any, such headers are ignored.
trusted_proxies = []
# Only where nobody but your own proxies can reach the gate: believe everybody.
trust_everybody = false
# Sources that are counted (56 bytes each, taken at the start), and sources that are profiled (up to 2 KiB each).
sources_max = 1000000
profiles_max = 200000
# How often all sources are judged and verdicts written to the knowledge base. A source that crosses k2 is judged within a second.
judge_minutes = 30.0
# Connections of clients at one time. Above half of it, responses of the gate itself end the connection, and idle ones end after 5 seconds.
connections_max = 8192
# Let requests for robots.txt, /.well-known/, favicons and feeds without a query string pass, unless the client is denied.
default_rules = true

# Seconds after which the gate stops waiting.
[gate.timeouts]
# A whole request head from its first byte; TLS.
header = 10.0
# The next request on a connection that is kept.
idle = 60.0
# The next bytes of a body, from either side.
body = 30.0
# A client that does not take its answer.
write = 30.0
# A connection to the site, and the beginning of its answer.
connect = 2.0
answer = 30.0
# Silence on a websocket.
websocket = 900.0
# Requests under way when the gate stops.
stop = 20.0

[gate.challenge]
# How long a challenge can be answered.
seconds = 300
# Work of a first challenge in bits; each bit doubles it. It rises with the pages a source has requested and the challenges it has solved.
bits = 15
# What a clearance is tied to beside the site: "agent" (the browser; in another network it is good for k1 pages, then an easy challenge
# confirms it there), or "network" (the browser and its /24 or /48 network).
binding = "agent"

# Robots that name themselves, by what they come for (docs/crawlers.md). Treatments: "allow" (passes once its address or signature proves
# the name; the name alone is limited), "limit" (k1 pages a day and these again and again, then 429), "visitor" (like anybody),
# "challenge" and "refuse" (from the first page).
[gate.crawlers]
# standard: search, AI search and fetchers for people are allowed, AI training and SEO limited. no_training: training is refused.
# search_only: all AI is refused. open: all are allowed. closed: all are challenged, feed readers, previews and monitors limited.
preset = "standard"
# Pages in 24 hours of one proven robot from all its addresses, and of one that fetches what its users ask for.
pages = 100000
fetched_pages = 5000
# The name server that says whether an address is an operator's, where its networks do not: "system" (/etc/resolv.conf), an address with
# or without a port, or "off". Requests never wait for it.
resolver = "system"
# site: robots.txt is the site's. merged: the gate adds groups for refused robots, the tokens that only robots.txt knows (Google-Extended)
# and Content-Usage to it.
robots_txt = "site"

# What goes before the preset: by purpose (search, ai_search, ai_training, ai, user_triggered, preview, monitor, feed, proxy, archive,
# advertising, seo, academic, library, automation, scanner, other), and before that by operator or robot ('cattlegrid lists show').
[gate.crawlers.purposes]
# seo = "refuse"
[gate.crawlers.robots]
# openai = "allow"
# GPTBot = "refuse"
# Robots that sign their requests (Web Bot Auth). Keys are fetched from the agent's directory over HTTPS, or read from a file.
# [[gate.crawlers.signed]]
# agent = "https://bot.example"               # as it stands in Signature-Agent
# keys = "/etc/cattlegrid/bot.example.json"   # a JSON Web Key Set, instead of the directory
# treatment = "allow"

# Links on the gate's pages for contained clients that only programs follow, and slow pages behind them (docs/traps.md).
[gate.traps]
# merged: where the gate serves robots.txt (robots_txt above is "merged" as well), which then forbids them. always: on all sites; put
# 'Disallow: /.cattlegrid/more/' into each group of robots.txt yourself. never: no links, and nothing behind them.
links = "merged"
# Seconds that a page behind a link takes, at most 10.
delay_seconds = 5.0
# Pages that are waited for at one time, and of these by one source. Beyond, the gate responds with 403 at once.
slots = 500
source_slots = 4
# What all these pages take together.
bytes_per_second = 262144

# Signed-in people pass, within user_pages and user_pages_a_minute of [policy]. One of four ways says who is signed in (docs/sign-in.md).
[gate.sign_in]
# What happens to those who are faster: "throttle" (429 with Retry-After) or "slow" (the request waits, for slow_seconds at most; with
# slowed_max requests waiting, the next ones get 429).
too_fast = "throttle"
slow_seconds = 10.0
slowed_max = 256
# A JSON Web Token in a cookie, or in Authorization with 'bearer'. Tokens need exp; only this algorithm is accepted: HS256, RS256, ES256
# or EdDSA. Keys: a secret on a line (HS256; no other user may read the file), public keys in PEM, or a JSON Web Key Set.
#[gate.sign_in.jwt]
#cookie = "session"
#bearer = false
#algorithm = "ES256"
#key_file = "/etc/cattlegrid/jwt.pem"
#user = "sub"                              # the claim that names the person
#issuer = "https://id.example.org"         # iss must be this
#audience = "www.example.org"              # aud must be or contain this
# A cookie that the site makes itself: user.expiry.mac.
#[gate.sign_in.hmac]
#cookie = "signed_in"
#key_file = "/etc/cattlegrid/sign-in.key"
# The site is asked: a GET of this path with the named cookies; 2xx means signed in.
#[gate.sign_in.ask]
#path = "/whoami"
#cookies = ["sessionid"]
#user_header = "X-User"                    # the response field that names the person
#seconds = 60                              # how long the answer is taken, and how long a refusal
#refused_seconds = 10
#wait = 1.0                                # seconds that a request waits for the answer, at most 1.5; then nobody is signed in
#in_flight = 32                            # requests to the site at the same time
# The server before the gate says who is signed in, in this header field of its requests. It must set or remove the field in every
# request; the gate believes it from trusted_proxies alone.
#[gate.sign_in.header]
#field = "X-Remote-User"

# Markers in the links of pages that signed-in people get, so that crawlers with an account can be told from readers (docs/markers.md).
[gate.markers]
# off, or where in a link the marker stands: query, path, or sealed (the whole target is hidden). With "off", markers of earlier links are
# still removed from requests while the file marker_keys is in the folder 'state'.
style = "off"
# The name of markers in links: letters and digits.
name = "cg"
# The hosts whose pages get markers; none listed: all.
hosts = []
# For how many days markers open. In the sealed style an older link leads nowhere.
days = 7
sealed_days = 366
# A new key is drawn after this many days; older ones still open markers.
key_days = 30
# Links with one of these query parameters stay as they are: something may compare the whole address with a signature, or scripts take them apart.
signed = [
    "X-Amz-Signature", "X-Goog-Signature", "X-Oss-Signature", "Signature", "sig", "sign", "hmac", "token", "access_token", "auth_token",
    "login_token", "magic", "ticket",
]

# Who of the signed-in people follows links as crawlers do (docs/paths.md). Needs markers.
[gate.paths]
# act: suspects must answer a question, and are throttled the second time, if the gate enforces. watch: they are listed and logged only.
# off: nothing is noted.
mode = "watch"
# Days after which everything is forgotten: the last requests of a user, and suspicions.
days = 30
# true: the file users.jsonl has no names, only keyed hashes of them.
pseudonyms = false
# Requests of one day that links do not explain and that make a suspect. Requests without a marker count beyond 'unmarked' and
# 'unmarked_percent' of the user's requests; 100 percent: never.
odd_requests = 30
unmarked = 10
unmarked_percent = 30
# The day ends at midnight in this time zone: "system", or a name like "Europe/Berlin".
zone = "system"
# Seconds in which a suspect must answer. Who is late gets another question with the time of [gate.challenge].
challenge_seconds = 30
# Users that are followed; the longest inactive are forgotten first.
users_max = 100000
# true: long sessions of people who are no suspects are kept for 'days' in sessions.jsonl, for 'cattlegrid train --paths'.
keep_sessions = false
# A model of 'cattlegrid train --paths' in the place of the built-in one.
# model = "/etc/cattlegrid/paths.json"

# [[gate.listen]]
# address = "0.0.0.0:8080"          # or "[::]:8080", or "unix:/run/cattlegrid/gate.sock"
# role = "proxy"                    # or "forward_auth", or "envoy"
# certificate = "/etc/ssl/site.pem" # TLS, with key
# key = "/etc/ssl/site.key"
# proxy_protocol = false            # a balancer puts a PROXY header before each connection

# [[gate.site]]
# hosts = ["www.example.org", "example.org"]   # or ["*"] for all others
# upstream = "http://127.0.0.1:8081"           # or "unix:/run/site.sock"

# Rules are looked through in order; the first whose conditions all hold decides: pass, throttle, challenge or block.
# [[gate.rule]]
# path = "/api/*"                   # exactly this path, or with * at the end all that begin so
# pattern = "^/private/"            # a pattern in the path, without the query
# methods = ["GET", "HEAD"]
# agent = "(?i)examplebot"          # a pattern in the user agent; "^$" for none
# networks = ["192.0.2.0/24"]
# header = { name = "X-Role", value = "admin" }
# action = "block"
"##;

#[cfg(test)]
mod tests {
    use super::super::Setup;
    use super::*;

    #[test]
    fn the_manual_holds_the_defaults() {
        let needed = "\n[[gate.listen]]\naddress = \"127.0.0.1:8080\"\n[[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://127.0.0.1:8081\"\n";
        let mut shown = Setup::parse(&format!("{MANUAL}{needed}")).unwrap();
        let defaults = Setup::parse(&format!("[gate]\n{needed}")).unwrap();
        shown.listen[0].line = defaults.listen[0].line;
        assert_eq!(format!("{shown:?}"), format!("{defaults:?}"));
        // What is commented out is sound, too.
        let all: String = MANUAL
            .lines()
            .filter(|line| {
                !line.starts_with("# ") || line.contains(" = ") || line.starts_with("# [[")
            })
            .map(|line| format!("{}\n", line.strip_prefix("# ").unwrap_or(line)))
            .collect();
        Setup::parse(&all).unwrap();
    }
}
