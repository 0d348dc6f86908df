//! One way in which lines are written, and how well it fits a line.

use super::Skip;
use super::clean::Clean;
use super::columns::Columns;
use super::fields::Scratch;
use super::json::JsonFormat;
use super::pattern::Pattern;
use crate::request::Request;

/// A way to write lines.
#[derive(Debug, Clone)]
pub(super) enum Layout {
    /// A named format: clean lines have a short way.
    Named(Clean, Pattern),
    Text(Pattern),
    Json(JsonFormat),
    Columns(Columns),
}

impl Layout {
    pub(super) fn read<'a>(
        &self,
        line: &'a [u8],
        scratch: &'a mut Scratch,
    ) -> Result<Request<'a>, Skip> {
        match self {
            Layout::Named(_, pattern) | Layout::Text(pattern) => pattern.read(line, scratch),
            Layout::Json(json) => json.read(line, scratch),
            Layout::Columns(columns) => columns.read(line, scratch),
        }
    }

    /// How well the layout fits a line: a client that is an address is better than a name, which may be the host's;
    /// anything is better than a line that is not read.
    pub(super) fn fit(&self, line: &[u8], scratch: &mut Scratch) -> usize {
        match self.read(line, scratch) {
            Ok(request) => 1 + usize::from(request.client.address().is_some()),
            // The line has the shape; a value in it is missing.
            Err(Skip::NoRequest | Skip::NotHttp | Skip::NoSource | Skip::BadStatus) => 1,
            Err(_) => 0,
        }
    }

    /// The layout that fits a line best; of equals the first.
    pub(super) fn best<'l>(
        layouts: &'l [Layout],
        line: &[u8],
        scratch: &mut Scratch,
    ) -> &'l Layout {
        let mut best = (&layouts[0], 0);
        for layout in layouts {
            let fit = layout.fit(line, scratch);
            if fit > best.1 {
                best = (layout, fit);
            }
        }
        best.0
    }
}
