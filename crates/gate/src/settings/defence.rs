//! Defences that tests can switch off, to see that the test of each fails without it. In a release build all are always on.

/// What can be switched off in tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Defence {
    /// Lengths and encodings of a body that can be read in two ways are refused.
    Framing,
    /// Exactly one sound host is wanted.
    Host,
    /// Headers that only a proxy of ours may set are taken out.
    SpoofedHeaders,
    /// A client's list of connection headers is applied before ours are set.
    HopByHop,
    /// Paths are compared in every spelling that a site may read.
    Spellings,
    /// The time to send a head is limited.
    HeaderTime,
    /// Streams that a client resets are limited.
    Resets,
    /// The head of a request is limited.
    HeadSize,
    /// Only trusted proxies may name a client's address.
    Trust,
    /// An answer must bring the browser's own cookie.
    AskCookie,
    /// The work in an answer is checked.
    Work,
    /// An answer counts once.
    Spent,
    /// Pages of a clearance are counted.
    Budget,
    /// A panic becomes a challenge.
    Panic,
    /// A websocket is decided about like a page.
    Upgrade,
    /// Each value of a header is compared for itself.
    EachValue,
    /// A return address must lie on the same site.
    ReturnTo,
    /// The gate's own answers are never kept by caches.
    NoStore,
    /// What is missing in a question of a server is refused.
    Missing,
    /// Accepting pauses when there are no more files.
    AcceptPause,
    /// Names of hosts are compared in one spelling.
    HostSpelling,
    /// A clearance belongs to a browser and a site.
    ClearanceBinding,
    /// Bodies that end too early are passed on as broken.
    BrokenBody,
    /// Only what the gate signed is read from a challenge.
    Signature,
    /// A challenge from before a restart is void.
    Restart,
    /// A challenge is good for some minutes.
    Expiry,
    /// A clearance ends.
    ClearanceExpiry,
    /// Who reads an answer is looked at: no page comes where a program asks.
    Reader,
    /// What turns out to be a page counts as one.
    PagesByAnswer,
    /// Every clearance has a budget of its own.
    OwnBudget,
    /// Our cookies have the names and attributes that protect them.
    CookieAttributes,
    /// Challenges that nobody answers leave nothing behind.
    Stateless,
    /// An answer is judged without doing its work again.
    CheapAnswers,
    /// The signing key is shown nowhere.
    SecretKey,
    /// The gate's time does not leap with the wall clock.
    SteadyClock,
    /// The answer to a question counts after a wait.
    QuestionWait,
    /// Answers of a source and of its network to questions count one after the other.
    QuestionTurns,
    /// A trap counts for those alone to whom its link was shown.
    TrapBinding,
    /// A trap that a foreign page or a prefetch has led to does not count.
    TrapLed,
    /// Traps are not shown to robots by name.
    TrapNames,
    /// A token or session must prove who is signed in.
    SignIn,
    /// Questions to sites about sessions are limited by source.
    SignInAsks,
    /// A robot's name must lead back to its address.
    ForwardDns,
    /// Names of robots are compared by whole labels.
    WholeLabels,
    /// Lookups of names are limited: so many at once, and not again soon after a failure.
    Lookups,
    /// An answer counts in a form that is sent, never in an address.
    PostOnly,
    /// Solutions of a source and of its network are counted.
    SolvedCounts,
    /// Work that another address was asked for buys little where more is due.
    WorkOwed,
    /// Markers are removed from requests.
    Unmark,
    /// Pages with markers are private to caches.
    MarkedPrivate,
    /// Pages that get markers are asked for whole.
    MarkedWhole,
    /// Lengths, digests and strong validators of pages that get markers are dropped.
    MarkedValidators,
    /// Compressed pages are unpacked a little at a time.
    MarkedBounded,
    /// Signed-in people whose paths look like a crawler's are challenged.
    UserPaths,
    /// Work does not make a suspect a normal user again.
    PersonalAnswer,
}

