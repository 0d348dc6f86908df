//! A real application, DokuWiki from Debian's package, behind the gate: a person reads, signs in, writes, searches and looks at files in a real
//! browser. With markers in any style the pages are the same, and so is what reaches the application.

use std::fs;
use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::net::TcpStream;
use std::path::Path;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;

use serde_json::json;
use tempfile::TempDir;

use crate::browser::Chromium;
use crate::harness::Got;
use crate::harness::Origin;
use crate::harness::find;
use crate::harness::free_port;
use crate::harness::page;
use crate::harness::wait_for;
use crate::marked_sites::ECHO;
use crate::marked_sites::PICTURE;
use crate::marked_sites::SHOWN;
use crate::marked_sites::unsealed;
use crate::marking::Marking;
use crate::skip::has;

/// Where Debian has the program.
const PROGRAM: &str = "/usr/share/dokuwiki";

/// Its scripts take the query of these links into the body of a request (`link.search` in `media.js` and `index.js`): they must stay readable.
const SETTINGS: &str = "signed = [\"idx\", \"ns\"]\n";

/// A wiki of its own, with a recorder between it and the gate.
struct Wiki {
    origin: Origin,
    php: Child,
    _folder: TempDir,
}

impl Wiki {
    /// `rewrite` is DokuWiki's setting for addresses: 0 has pages in the query, 2 in the path.
    fn start(rewrite: u8) -> Option<Wiki> {
        if !has("dokuwiki-addsite", 1) || !has("php", 1) {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        write_wiki(folder.path(), rewrite);
        let at: SocketAddr = format!("127.0.0.1:{}", free_port()).parse().unwrap();
        let prelude = folder.path().join("prelude.php");
        let php = Command::new("php")
            .arg("-d")
            .arg(format!("auto_prepend_file={}", prelude.display()))
            .arg("-d")
            .arg(format!("session.save_path={}", folder.path().display()))
            .args(["-S", &at.to_string(), "-t", PROGRAM])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for("PHP listens", || TcpStream::connect(at).is_ok());
        let origin = Origin::answering(Box::new(move |got| match got.values(ECHO).is_empty() {
            true => relay(got, at),
            false => Some(page(got.target())),
        }));
        Some(Wiki {
            origin,
            php,
            _folder: folder,
        })
    }
}

impl Drop for Wiki {
    fn drop(&mut self) {
        let _ = self.php.kill();
        let _ = self.php.wait();
    }
}

/// Settings, pages and files of the wiki. The password of alice is `secret`.
fn write_wiki(folder: &Path, rewrite: u8) {
    let at = folder.display();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    for kept in [
        "attic",
        "cache",
        "index",
        "locks",
        "log",
        "media_attic",
        "media_meta",
        "meta",
        "tmp",
    ] {
        fs::create_dir_all(folder.join("data").join(kept)).unwrap();
    }
    write(
        "prelude.php",
        format!("<?php define('DOKU_CONF', '{at}/conf/');").as_bytes(),
    );
    write(
        "conf/local.php",
        format!(
            "<?php $conf['title'] = 'The wiki'; $conf['savedir'] = '{at}/data'; $conf['useacl'] = 1; $conf['updatecheck'] = 0;\n\
             $conf['userewrite'] = {rewrite}; $conf['dformat'] = 'D'; $conf['cookiedir'] = '/';\n"
        )
        .as_bytes(),
    );
    // Addresses of pictures depend on it.
    write("data/meta/_htcookiesalt2", b"salt");
    write("conf/acl.auth.php", b"* @ALL 1\n* @user 8\n");
    let user = "alice:5ebe2294ecd0e0f08eab7690d2a6ee69:Alice:alice@example.org:user\n";
    write("conf/users.auth.php", user.as_bytes());
    let start = "====== Start ======\n\nSome [[wiki:other|text]], [[missing]], [[https://example.com/|elsewhere]] ((a note)).\n\n\
         ===== Second =====\n\nA picture: {{wiki:p.gif|picture}}\n\n===== Third =====\n\nThe end.\n";
    write("data/pages/start.txt", start.as_bytes());
    let other = "====== Other ======\n\nBack to [[:start]] and [[start#third]].\n";
    write("data/pages/wiki/other.txt", other.as_bytes());
    write("data/media/wiki/p.gif", PICTURE);
}

/// Passes a request on, and gives the answer with its length.
fn relay(got: &Got, to: SocketAddr) -> Option<Vec<u8>> {
    let mut stream = TcpStream::connect(to).ok()?;
    stream.write_all(got.head.as_bytes()).ok()?;
    stream.write_all(&got.body).ok()?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).ok()?;
    let end = find(&bytes, b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..end - 2]).into_owned();
    let body = &bytes[end..];
    let is_framing = |line: &str| {
        let line = line.to_ascii_lowercase();
        line.starts_with("connection:") || line.starts_with("content-length:")
    };
    let mut lines = head.lines();
    let first = lines.next()?;
    let mut answer = format!("{first}\r\n");
    for line in lines.filter(|line| !is_framing(line)) {
        answer += &format!("{line}\r\n");
    }
    if !first.contains(" 304 ") {
        answer += &format!("Content-Length: {}\r\n", body.len());
    }
    Some([answer.as_bytes(), b"\r\n", body].concat())
}

