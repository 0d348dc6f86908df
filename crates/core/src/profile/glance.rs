//! The little of a request that a second look needs.

use super::recorder::Recorder;
use super::recorder::is_shown;
use super::resource::Resource;
use super::target::Target;
use crate::request::Client;
use crate::request::Request;
use crate::request::Source;
use crate::request::SourceKind;

/// What a request asks for, and who sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glance {
    /// Who sent it.
    pub source: Source,
    /// A page was asked for.
    pub is_page: bool,
    /// The page was sent: no redirect, and no error.
    pub is_shown: bool,
    /// A part of a page was asked for: a style sheet, script, image, font or icon.
    pub is_asset: bool,
}

impl Recorder {
    /// The little of a record that a second look needs: most of the work of one is hashing texts.
    #[inline]
    pub fn glance(&self, request: &Request<'_>) -> Glance {
        let source = request.client.address().unwrap_or_else(|| {
            let Client::Written(text) = request.client else {
                unreachable!("an address was read")
            };
            Source {
                kind: SourceKind::Token,
                value: self.hash(text),
            }
        });
        let resource = match request.is_trap {
            true => Resource::Robots,
            false => Resource::of(&Target::of(request.target)),
        };
        let is_page = resource.is_page(request.method);
        Glance {
            source,
            is_page,
            is_shown: is_page && is_shown(request.status),
            is_asset: matches!(
                resource,
                Resource::Image | Resource::Asset | Resource::Font | Resource::Icon
            ),
        }
    }
}
