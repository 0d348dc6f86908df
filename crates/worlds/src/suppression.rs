//! What sealed links cost a distributed crawler: the simulation behind Figures 4 and 5 of the PathMarker paper.
//!
//! A sealed link hides where it leads, and counts only for the worker that found it. So workers cannot share out a site: each begins at the
//! home page, follows links that it has found itself, in no order, and sees only when it has a page whether anybody has it already.

use crate::random::Random;

/// The site of the paper.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Its pages.
    pub pages: u32,
    /// Links on each page.
    pub links: u32,
    /// Those of them that are the same on every page.
    pub fixed: u32,
    /// The other links lead to page n with the density of a normal distribution around the first page, with this deviation.
    pub deviation: f64,
}

impl Plan {
    /// As the paper has it.
    pub const PAPER: Plan = Plan {
        pages: 10_000,
        links: 100,
        fixed: 20,
        deviation: 3333.0,
    };
}

/// Pages that every page links to. The first page of the site is its home page.
#[derive(Debug)]
pub struct Site {
    plan: Plan,
    fixed: Vec<u32>,
}

impl Site {
    /// Draws the links that are the same on every page.
    pub fn new(plan: Plan, random: &mut Random) -> Site {
        let fixed = (0..plan.fixed).map(|_| draw(&plan, random)).collect();
        Site { plan, fixed }
    }

    /// The links of a page that is downloaded now.
    pub fn links(&self, random: &mut Random) -> Vec<u32> {
        let others = self.plan.fixed..self.plan.links;
        let drawn = others.map(|_| draw(&self.plan, random));
        self.fixed.iter().copied().chain(drawn).collect()
    }

    /// Where a link leads that was picked among all that a worker has found. As in the paper, the links of a page are drawn whenever it is
    /// downloaded: which of them it is does not matter then.
    fn follow(&self, random: &mut Random) -> u32 {
        match self
            .fixed
            .get(random.below(u64::from(self.plan.links)) as usize)
        {
            Some(page) => *page,
            None => draw(&self.plan, random),
        }
    }
}

/// Downloads after which a crawler gives up, in multiples of the site's pages: no link leads to some of them.
const DOWNLOADS_MAX: u64 = 1000;

/// A page that a link leads to.
fn draw(plan: &Plan, random: &mut Random) -> u32 {
    loop {
        let page = (random.normal().abs() * plan.deviation) as u32;
        if page < plan.pages {
            return page;
        }
    }
}

/// What a crawler has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// Pages that it has downloaded, each as often as it did.
    pub downloads: u64,
    /// Different ones among them.
    pub pages: u32,
}

/// A crawler of several workers, which take turns.
#[derive(Debug)]
pub struct Crawler<'a> {
    site: &'a Site,
    workers: u64,
    known: Vec<bool>,
    done: Done,
}

impl<'a> Crawler<'a> {
    /// Workers that have seen nothing but the address of the home page.
    pub fn new(site: &'a Site, workers: u32) -> Crawler<'a> {
        Crawler {
            site,
            workers: u64::from(workers),
            known: vec![false; site.plan.pages as usize],
            done: Done::default(),
        }
    }

    /// Downloads until it has so many different pages. Gives what that took in all; less where too few pages can be reached.
    pub fn crawl(&mut self, pages: u32, random: &mut Random) -> Done {
        let most = DOWNLOADS_MAX * u64::from(self.site.plan.pages);
        while self.done.pages < pages && self.done.downloads < most {
            // Each worker must find its links itself, and has none before it has seen the home page.
            let page = match self.done.downloads < self.workers {
                true => 0,
                false => self.site.follow(random),
            };
            self.done.downloads += 1;
            let is_known = std::mem::replace(&mut self.known[page as usize], true);
            self.done.pages += u32::from(!is_known);
        }
        self.done
    }
}

/// Figures 4 and 5.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// Runs behind each point, each on a site of its own.
    pub runs: u32,
    /// For each number of workers, the share of downloads that brought a page nobody had, up to the first hundred such pages.
    pub efficiency: Vec<(u32, f64)>,
    /// For each share of the site, what ten workers download for it, in multiples of its pages.
    pub work: Vec<(f64, f64)>,
}

/// New pages after which efficiency is measured.
const FIRST_PAGES: u32 = 100;
/// Workers of Figure 5.
pub const WORKERS: u32 = 10;

impl Figures {
    /// Lets crawlers run on so many sites.
    pub fn new(plan: Plan, seed: u64, runs: u32) -> Figures {
        let workers = [1, 2, 5].into_iter().chain((10..=100).step_by(10));
        let mut efficiency: Vec<(u32, f64)> = workers.map(|workers| (workers, 0.0)).collect();
        let shares = (1..=19).map(|step| f64::from(step) / 20.0);
        let mut work: Vec<(f64, f64)> = shares.map(|share| (share, 0.0)).collect();
        for run in 0..runs {
            let random = &mut Random::new(seed, u64::from(run));
            let site = Site::new(plan, random);
            for (workers, sum) in &mut efficiency {
                let done = Crawler::new(&site, *workers).crawl(FIRST_PAGES, random);
                *sum += f64::from(done.pages) / done.downloads as f64 / f64::from(runs);
            }
            let mut crawler = Crawler::new(&site, WORKERS);
            for (share, sum) in &mut work {
                let done = crawler.crawl((*share * f64::from(plan.pages)) as u32, random);
                *sum += done.downloads as f64 / f64::from(done.pages) / f64::from(runs);
            }
        }
        Figures {
            runs,
            efficiency,
            work,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper: 8.2 % of one worker's downloads are duplicates; half the site takes 143 % more than its pages, 95 % of it 2,781 % more.
    #[test]
    fn the_papers_points_come_out() {
        let figures = Figures::new(Plan::PAPER, 1, 3);
        let (_, one) = figures.efficiency[0];
        let (_, hundred) = *figures.efficiency.last().unwrap();
        assert!((0.88..=0.95).contains(&one), "{one}");
        assert!(hundred < 0.5, "{hundred}");
        let (share, half) = figures.work[9];
        assert!(share == 0.5 && (2.2..=2.7).contains(&half), "{half}");
        let (_, nearly_all) = *figures.work.last().unwrap();
        assert!((27.0..=36.0).contains(&nearly_all), "{nearly_all}");
    }
}
