//! English.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    challenge_title: "One moment, please",
    challenge_why: "Many pages of this site were asked for from your network. To keep the site fast for people, your browser does a short calculation. You need to do nothing; nothing about you is passed on to others.",
    working: "Your browser is calculating …",
    left: "About {n} seconds left.",
    done: "Done. Your page is loading.",
    progress: "Progress of the calculation",
    repeated: "That did not work; trying once more …",
    no_cookies: "Please allow cookies for this site, then try again. Without a cookie the site cannot remember that your browser has done its part.",
    failed: "Your browser could not complete the check. Try again, update your browser, or switch off extensions that change pages or cookies on this site.",
    again: "Try again",
    noscript: "This page needs JavaScript for a short calculation in your browser. Please switch JavaScript on for this site and load the page again. If you cannot, write to the operator.",
    contact: "You can reach the operator here:",
    no_contact: "The operator has left no address here; look for contact details that you already have.",
    incident: "Incident number",
    block_title: "No access",
    block_why: "Requests from your network looked like those of a program that copies this site.",
    block_cure: "If you are a person, this is a mistake. Tell the operator the number below; it shows why you were turned away, and the operator can let you in.",
    throttle_title: "Please wait a little",
    throttle_why: "Too many pages were asked for in a short time.",
    throttle_cure: "You can go on in {n} seconds.",
    upstream_title: "The site does not answer",
    upstream_unreachable: "The server behind this page cannot be reached or gave an answer that makes no sense.",
    upstream_late: "The server behind this page took too long to answer.",
    upstream_cure: "This is not your fault. Please try again in a few minutes.",
};