#[cfg(debug_assertions)]
const NAMES: [(&str, Defence); 55] = [
    ("framing", Defence::Framing),
    ("host", Defence::Host),
    ("spoofed_headers", Defence::SpoofedHeaders),
    ("hop_by_hop", Defence::HopByHop),
    ("spellings", Defence::Spellings),
    ("header_time", Defence::HeaderTime),
    ("resets", Defence::Resets),
    ("head_size", Defence::HeadSize),
    ("trust", Defence::Trust),
    ("ask_cookie", Defence::AskCookie),
    ("work", Defence::Work),
    ("spent", Defence::Spent),
    ("budget", Defence::Budget),
    ("panic", Defence::Panic),
    ("upgrade", Defence::Upgrade),
    ("each_value", Defence::EachValue),
    ("return_to", Defence::ReturnTo),
    ("no_store", Defence::NoStore),
    ("missing", Defence::Missing),
    ("accept_pause", Defence::AcceptPause),
    ("host_spelling", Defence::HostSpelling),
    ("clearance_binding", Defence::ClearanceBinding),
    ("broken_body", Defence::BrokenBody),
    ("signature", Defence::Signature),
    ("restart", Defence::Restart),
    ("expiry", Defence::Expiry),
    ("clearance_expiry", Defence::ClearanceExpiry),
    ("reader", Defence::Reader),
    ("pages_by_answer", Defence::PagesByAnswer),
    ("own_budget", Defence::OwnBudget),
    ("cookie_attributes", Defence::CookieAttributes),
    ("stateless", Defence::Stateless),
    ("cheap_answers", Defence::CheapAnswers),
    ("secret_key", Defence::SecretKey),
    ("steady_clock", Defence::SteadyClock),
    ("question_wait", Defence::QuestionWait),
    ("question_turns", Defence::QuestionTurns),
    ("trap_binding", Defence::TrapBinding),
    ("trap_led", Defence::TrapLed),
    ("trap_names", Defence::TrapNames),
    ("sign_in", Defence::SignIn),
    ("sign_in_asks", Defence::SignInAsks),
    ("forward_dns", Defence::ForwardDns),
    ("whole_labels", Defence::WholeLabels),
    ("lookups", Defence::Lookups),
    ("post_only", Defence::PostOnly),
    ("solved_counts", Defence::SolvedCounts),
    ("work_owed", Defence::WorkOwed),
    ("unmark", Defence::Unmark),
    ("marked_private", Defence::MarkedPrivate),
    ("marked_whole", Defence::MarkedWhole),
    ("marked_validators", Defence::MarkedValidators),
    ("marked_bounded", Defence::MarkedBounded),
    ("user_paths", Defence::UserPaths),
    ("personal_answer", Defence::PersonalAnswer),
];

/// Which defences are on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Defences {
    #[cfg(debug_assertions)]
    off: u64,
}

impl Defences {
    /// All but those named. A release build knows no way to switch one off.
    #[cfg(debug_assertions)]
    pub fn without(names: &[String]) -> Result<Defences, String> {
        let mut off = 0;
        for name in names {
            let (_, defence) = NAMES
                .iter()
                .find(|(known, _)| known == name)
                .ok_or_else(|| format!("there is no defence '{name}'"))?;
            off |= 1_u64 << *defence as u32;
        }
        Ok(Defences { off })
    }

    /// All: a release build knows no way to switch one off.
    #[cfg(not(debug_assertions))]
    pub fn without(names: &[String]) -> Result<Defences, String> {
        match names {
            [] => Ok(Defences::default()),
            _ => Err("'without' is for tests alone: remove it".to_owned()),
        }
    }

    /// True where none was switched off.
    #[cfg(debug_assertions)]
    pub fn are_all_on(&self) -> bool {
        self.off == 0
    }

    /// True where none was switched off.
    #[cfg(not(debug_assertions))]
    pub fn are_all_on(&self) -> bool {
        true
    }

    /// True where a defence is on.
    #[cfg(debug_assertions)]
    pub fn has(&self, defence: Defence) -> bool {
        self.off & (1 << defence as u32) == 0
    }

    /// True: all defences are on.
    #[cfg(not(debug_assertions))]
    #[inline(always)]
    pub fn has(&self, _: Defence) -> bool {
        true
    }
}
