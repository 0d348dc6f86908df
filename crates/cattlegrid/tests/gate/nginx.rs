//! The gate behind a real nginx, with the configuration that is shipped.

use crate::front;
use crate::front::Server;
use crate::skip;

const SERVER: Server = Server::Nginx;

#[test]
fn passes_challenges_and_blocks() {
    if SERVER.is_here() {
        front::passes_challenges_and_blocks(SERVER);
    }
}

#[test]
fn passes_on_what_was_sent() {
    if SERVER.is_here() {
        front::passes_on_what_was_sent(SERVER);
    }
}

#[test]
fn h047_h049_spoofed_headers_do_not_matter() {
    if SERVER.is_here() {
        let edits = &[
            ("proxy_set_header X-Original-URI $request_uri;", ""),
            (
                "X-Forwarded-For $remote_addr",
                "X-Forwarded-For $http_x_forwarded_for",
            ),
            (
                "proxy_set_header X-Cattlegrid-Decision $cattlegrid_decision;",
                "",
            ),
        ];
        front::spoofed_headers_do_not_matter(SERVER, edits);
    }
}

#[test]
fn a_denied_source_is_blocked_soon() {
    if SERVER.is_here() {
        front::a_denied_source_is_blocked_soon(SERVER);
    }
}

#[test]
fn a_dead_gate_is_what_the_switch_says() {
    if SERVER.is_here() {
        front::a_dead_gate_is_what_the_switch_says(SERVER);
    }
}

#[test]
fn passes_who_answers_a_question() {
    if SERVER.is_here() {
        front::passes_who_answers_a_question(SERVER);
    }
}

#[test]
fn leads_into_traps() {
    if SERVER.is_here() {
        front::leads_into_traps(SERVER);
    }
}

#[test]
fn passes_signed_in_people() {
    if SERVER.is_here() && skip::has("python3", 1) {
        front::passes_signed_in_people(SERVER);
    }
}