/// What a person does, as a script, and what the page has then.
const STEPS: [(&str, &str); 22] = [
    ("q('a.wikilink1').click()", "#other"),
    (
        "q('main a[href*=third], main a[title=start]').click()",
        "#start",
    ),
    ("q('a[title^=Home]').click()", "#start"),
    ("q('li.login a').click()", "#dw__login"),
    (
        "(q('#focus__this').value = 'alice', q('[name=p]').value = 'secret', q('#dw__login').requestSubmit())",
        "li.logout",
    ),
    ("q('li.edit a').click()", "#wiki__text"),
    (
        "(q('#wiki__text').value += 'Written [[wiki:new]].', q('#edbtn__preview').click())",
        ".preview a.wikilink2[title='wiki:new']",
    ),
    (
        "(q('#edit__summary').value = 'more', q('#edbtn__save').click())",
        "main a.wikilink2[title='wiki:new']",
    ),
    ("q('.editbutton_2 button').click()", "#wiki__text"),
    ("q('[name=\"do[cancel]\"]').click()", "#second"),
    ("q('li.revs a').click()", "#page__revisions"),
    ("q('a.diff_link').click()", "table.diff"),
    ("q('li.recent a').click()", "form.changes"),
    ("q('li.index a').click()", "#index__tree"),
    (
        "jQuery('#index__tree a.idx_dir').first().click()",
        "#index__tree li.open a[title='wiki:other']",
    ),
    (
        "(q('#qsearch__in').value = 'other', jQuery('#qsearch__in').trigger('keyup'))",
        "#qsearch__out a",
    ),
    (
        "q('#dw__search').requestSubmit()",
        ".search_results, .search_quickresult",
    ),
    ("q('li.media a').click()", "#mediamanager__page"),
    (
        "jQuery('#media__tree a.idx_dir').last().click()",
        "div.filelist a[title='wiki:p.gif'], div.filelist a.image",
    ),
    (
        "jQuery('div.filelist .panelContent a').first().click()",
        "div.file .image img, div.file img",
    ),
    ("q('a[title^=Home]').click()", "#start"),
    ("q('main a.media').click()", "#dokuwiki__detail"),
];

/// What a person saw after each step, and what the wiki was asked for.
struct Visit {
    shown: Vec<String>,
    asked: Vec<String>,
    /// Requests with a marker of the person.
    read: f64,
}

impl Visit {
    fn make(browser: &Chromium, style: &str, settings: &str, rewrite: u8) -> Option<Visit> {
        let wiki = Wiki::start(rewrite)?;
        let marking = Marking::with_markers(&wiki.origin, style, "", settings);
        marking.sign_in(browser, "/lib/images/blank.gif");
        browser.open(marking.gate.address, "/doku.php");
        let mut visit = Visit {
            shown: Vec::new(),
            asked: Vec::new(),
            read: 0.0,
        };
        visit.look(browser, "#start", "the first page");
        for (script, sign) in STEPS {
            browser.eval("document.body.dataset.left = 'yes'");
            browser.eval(&format!(
                "(q => {script})(document.querySelector.bind(document))"
            ));
            visit.look(browser, sign, script);
        }
        visit.asked = asked(&wiki.origin);
        visit.read = marking
            .gate
            .metric("cattlegrid_markers_read_total{kind=\"own\"}")?;
        for page in &mut visit.shown {
            *page = masked(&unsealed(page, &marking));
        }
        Some(visit.without(&marking.gate.address.to_string()))
    }

