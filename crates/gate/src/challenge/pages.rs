//! The pages that visitors meet, and the same facts as JSON for programs.
//!
//! Invariant: nothing of a request is repeated on a page. What the gate or its owner put there is escaped all the same.
//!
//! An owner's template is a frame around the `main` element of every page.

use std::borrow::Cow;

use serde_json::Value;
use serde_json::json;

use super::answer::Refusal;
use super::assets;
use super::challenger::Puzzle;
use super::challenger::Solved;
use super::language::Language;
use super::question::Question;
use super::template::Filling;
use super::template::Template;
use super::texts::Texts;
use super::trap;

/// Scripts, styles and requests go to the gate itself and to nobody else; nothing inline is run.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; worker-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A response of the gate itself. It knows no HTTP library: whoever serves the connection writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// HTTP status.
    pub status: u16,
    /// All header fields but `content-length`.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// HTML, JSON or plain text.
    pub body: Cow<'static, str>,
}

impl Page {
    /// A page without header fields and text.
    pub fn empty(status: u16) -> Page {
        Page {
            status,
            headers: Vec::new(),
            body: Cow::Borrowed(""),
        }
    }

    /// A short plain text.
    pub fn text(status: u16, text: &'static str) -> Page {
        Page {
            status,
            headers: vec![
                ("content-type", "text/plain; charset=utf-8".into()),
                ("cache-control", "no-store".into()),
                ("x-content-type-options", "nosniff".into()),
            ],
            body: Cow::Borrowed(text),
        }
    }

    /// The same page with another header field.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Page {
        self.headers.push((name, value.into()));
        self
    }

    /// The same page with a cookie, where there is one to set.
    #[must_use]
    pub fn with_cookie(self, cookie: Option<String>) -> Page {
        match cookie {
            Some(cookie) => self.with("set-cookie", cookie),
            None => self,
        }
    }

    /// The value of a header field.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.headers.iter();
        let field = fields.find(|(field, _)| *field == name);
        field.map(|(_, value)| &**value)
    }
}

/// Who has turned a visitor away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockedBy {
    /// The gate, for what came from the visitor's address.
    Traffic,
    /// The site's owner.
    Owner,
}

/// Who reads the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// A person who loads a page.
    Person(Language),
    /// A script: a request that is no page load.
    Program,
}

/// How the site behind the gate failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upstream {
    /// It refused the connection, broke it, or answered nonsense: 502.
    Unreachable,
    /// It took too long: 504.
    Late,
}

/// What is said about the last answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// Nothing: the visitor asked for a question.
    None,
    /// It was wrong.
    Wrong,
    /// It was right and counts only in a while.
    Early,
    /// It came too late, and this is another question.
    New,
}

/// Writes the pages of one site.
#[derive(Debug, Clone)]
pub struct Pages {
    /// The gate's own paths begin with it; it ends with a slash.
    pub prefix: String,
    /// How the operator can be reached: a text, an address of a page or a mail address. May be empty.
    pub contact: String,
    /// The owner's frame around every page.
    pub template: Option<Template>,
}

impl Pages {
    /// The page that has the browser do its work. A browser that cannot is asked a question, where one is asked at all; its answer counts in
    /// so many seconds. The link of a trap goes along, where there is one.
    pub fn challenge(
        &self,
        language: Language,
        puzzle: &Puzzle,
        wait: Option<u32>,
        trap: &str,
    ) -> Page {
        let texts = Texts::of(language);
        let attributes = [
            ("prefix", self.prefix.as_str()),
            ("solver", &self.asset("solver")),
            ("token", &puzzle.token),
            ("seed", &puzzle.seed),
            ("bits", &puzzle.bits.to_string()),
            ("working", texts.working),
            ("left", texts.left),
            ("done", texts.done),
            ("repeated", texts.repeated),
            ("cookies", texts.no_cookies),
            ("failed", texts.failed),
        ];
        let attributes: String = attributes
            .iter()
            .map(|(name, value)| format!(" data-{name}=\"{}\"", escape(value)))
            .collect();
        let (without, instead) = match wait {
            Some(seconds) => (
                format!(
                    "<p><strong>{}</strong></p>\n{}",
                    escape(texts.question_why),
                    self.form(
                        texts,
                        (&puzzle.token, puzzle.question),
                        &texts.question_hint.replace("{n}", &plural(seconds)),
                        ""
                    )
                ),
                format!(
                    "<form id=\"instead\" method=\"post\" action=\"{}question\" hidden><input type=\"hidden\" name=\"token\">\
                     <button name=\"other\" value=\"1\" class=\"quiet\">{}</button></form>\n",
                    escape(&self.prefix),
                    escape(texts.question_instead)
                ),
            ),
            None => (
                format!("<p><strong>{}</strong></p>", escape(texts.noscript)),
                String::new(),
            ),
        };
        let body = format!(
            "<main id=\"cattlegrid\"{attributes}>\n<h1>{title}</h1>\n<p>{why} <span id=\"calm\">{calm}</span></p>\n\
             <noscript>{without}</noscript>\n\
             <p id=\"status\" role=\"status\" aria-live=\"polite\"></p>\n\
             <progress id=\"progress\" max=\"16\" value=\"0\" aria-label=\"{progress}\" hidden></progress>\n\
             <p id=\"left\"></p>\n<button id=\"again\" type=\"button\" hidden>{again}</button>\n{instead}{foot}{trap}</main>\n\
             <script src=\"{script}\" defer></script>",
            title = escape(texts.challenge_title),
            why = escape(texts.challenge_why),
            calm = escape(texts.challenge_calm),
            progress = escape(texts.progress),
            again = escape(texts.again),
            foot = self.foot(texts, ""),
            script = escape(&self.asset("challenge")),
        );
        self.page(403, language, texts.challenge_title, &body)
    }

