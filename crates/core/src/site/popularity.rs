//! Which pages people look at: how many visitors each page has, by hash.

use super::Cells;
use crate::profile::Distinct;

/// Cells that count visitors of pages by hash.
const CELLS: usize = 1024;
/// Visitors from which their favourites are the site's.
const VISITORS_MIN: u32 = 20;
/// What a page counts that no visitor looked at: somebody will.
const UNSEEN: f64 = 0.5;

/// Visitors of pages. A visitor of many pages, of whom only a sketch is kept, is left out.
#[derive(Debug, Clone, Default)]
pub(super) struct Popularity {
    visitors: u32,
    pages: Cells<u32, CELLS>,
}

impl Popularity {
    /// Takes in the pages of one visitor, each once.
    pub(super) fn observe(&mut self, pages: &Distinct) {
        let Some(few) = pages.few() else {
            return;
        };
        self.visitors += 1;
        for page in few {
            *self.pages.get_mut(*page as usize % CELLS) += 1;
        }
    }

    pub(super) fn absorb(&mut self, other: &Popularity) {
        self.visitors += other.visitors;
        let pages = &mut self.pages;
        (other.pages).for_each(|at, visitors| *pages.get_mut(at) += visitors);
    }

    /// Different pages of a site with `pages` that so many requests reach, each for a page drawn by its visitors.
    pub(super) fn expected(&self, requests: u32, pages: u64) -> Option<f64> {
        if self.visitors < VISITORS_MIN {
            return None;
        }
        // Pages that share a cell share its visitors evenly. In truth one of them has most, so that a little more is expected than is right.
        let shared = (pages as f64 / CELLS as f64).max(1.0);
        let mut seen = Vec::new();
        self.pages.for_each(|_, visitors| {
            if *visitors > 0 {
                seen.push(f64::from(*visitors));
            }
        });
        let unseen = (pages as f64 / shared - seen.len() as f64).max(0.0);
        let all: f64 = seen.iter().sum::<f64>() + unseen * UNSEEN;
        let reached = |visitors: f64| {
            let share = visitors / all / shared;
            shared * (1.0 - (-f64::from(requests) * share).exp())
        };
        Some(seen.into_iter().map(reached).sum::<f64>() + unseen * reached(UNSEEN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn favourites_are_reached_again_and_again() {
        let mut even = Popularity::default();
        let mut favourites = Popularity::default();
        for visitor in 0..1000_u32 {
            let pages = |of: &[u32]| {
                let mut pages = Distinct::default();
                of.iter().for_each(|page| pages.insert(*page));
                pages
            };
            even.observe(&pages(&[visitor]));
            favourites.observe(&pages(&[visitor % 10, visitor]));
        }
        // A thousand draws of a thousand pages reach 1 - 1/e of them.
        let reached = even.expected(1000, 1000).unwrap();
        assert!((reached - 632.0).abs() < 2.0, "{reached}");
        let fewer = favourites.expected(1000, 1000).unwrap();
        assert!((fewer - 400.0).abs() < 10.0, "{fewer}");
        assert_eq!(Popularity::default().expected(1000, 1000), None);
    }
}
