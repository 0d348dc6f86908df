//! The forum's pages and the links on them, in the order in which they stand there.

use crate::random::Random;

/// A page by what it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Page {
    /// All boards.
    Index,
    /// A page of a board's list of threads.
    Board(u32, u32),
    /// A page of a thread.
    Thread(u32, u32),
    Profile(u32),
    /// Threads with new posts.
    News(u32),
    /// The form for a search.
    Search,
    /// A page of results.
    Results(u32, u32),
    /// A page of the list of members.
    Members(u32),
    /// What somebody wrote.
    PostsOf(u32),
    Inbox,
    Message(u32),
    /// The form for a reply to a thread.
    Reply(u32),
    /// What moderators have to look at.
    Queue,
    /// One report in the queue.
    Report(u32),
    Help,
    Rules,
    /// The reader's own settings.
    Settings,
}

impl Page {
    /// Path and query.
    pub(super) fn target(self) -> String {
        match self {
            Page::Index => "/".to_owned(),
            Page::Board(board, 0) => format!("/viewforum.php?f={board}"),
            Page::Board(board, page) => format!("/viewforum.php?f={board}&start={}", 25 * page),
            Page::Thread(thread, 0) => format!("/viewtopic.php?t={thread}"),
            Page::Thread(thread, page) => format!("/viewtopic.php?t={thread}&start={}", 10 * page),
            Page::Profile(member) => format!("/memberlist.php?mode=viewprofile&u={member}"),
            Page::News(0) => "/search.php?search_id=newposts".to_owned(),
            Page::News(page) => format!("/search.php?search_id=newposts&start={}", 25 * page),
            Page::Search => "/search.php".to_owned(),
            Page::Results(query, page) => {
                format!("/search.php?keywords=q{query}&start={}", 25 * page)
            }
            Page::Members(page) => format!("/memberlist.php?start={}", 25 * page),
            Page::PostsOf(member) => format!("/search.php?author_id={member}"),
            Page::Inbox => "/ucp.php?i=pm".to_owned(),
            Page::Message(message) => format!("/ucp.php?i=pm&p={message}"),
            Page::Reply(thread) => format!("/posting.php?mode=reply&t={thread}"),
            Page::Queue => "/mcp.php".to_owned(),
            Page::Report(report) => format!("/mcp.php?r={report}"),
            Page::Help => "/help/faq".to_owned(),
            Page::Rules => "/rules".to_owned(),
            Page::Settings => "/ucp.php".to_owned(),
        }
    }

    /// True for pages with posts.
    pub(super) fn is_thread(self) -> bool {
        matches!(self, Page::Thread(..))
    }

    /// True for lists of threads, which people come back to.
    pub(super) fn is_list(self) -> bool {
        matches!(
            self,
            Page::Board(..)
                | Page::News(_)
                | Page::Results(..)
                | Page::PostsOf(_)
                | Page::Queue
                | Page::Index
        )
    }

    fn number(self) -> u64 {
        let text = self.target();
        text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }
}

/// A forum of a seed.
#[derive(Debug)]
pub(super) struct Site {
    seed: u64,
    boards: u32,
    threads_per_board: u32,
    /// Threads on a page of a list.
    rows: u32,
    /// Posts on a page of a thread.
    posts: u32,
    members: u32,
    /// Mean number of pages of a long thread.
    pages: f64,
}

/// Links at the top of every page.
const MENU: [Page; 8] = [
    Page::Index,
    Page::News(0),
    Page::Search,
    Page::Members(0),
    Page::Inbox,
    Page::Settings,
    Page::Help,
    Page::Rules,
];

impl Site {
    pub(super) fn draw(seed: u64) -> Site {
        let mut random = Random::new(seed, 0xf0);
        Site {
            seed,
            boards: 5 + random.below(16) as u32,
            threads_per_board: 60 + random.below(400) as u32,
            rows: 15 + random.below(21) as u32,
            posts: 8 + random.below(13) as u32,
            members: 150 + random.below(1500) as u32,
            pages: random.between(4.0, 30.0),
        }
    }

    /// Pages of a thread: most have one, some have dozens.
    pub(super) fn pages_of(&self, thread: u32) -> u32 {
        let mut random = self.random(Page::Thread(thread, 0), 1);
        match random.chance(0.55) {
            true => 1,
            false => 1 + random.exponential(self.pages).min(150.0) as u32,
        }
    }

    fn random(&self, page: Page, purpose: u64) -> Random {
        Random::new(self.seed ^ page.number(), 0xf1 + purpose)
    }

    fn board_of(&self, thread: u32) -> u32 {
        thread / self.threads_per_board
    }

    fn threads(&self) -> u32 {
        self.boards * self.threads_per_board
    }

    pub(super) fn any_thread(&self, random: &mut Random) -> u32 {
        random.below(u64::from(self.threads())) as u32
    }

    pub(super) fn any_member(&self, random: &mut Random) -> u32 {
        random.below(u64::from(self.members)) as u32
    }

    /// All links of a page on a day, in their order. New posts are other ones every day.
    pub(super) fn links(&self, page: Page, day: u64) -> Vec<Page> {
        let mut links = MENU.to_vec();
        links.extend(self.content(page, day));
        links
    }

