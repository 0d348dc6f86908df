//! Whether a robot is who it says: what its name claims, what its address proves, and what was found out about it off the request path.

use cattlegrid_core::policy::Looked;
use cattlegrid_core::policy::Named;
use cattlegrid_core::policy::Proof;
use cattlegrid_core::policy::Treatment;
use cattlegrid_core::profile::Content;
use cattlegrid_core::request::Source;

use super::Facts;
use super::signature::Signed;
use crate::challenge::Clearance;
use crate::settings::Resolver;
use crate::state::Gate;
use crate::state::Live;

/// A robot's claim, as the policy takes it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub(super) proof: Proof,
    /// What its request counts as.
    pub(super) content: Content,
}

/// What the owner wants for an agent that has signed.
fn of_signer(live: &Live, number: usize) -> Proof {
    let setup = &live.setup.crawlers;
    match setup.signed[number].treatment {
        Treatment::Allow => Proof::Proven {
            // Robots of the list have smaller numbers.
            crawler: (1 << 32) + number as u64,
            pages: setup.wishes.pages,
        },
        Treatment::Visitor => Proof::None,
        treatment => Proof::Declared(treatment),
    }
}

impl Gate {
    /// Looks at the name that a request gives itself.
    pub(super) fn claim(
        &self,
        live: &Live,
        facts: &Facts<'_>,
        (source, clearance): (Source, Option<&Clearance>),
        time: u32,
    ) -> Claim {
        let asked = facts.content();
        let plain = |proof| Claim {
            proof,
            content: asked,
        };
        match self.signed(live, facts, source, time) {
            Signed::Valid(number) => return plain(of_signer(live, number)),
            Signed::Invalid => return plain(Proof::Disproved),
            Signed::Absent | Signed::Unknown => {}
        }
        match live.crawlers.named(facts.agent()) {
            None => plain(Proof::None),
            Some(Named::Robot(number)) => {
                let looked = self.looked(live, facts, number, source, time);
                plain(live.crawlers.proof(number, source, time, looked))
            }
            Some(Named::Tool) => Claim {
                proof: Proof::Declared(Treatment::Limit),
                // What package managers and git ask for has no ending. Where the response shows, one that is a page counts as one. They earn no
                // clearances: whoever has one is to keep its pace.
                content: match asked {
                    Content::Page if facts.shows_response() && clearance.is_none() => {
                        Content::Document
                    }
                    asked => asked,
                },
            },
        }
    }

    /// What name servers have said about the address of a robot. What is not known is asked for; nobody waits for it.
    fn looked(
        &self,
        live: &Live,
        facts: &Facts<'_>,
        number: u16,
        source: Source,
        time: u32,
    ) -> Looked {
        let domains = live.crawlers.domains(number, source, time);
        match facts.client {
            Some(client)
                if !domains.is_empty() && live.setup.crawlers.resolver != Resolver::Off =>
            {
                self.names.look(client, domains, time)
            }
            _ => Looked::Unknown,
        }
    }
}