    /// The page with a question alone, after an answer that did not count. An answer counts in so many seconds.
    pub fn question(
        &self,
        language: Language,
        (token, question): (&str, Question),
        wait: u32,
        note: Note,
    ) -> Page {
        let texts = Texts::of(language);
        let said = match note {
            Note::None => String::new(),
            Note::Wrong => texts.question_wrong.to_owned(),
            Note::Early => texts.question_early.replace("{n}", &plural(wait)),
            Note::New => texts.question_new.to_owned(),
        };
        let hint = texts.question_hint.replace("{n}", &plural(wait));
        let form = self.form(texts, (token, question), &hint, &said);
        let page = self.asking(language, (note, &said), texts.question_why, &form);
        match note {
            Note::Early => Page {
                status: 429,
                ..page
            }
            .with("retry-after", wait.to_string()),
            _ => page,
        }
    }

    /// The page with a question for a signed-in person who is a suspect. There are so many seconds to answer.
    pub fn suspect(
        &self,
        language: Language,
        (token, question): (&str, Question),
        seconds: u32,
        note: Note,
    ) -> Page {
        let texts = Texts::of(language);
        let said = match note {
            Note::None | Note::Early => "",
            Note::Wrong => texts.question_wrong,
            Note::New => texts.question_new,
        };
        let hint = texts.suspect_hint.replace("{n}", &plural(seconds));
        let form = self.form(texts, (token, question), &hint, said);
        self.asking(language, (note, said), texts.suspect_why, &form)
    }

    /// A page that asks a question.
    fn asking(
        &self,
        language: Language,
        (note, said): (Note, &str),
        why: &str,
        form: &str,
    ) -> Page {
        let texts = Texts::of(language);
        let body = format!(
            "<main>\n<h1>{}</h1>\n<p>{}</p>\n{form}{}</main>",
            escape(texts.question_title),
            escape(why),
            self.foot(texts, "")
        );
        // A screen reader reads the title first.
        let title = match note {
            Note::Wrong | Note::Early => format!("{said} {}", texts.question_title),
            Note::None | Note::New => texts.question_title.to_owned(),
        };
        self.page(403, language, &title, &body)
    }

    /// The page for a browser that came with an answer and without the cookie that it was given.
    pub fn cookies_needed(&self, language: Language, return_to: &str) -> Page {
        let texts = Texts::of(language);
        let body = format!(
            "<main>\n<h1>{}</h1>\n<p>{}</p>\n<p>{}</p>\n<p><a href=\"{}\">{}</a></p>\n{}</main>",
            escape(texts.cookies_title),
            escape(texts.no_cookies),
            escape(texts.cookies_cure),
            escape(return_to),
            escape(texts.again),
            self.foot(texts, "")
        );
        self.page(403, language, texts.cookies_title, &body)
    }

    /// Leads to the page first asked for. The clearance's cookie goes along.
    pub fn led_back(&self, return_to: &str) -> Page {
        let mut headers = headers("text/plain; charset=utf-8");
        headers.push(("location", return_to.to_owned().into()));
        Page {
            status: 303,
            headers,
            body: "".into(),
        }
    }