    fn look(&mut self, browser: &Chromium, sign: &str, step: &str) {
        let is_there = format!(
            "document.readyState == 'complete' && !!window.jQuery && jQuery.active == 0 && !jQuery(':animated').length \
             && !!document.querySelector({}) && [...document.images].every(image => image.complete || image.loading == 'lazy')",
            json!(sign)
        );
        wait_for(step, || browser.eval(&is_there) == Some(json!(true)));
        // They say how long ago a page was changed.
        browser.eval("document.querySelectorAll('time').forEach(time => time.replaceWith('TIME'))");
        self.shown.push(browser.text(SHOWN));
    }

    /// What is not the same on the pages, and in what the wiki was asked for.
    fn differences(&self, other: &Visit) -> Vec<String> {
        let mut all = Vec::new();
        for ((page, other), at) in self.shown.iter().zip(&other.shown).zip(0_usize..) {
            let step = at.checked_sub(1).map(|at| STEPS[at].0);
            let difference = difference(page, other);
            all.extend(difference.map(|difference| format!("{step:?}: {difference}")));
        }
        let only = |here: &Visit, there: &Visit| -> Vec<String> {
            let missing = here
                .asked
                .iter()
                .filter(|asked| !there.asked.contains(asked));
            missing.cloned().collect()
        };
        all.extend(
            only(self, other)
                .iter()
                .map(|asked| format!("not asked: {asked}")),
        );
        all.extend(
            only(other, self)
                .iter()
                .map(|asked| format!("asked: {asked}")),
        );
        all
    }

    /// The same with `site` for the address of the gate, which is another one each time.
    fn without(mut self, address: &str) -> Visit {
        for text in self.shown.iter_mut().chain(&mut self.asked) {
            *text = text.replace(address, "site");
        }
        self
    }
}

/// The requests in the order of their texts: parts of a page are requested in any order. The times and tokens in them differ.
fn asked(origin: &Origin) -> Vec<String> {
    let told = |got: &Got| {
        let method = got.line().split(' ').next().unwrap_or_default();
        let body = String::from_utf8_lossy(&got.body).into_owned();
        masked(&format!(
            "{method} {} {:?} {body}",
            got.target(),
            got.values("referer")
        ))
    };
    let mut told: Vec<String> = origin.got().iter().map(told).collect();
    // Sent while a page is left, or not any more.
    told.retain(|told| !told.contains("call=draftdel"));
    // Browsers load icons when they like, from whichever page is shown then.
    told.retain(|told| !told.contains("/favicon.ico "));
    told.sort();
    told
}

fn masked(text: &str) -> String {
    let word = |word: &str| match word.len() {
        10 if word.bytes().all(|byte| byte.is_ascii_digit()) => "TIME".to_owned(),
        32 if word.bytes().all(|byte| byte.is_ascii_hexdigit()) => "HASH".to_owned(),
        _ => word.to_owned(),
    };
    let mut out = String::new();
    for part in text.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric()) {
        let end = part.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
        out += &word(end);
        out += &part[end.len()..];
    }
    out
}

/// Compares visits with markers to one without. Gives the browser and that visit.
fn check(rewrite: u8) -> Option<(Chromium, Visit)> {
    let browser = Chromium::start("en")?;
    let plain = Visit::make(&browser, "off", "", rewrite)?;
    assert_eq!(plain.read, 0.0);
    for style in ["query", "path", "sealed"] {
        let marked = Visit::make(&browser, style, SETTINGS, rewrite).unwrap();
        let differences = plain.differences(&marked);
        assert!(
            differences.is_empty(),
            "{style}: {}",
            differences.join("\n")
        );
        assert!(marked.read >= 15.0, "{style}: {}", marked.read);
    }
    Some((browser, plain))
}

/// The first place where two texts differ, with what stands around it.
fn difference(one: &str, other: &str) -> Option<String> {
    let differs = |(a, b): (u8, u8)| a != b;
    let at = one.bytes().zip(other.bytes()).position(differs);
    let at = at.or_else(|| (one.len() != other.len()).then_some(one.len().min(other.len())))?;
    let near = |text: &str| {
        let bytes = text.as_bytes();
        let part = &bytes[at.saturating_sub(200)..(at + 200).min(bytes.len())];
        String::from_utf8_lossy(part).into_owned()
    };
    Some(format!("\n  {}\n  {}", near(one), near(other)))
}

#[test]
fn a_wiki_with_pages_in_the_query() {
    let Some((browser, plain)) = check(0) else {
        return;
    };
    // Without the setting, scripts send markers in the body of requests.
    let marked = Visit::make(&browser, "query", "", 0).unwrap();
    let differences = plain.differences(&marked).join("\n");
    assert!(differences.contains("&cg="), "{differences}");
}

#[test]
fn a_wiki_with_pages_in_the_path() {
    check(2);
}