    /// The links of a page without the menu.
    pub(super) fn content(&self, page: Page, day: u64) -> Vec<Page> {
        let mut links = Vec::new();
        let mut random = self.random(page, 2);
        match page {
            Page::Index => self.index(day, &mut links),
            Page::Board(board, at) => self.board(board, at, &mut links),
            Page::Thread(thread, at) => self.thread(&mut random, thread, at, &mut links),
            Page::News(at) => {
                let mut today = self.random(page, 100 + day);
                self.rows_of_threads(&mut today, &mut links);
                links.extend((at < 4).then_some(Page::News(at + 1)));
            }
            Page::Results(query, at) => {
                self.rows_of_threads(&mut random, &mut links);
                links.extend((at < 3).then_some(Page::Results(query, at + 1)));
            }
            Page::PostsOf(_) => self.rows_of_threads(&mut random, &mut links),
            Page::Members(at) => self.members_from(at, &mut links),
            Page::Profile(member) => links.extend([Page::PostsOf(member), Page::Members(0)]),
            Page::Inbox => {
                links.extend((0..12).map(|_| Page::Message(random.below(500) as u32)));
            }
            Page::Message(_) => {
                let sender = self.any_member(&mut random);
                links.extend([Page::Profile(sender), Page::Inbox]);
            }
            Page::Queue => links.extend((0..15).map(|row| Page::Report(15 * day as u32 + row))),
            Page::Report(_) => {
                let thread = self.any_thread(&mut random);
                let member = self.any_member(&mut random);
                links.extend([self.last_of(thread), Page::Profile(member), Page::Queue]);
            }
            Page::Reply(thread) => links.push(Page::Thread(thread, 0)),
            Page::Search | Page::Help | Page::Rules | Page::Settings => {}
        }
        links
    }

    fn last_of(&self, thread: u32) -> Page {
        Page::Thread(thread, self.pages_of(thread) - 1)
    }

    fn index(&self, day: u64, links: &mut Vec<Page>) {
        for board in 0..self.boards {
            let mut today = self.random(Page::Board(board, 0), 200 + day);
            let first = board * self.threads_per_board;
            let thread = first + today.below(u64::from(self.threads_per_board)) as u32;
            let member = self.any_member(&mut today);
            links.extend([
                Page::Board(board, 0),
                self.last_of(thread),
                Page::Profile(member),
            ]);
        }
    }

    fn board(&self, board: u32, at: u32, links: &mut Vec<Page>) {
        let first = board * self.threads_per_board;
        let rows = (at * self.rows)..((at + 1) * self.rows).min(self.threads_per_board);
        for row in rows {
            self.row(first + row, links);
        }
        links.extend(at.checked_sub(1).map(|before| Page::Board(board, before)));
        let is_more = (at + 1) * self.rows < self.threads_per_board;
        links.extend(is_more.then_some(Page::Board(board, at + 1)));
    }

    /// A thread as lists show it: its first page, who began it, its last page, who wrote last.
    fn row(&self, thread: u32, links: &mut Vec<Page>) {
        let mut random = self.random(Page::Thread(thread, 0), 3);
        let (author, last) = (self.any_member(&mut random), self.any_member(&mut random));
        links.extend([Page::Thread(thread, 0), Page::Profile(author)]);
        let pages = self.pages_of(thread);
        links.extend((pages > 1).then_some(Page::Thread(thread, pages - 1)));
        links.push(Page::Profile(last));
    }

    fn rows_of_threads(&self, random: &mut Random, links: &mut Vec<Page>) {
        for _ in 0..self.rows {
            let thread = self.any_thread(random);
            self.row(thread, links);
        }
    }

    fn thread(&self, random: &mut Random, thread: u32, at: u32, links: &mut Vec<Page>) {
        links.push(Page::Board(self.board_of(thread), 0));
        links.push(Page::Reply(thread));
        let pages = self.pages_of(thread);
        let near = at.saturating_sub(2)..(at + 3).min(pages);
        links.extend(
            near.filter(|other| *other != at)
                .map(|other| Page::Thread(thread, other)),
        );
        for _ in 0..self.posts {
            links.push(Page::Profile(self.any_member(random)));
            if random.chance(0.08) {
                links.push(Page::Thread(self.any_thread(random), 0));
            }
        }
        let others = [
            thread.checked_sub(1),
            Some(thread + 1).filter(|next| *next < self.threads()),
        ];
        links.extend(
            others
                .into_iter()
                .flatten()
                .map(|other| Page::Thread(other, 0)),
        );
    }

    fn members_from(&self, at: u32, links: &mut Vec<Page>) {
        let members = (25 * at)..(25 * (at + 1)).min(self.members);
        links.extend(members.map(Page::Profile));
        let is_more = 25 * (at + 1) < self.members;
        links.extend(is_more.then_some(Page::Members(at + 1)));
    }

    /// The page after this one in its thread or list.
    pub(super) fn next(&self, page: Page) -> Option<Page> {
        match page {
            Page::Thread(thread, at) => {
                (at + 1 < self.pages_of(thread)).then_some(Page::Thread(thread, at + 1))
            }
            Page::Board(board, at) => {
                let is_more = (at + 1) * self.rows < self.threads_per_board;
                is_more.then_some(Page::Board(board, at + 1))
            }
            Page::News(at) => (at < 4).then_some(Page::News(at + 1)),
            Page::Results(query, at) => (at < 3).then_some(Page::Results(query, at + 1)),
            Page::Members(at) => {
                Some(Page::Members(at + 1)).filter(|_| 25 * (at + 1) < self.members)
            }
            _ => None,
        }
    }

    /// The page before this one in its thread or list.
    pub(super) fn previous(page: Page) -> Option<Page> {
        match page {
            Page::Thread(thread, at) => at.checked_sub(1).map(|at| Page::Thread(thread, at)),
            Page::Board(board, at) => at.checked_sub(1).map(|at| Page::Board(board, at)),
            _ => None,
        }
    }
}