    /// The form for an answer, with what is said about the last one.
    fn form(
        &self,
        texts: &Texts,
        (token, question): (&str, Question),
        hint: &str,
        said: &str,
    ) -> String {
        let (alert, state) = match said {
            "" => (String::new(), ""),
            _ => (
                format!("<p id=\"note\" role=\"alert\">{}</p>\n", escape(said)),
                " autofocus",
            ),
        };
        let described = match said {
            "" => "hint",
            _ => "note hint",
        };
        format!(
            "<form method=\"post\" action=\"{action}question\">\n{alert}\
             <input type=\"hidden\" name=\"token\" value=\"{token}\">\n\
             <p><label for=\"answer\">{question}</label></p>\n\
             <p><input id=\"answer\" name=\"answer\" inputmode=\"numeric\" autocomplete=\"off\" maxlength=\"16\" required aria-describedby=\"{described}\"{state}></p>\n\
             <p id=\"hint\">{hint}</p>\n\
             <p><button>{send}</button> <button name=\"other\" value=\"1\" class=\"quiet\" formnovalidate>{other}</button></p>\n</form>\n",
            action = escape(&self.prefix),
            token = escape(token),
            question = escape(&question.text(texts)),
            hint = escape(hint),
            send = escape(texts.question_send),
            other = escape(texts.question_other),
        )
    }

    /// For a request that is no page load and would have met a challenge: nobody can solve one there.
    pub fn challenge_needed(&self) -> Page {
        let message = "Open a page of this site in a browser first, then repeat the request with its cookies.";
        json_page(
            403,
            json!({ "error": "challenge_needed", "message": message, "contact": self.contact }),
        )
    }

    /// The link of a trap, for the pages of contained visitors. Browsers do not display it, screen readers do not read it and no key reaches
    /// it; text browsers that show it all the same show what it says.
    pub fn trap_link(&self, language: Language, token: &str) -> String {
        format!(
            "<a href=\"{}{}{}\" rel=\"nofollow\" hidden inert aria-hidden=\"true\" tabindex=\"-1\">{}</a>\n",
            escape(&self.prefix),
            trap::FOLDER,
            escape(token),
            escape(Texts::of(language).trap_link)
        )
    }

    /// The page for those who are turned away, with the number under which the reasons are kept, with the way to a harder challenge
    /// where that helps, and with the link of a trap, where there is one.
    pub fn block(
        &self,
        reader: Reader,
        by: BlockedBy,
        incident: &str,
        way_back: Option<&Puzzle>,
        trap: &str,
    ) -> Page {
        let Reader::Person(language) = reader else {
            return json_page(
                403,
                json!({ "error": "blocked", "incident": incident, "contact": self.contact }),
            );
        };
        let texts = Texts::of(language);
        let way_back = way_back.map_or_else(String::new, |puzzle| {
            format!(
                "<form method=\"post\" action=\"{}back\"><input type=\"hidden\" name=\"token\" value=\"{}\"><p><button>{}</button></p></form>\n",
                escape(&self.prefix),
                escape(&puzzle.token),
                escape(texts.block_back)
            )
        });
        let (why, cure) = match by {
            BlockedBy::Traffic => (texts.block_why, texts.block_cure),
            BlockedBy::Owner => (texts.rule_why, texts.rule_cure),
        };
        let body = format!(
            "<main>\n<h1>{}</h1>\n<p>{}</p>\n<p>{}</p>\n{way_back}{}{trap}</main>",
            escape(texts.block_title),
            escape(why),
            escape(cure),
            self.foot(texts, incident)
        );
        self.page(403, language, texts.block_title, &body)
    }

    /// The page for those who must wait.
    pub fn throttle(&self, reader: Reader, seconds: u32, incident: &str) -> Page {
        let page = match reader {
            Reader::Program => json_page(
                429,
                json!({ "error": "too_many_requests", "retry_after": seconds, "incident": incident }),
            ),
            Reader::Person(language) => {
                let texts = Texts::of(language);
                let cure = texts.throttle_cure.replace("{n}", &seconds.to_string());
                self.notice(
                    429,
                    language,
                    [texts.throttle_title, texts.throttle_why, &cure],
                    incident,
                )
            }
        };
        page.with("retry-after", seconds.to_string())
    }

    /// The page for when the site behind the gate does not answer.
    pub fn upstream_failed(&self, reader: Reader, upstream: Upstream, incident: &str) -> Page {
        let (status, error) = match upstream {
            Upstream::Unreachable => (502, "upstream_unreachable"),
            Upstream::Late => (504, "upstream_late"),
        };
        let Reader::Person(language) = reader else {
            return json_page(status, json!({ "error": error, "incident": incident }));
        };
        let texts = Texts::of(language);
        let why = match upstream {
            Upstream::Unreachable => texts.upstream_unreachable,
            Upstream::Late => texts.upstream_late,
        };
        self.notice(
            status,
            language,
            [texts.upstream_title, why, texts.upstream_cure],
            incident,
        )
    }

