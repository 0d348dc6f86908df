//! The sorts of places with many people: how many there are, what days, devices and tastes their people have.

use super::agents::Devices;

/// What sort of days the people of a place have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Days {
    Office,
    Campus,
    Dormitory,
    Home,
    Phone,
    Mixed,
    Eight,
    Twelve,
    Newsroom,
    Guests,
    Library,
    Cafe,
    School,
    Prison,
    Alone,
}

/// In how many countries the people of a place are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    One,
    Carrier,
    Several,
    World,
}

/// A sort of place.
#[derive(Debug)]
pub(super) struct Recipe {
    pub(super) kind: &'static str,
    /// How many there are at least.
    pub(super) count: u64,
    pub(super) days: Days,
    pub(super) reach: Reach,
    pub(super) devices: Devices,
    /// Visits of a person in an hour of attention, from and to.
    pub(super) rate: (f64, f64),
    /// Requests on the busiest day: median, and how much it varies.
    pub(super) peak: (f64, f64),
    /// Pages of a visit, on average.
    pub(super) pages: f64,
    /// Articles, records, search, forum, docs, downloads.
    pub(super) tastes: [f64; 6],
}

pub(super) const READ: [f64; 6] = [7.0, 1.0, 1.5, 1.0, 0.7, 0.2];
const STUDY: [f64; 6] = [5.0, 2.0, 2.5, 0.6, 1.5, 0.7];
const WORK: [f64; 6] = [3.0, 2.0, 2.0, 0.5, 3.0, 0.6];
const LOOK_UP: [f64; 6] = [2.0, 4.0, 5.0, 0.1, 0.5, 0.1];

pub(super) const RECIPES: [Recipe; 19] = [
    recipe(
        "campus",
        7,
        (Days::Campus, Reach::One, Devices::Own),
        (0.01, 0.08),
        (3200.0, 0.8),
        (4.5, STUDY),
    ),
    recipe(
        "school",
        9,
        (Days::School, Reach::One, Devices::Managed),
        (0.6, 2.0),
        (1900.0, 0.5),
        (3.0, READ),
    ),
    recipe(
        "ministry",
        6,
        (Days::Office, Reach::One, Devices::Managed),
        (0.01, 0.08),
        (1700.0, 0.5),
        (3.0, WORK),
    ),
    recipe(
        "hospital",
        5,
        (Days::Eight, Reach::One, Devices::Managed),
        (0.02, 0.14),
        (1700.0, 0.5),
        (2.5, LOOK_UP),
    ),
    recipe(
        "mobile carrier",
        8,
        (Days::Phone, Reach::Carrier, Devices::Phones),
        (0.01, 0.05),
        (4500.0, 1.0),
        (2.6, READ),
    ),
    recipe(
        "satellite gateway",
        3,
        (Days::Mixed, Reach::World, Devices::Own),
        (0.02, 0.1),
        (1900.0, 0.5),
        (3.2, READ),
    ),
    recipe(
        "corporate proxy",
        7,
        (Days::Office, Reach::Several, Devices::Managed),
        (0.01, 0.12),
        (2100.0, 0.6),
        (3.2, WORK),
    ),
    recipe(
        "hotel chain",
        4,
        (Days::Guests, Reach::Several, Devices::Own),
        (0.02, 0.1),
        (1500.0, 0.4),
        (2.6, READ),
    ),
    recipe(
        "reading room",
        6,
        (Days::Library, Reach::One, Devices::Managed),
        (0.8, 2.5),
        (1500.0, 0.4),
        (5.5, STUDY),
    ),
    recipe(
        "dormitory",
        6,
        (Days::Dormitory, Reach::One, Devices::Own),
        (0.04, 0.25),
        (1900.0, 0.6),
        (4.0, STUDY),
    ),
    recipe(
        "control room",
        4,
        (Days::Twelve, Reach::One, Devices::Managed),
        (0.4, 1.5),
        (1300.0, 0.25),
        (4.0, READ),
    ),
    recipe(
        "vpn exit",
        6,
        (Days::Mixed, Reach::World, Devices::Desks),
        (0.02, 0.12),
        (2300.0, 0.8),
        (3.4, READ),
    ),
    recipe(
        "researcher",
        4,
        (Days::Alone, Reach::One, Devices::Desks),
        (2.0, 4.0),
        (1400.0, 0.25),
        (8.0, STUDY),
    ),
    recipe(
        "translation bureau",
        4,
        (Days::Office, Reach::One, Devices::Desks),
        (1.0, 4.0),
        (1600.0, 0.4),
        (2.4, LOOK_UP),
    ),
    recipe(
        "prison network",
        3,
        (Days::Prison, Reach::One, Devices::Managed),
        (0.2, 0.8),
        (1400.0, 0.3),
        (4.0, STUDY),
    ),
    recipe(
        "call centre",
        4,
        (Days::Eight, Reach::One, Devices::Managed),
        (0.8, 3.0),
        (1700.0, 0.5),
        (2.2, LOOK_UP),
    ),
    recipe(
        "newsroom",
        3,
        (Days::Newsroom, Reach::One, Devices::Desks),
        (0.15, 0.8),
        (1500.0, 0.4),
        (3.6, READ),
    ),
    recipe(
        "internet cafe",
        4,
        (Days::Cafe, Reach::One, Devices::Managed),
        (0.8, 2.2),
        (1300.0, 0.3),
        (4.0, READ),
    ),
    recipe(
        "town provider",
        7,
        (Days::Home, Reach::One, Devices::Own),
        (0.01, 0.08),
        (2600.0, 0.9),
        (3.2, READ),
    ),
];

const fn recipe(
    kind: &'static str,
    count: u64,
    (days, reach, devices): (Days, Reach, Devices),
    rate: (f64, f64),
    peak: (f64, f64),
    (pages, tastes): (f64, [f64; 6]),
) -> Recipe {
    Recipe {
        kind,
        count,
        days,
        reach,
        devices,
        rate,
        peak,
        pages,
        tastes,
    }
}
