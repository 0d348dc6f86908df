//! The formats that have a name.

use super::clean::Clean;
use super::columns;
use super::columns::Columns;
use super::json;
use super::json::JsonFormat;
use super::layout::Layout;
use super::pattern::Pattern;

/// Text formats that have a name of their own, with their spellings as format strings, most specific first.
const NAMED_TEXT: [(&str, &[&str]); 14] = [
    (
        "traefik",
        &[
            r#"$remote_addr - $remote_user [$time_local] "$request" $status $bytes_sent "$http_referer" "$http_user_agent" $number "$router" "$server" ${request_time_ms}ms"#,
        ],
    ),
    (
        "gandi",
        &[r#"%v %h %l %u %t (%T s) "%r" %>s %O "%{Referer}i" "%{User-Agent}i""#],
    ),
    ("vhost_combined", &[VHOST_COMBINED]),
    ("combined", &[COMBINED]),
    ("vhost_common", &[r#"%v %h %l %u %t "%r" %>s %O"#]),
    ("common", &[r#"%h %l %u %t "%r" %>s %b"#]),
    (
        "haproxy",
        &[
            r#"$remote_addr [$time_short] $frontend $backend $timers $status $bytes_sent $request_cookie $response_cookie $state $connections $queue "$request""#,
        ],
    ),
    (
        "alb",
        &[
            r#"$type $time_iso8601 $balancer $remote_addr $backend $t1 $request_time $t3 $status $backend_status $received $bytes_sent "$request_with_url" "$http_user_agent""#,
        ],
    ),
    (
        "elb",
        &[
            r#"$time_iso8601 $balancer $remote_addr $backend $t1 $request_time $t3 $status $backend_status $received $bytes_sent "$request_with_url" "$http_user_agent""#,
        ],
    ),
    (
        "s3",
        &[
            r#"$owner $host [$time_local] $remote_addr $remote_user $id $operation $key "$request" $status $error $bytes_sent $size $request_time_ms $turn "$http_referer" "$http_user_agent""#,
        ],
    ),
    (
        "envoy",
        &[
            r#"[$time_iso8601] "$request" $status $flags $received $bytes_sent $request_time_ms $upstream_time "$proxy_chain" "$http_user_agent" "$id" "$host""#,
        ],
    ),
    (
        "nginx_proxy_manager",
        &[
            r#"[$time_local] $cache $upstream_status $status - $request_method $scheme $host "$request_uri" [Client $remote_addr] [Length $bytes_sent] [Gzip $ratio] [Sent-to $server] "$http_user_agent" "$http_referer""#,
            r#"[$time_local] $status - $request_method $scheme $host "$request_uri" [Client $remote_addr] [Length $bytes_sent] [Gzip $ratio] "$http_user_agent" "$http_referer""#,
        ],
    ),
    (
        "npmplus",
        &[
            r#"[$time_local] $host $remote_addr $request_time "$request" $status $body_bytes_sent $request_length $http_referer $http_user_agent"#,
        ],
    ),
    (
        "zoraxy",
        &[
            r#"$day $clock [$time_iso8601] [router:$router] [origin:$host] [client: $remote_addr] [useragent: $http_user_agent] $request_method $request_uri $status"#,
        ],
    ),
];

const COMBINED: &str = r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i""#;
const VHOST_COMBINED: &str = r#"%v %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i""#;

/// What `--format` accepts, for messages.
pub const FORMAT_HELP: &str = "common, combined, vhost_common, vhost_combined, traefik, haproxy, w3c (IIS and others; 'w3c:date time c-ip …' where the header is lost), \
cloudfront, alb, elb, s3, envoy, nginx_proxy_manager, npmplus, zoraxy, gandi, pubcrawl, json_nginx, json_caddy, json_traefik, json_envoy, json_matomo, json_cloudflare, json_cattlegrid, \
a format string as in the server's configuration ('%h %l %u %t …' or '$remote_addr …'), or 'json:source=KEY,time=KEY,request=KEY,status=KEY,…'";

/// The short way for a named format's clean lines, where there is one.
fn clean(name: &str) -> Option<Clean> {
    Some(Clean {
        has_host: match name {
            "vhost_combined" | "vhost_common" => true,
            "combined" | "common" => false,
            _ => return None,
        },
        has_agent: name.ends_with("combined"),
    })
}

/// All names, most specific format first.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let text = NAMED_TEXT.iter().map(|(name, _)| *name);
    text.chain(json::NAMED).chain(columns::NAMED)
}

/// The layouts of the format with this name.
pub(super) fn layouts(name: &str) -> Option<Vec<Layout>> {
    if let Some((_, spellings)) = NAMED_TEXT.iter().find(|(known, _)| *known == name) {
        let layout = |spelling: &&str| {
            let pattern = Pattern::compile(spelling).ok()?;
            Some(match clean(name) {
                Some(clean) => Layout::Named(clean, pattern),
                None => Layout::Text(pattern),
            })
        };
        return spellings.iter().map(layout).collect();
    }
    let layout = match JsonFormat::named(name) {
        Some(json) => Layout::Json(json),
        None => Layout::Columns(Columns::named(name)?),
    };
    Some(vec![layout])
}