    /// A new challenge for a page whose answer was refused. Its cookie, if it has one, goes along.
    pub fn puzzle(&self, puzzle: &Puzzle) -> Page {
        json_page(
            200,
            json!({ "token": puzzle.token, "seed": puzzle.seed, "bits": puzzle.bits }),
        )
    }

    /// Tells the challenge page where to go. The clearance's cookie goes along.
    pub fn solved(&self, solved: &Solved) -> Page {
        json_page(200, json!({ "ok": true, "return": solved.return_to }))
    }

    /// Instead of a new challenge, for a page whose browser has solved one in another tab.
    pub fn cleared(&self, return_to: &str) -> Page {
        json_page(200, json!({ "cleared": true, "return": return_to }))
    }

    /// Tells the challenge page that its answer was refused.
    pub fn refused(&self, refusal: Refusal) -> Page {
        json_page(403, json!({ "ok": false, "refused": refusal.name() }))
    }

    /// A page with a title, two sentences and perhaps a number.
    fn notice(
        &self,
        status: u16,
        language: Language,
        [title, why, cure]: [&str; 3],
        incident: &str,
    ) -> Page {
        let body = format!(
            "<main>\n<h1>{}</h1>\n<p>{}</p>\n<p>{}</p>\n{}</main>",
            escape(title),
            escape(why),
            escape(cure),
            self.foot(Texts::of(language), incident)
        );
        self.page(status, language, title, &body)
    }

    fn foot(&self, texts: &Texts, incident: &str) -> String {
        let number = match incident {
            "" => String::new(),
            _ => format!(
                "<p>{}:<br><span class=\"number\">{}</span></p>\n",
                escape(texts.incident),
                escape(incident)
            ),
        };
        let contact = self.contact.trim();
        let address = escape(contact);
        let is_one_word = !contact.is_empty() && !contact.contains(char::is_whitespace);
        let link = match contact {
            "" => String::new(),
            _ if is_one_word && contact.starts_with("https://") => {
                format!(" <a href=\"{address}\">{address}</a>")
            }
            _ if is_one_word && contact.contains('@') => {
                format!(" <a href=\"mailto:{address}\">{address}</a>")
            }
            _ => format!(" {address}"),
        };
        let words = if contact.is_empty() {
            texts.no_contact
        } else {
            texts.contact
        };
        format!("{number}<footer>{}{link}</footer>\n", escape(words))
    }

    fn page(&self, status: u16, language: Language, title: &str, body: &str) -> Page {
        let code = language.code();
        let (title, style) = (escape(title), escape(&self.asset("style")));
        let body = match &self.template {
            Some(template) => template.fill(&Filling {
                lang: code,
                title: &title,
                style: &style,
                content: body,
            }),
            None => format!(
                "<!doctype html>\n<html lang=\"{code}\">\n<head>\n<meta charset=\"utf-8\">\n\
                 <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
                 <meta name=\"robots\" content=\"noindex\">\n<title>{title}</title>\n\
                 <link rel=\"stylesheet\" href=\"{style}\">\n</head>\n<body>\n{body}\n</body>\n</html>\n"
            ),
        };
        let mut headers = headers("text/html; charset=utf-8");
        headers.push(("content-language", code.into()));
        headers.push(("content-security-policy", POLICY.into()));
        Page {
            status,
            headers,
            body: body.into(),
        }
    }

    fn asset(&self, stem: &str) -> String {
        format!("{}{}", self.prefix, assets::name(stem))
    }
}

/// Seconds as a text names them: two at least, because one has another form in many languages.
fn plural(seconds: u32) -> String {
    seconds.max(2).to_string()
}

fn json_page(status: u16, value: Value) -> Page {
    Page {
        status,
        headers: headers("application/json"),
        body: format!("{value}\n").into(),
    }
}

/// What every answer of ours carries. `vary: *` holds off the caches that are told to overlook `cache-control`.
fn headers(content_type: &'static str) -> Vec<(&'static str, Cow<'static, str>)> {
    [
        ("content-type", content_type),
        ("cache-control", "no-store"),
        ("vary", "*"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "same-origin"),
        ("x-robots-tag", "noindex"),
    ]
    .map(|(name, value)| (name, Cow::Borrowed(value)))
    .to_vec()
}

/// A text as part of a page, in an element or a quoted attribute. Characters that turn or hide text are replaced.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '`' => safe.push_str("&#96;"),
            '\n' => safe.push('\n'),
            '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}' => {
                safe.push('\u{fffd}');
            }
            _ if character.is_control() => safe.push('\u{fffd}'),
            _ => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests;
