//! Circles of people behind one address: when they are there.

/// A circle of people behind one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum People {
    /// Offices: from eight to six, lunch, no weekends.
    Office,
    /// A company with offices on several continents.
    WorldCompany,
    /// Lectures, late evenings, weekends.
    University,
    /// From eight to two, breaks that show.
    School,
    /// A hospital or plant: three shifts, breaks, never empty.
    Shifts,
    /// A provider's gateway for phones: never asleep, highest in the evening.
    Gateway,
    /// Families: evenings and weekends.
    Homes,
    /// A café, hotel or library room: open at some hours, few people, large gaps.
    PublicPlace,
}

impl People {
    /// All of them.
    pub const ALL: [People; 8] = [
        People::Office,
        People::WorldCompany,
        People::University,
        People::School,
        People::Shifts,
        People::Gateway,
        People::Homes,
        People::PublicPlace,
    ];

    /// The name in labels.
    pub fn name(self) -> &'static str {
        match self {
            People::Office => "office",
            People::WorldCompany => "world company",
            People::University => "university",
            People::School => "school",
            People::Shifts => "shifts",
            People::Gateway => "gateway",
            People::Homes => "homes",
            People::PublicPlace => "public place",
        }
    }

    /// How many are there, at a local hour of a weekday.
    pub(crate) fn presence(self, hour: f64, weekday: usize) -> f64 {
        let weekend = weekday >= 5;
        match self {
            People::Office => {
                let day = step(hour, 8.0, 0.7) * (1.0 - step(hour, 17.5, 1.0));
                let lunch = 1.0 - 0.45 * bump(hour, 12.4, 0.6);
                0.02 + if weekend { 0.08 } else { 1.0 } * day * lunch
            }
            People::WorldCompany => {
                let offices = [0.0, 6.0, 14.0]
                    .map(|shift| People::Office.presence((hour + shift) % 24.0, weekday));
                0.1 + offices.iter().sum::<f64>() / 2.0
            }
            People::University => {
                let day = step(hour, 9.0, 1.0) * (1.0 - step(hour, 22.5, 1.5));
                0.06 + if weekend { 0.45 } else { 1.0 } * day * (1.0 - 0.2 * bump(hour, 12.8, 0.7))
            }
            People::School => {
                let day = step(hour, 7.8, 0.3) * (1.0 - step(hour, 14.2, 0.6));
                let lessons = 0.55 + 0.45 * (std::f64::consts::TAU * hour / 0.85).cos().max(0.0);
                0.01 + if weekend { 0.0 } else { 1.0 } * day * lessons
            }
            People::Shifts => {
                let changes = [6.0, 14.0, 22.0].map(|change| 0.5 * bump(hour, change, 0.5));
                let night = if !(6.0..22.0).contains(&hour) {
                    0.65
                } else {
                    1.0
                };
                night * (1.0 - changes.iter().sum::<f64>()) * if weekend { 0.8 } else { 1.0 }
            }
            People::Gateway => {
                let sleep = 0.35 * bump(hour, 4.0, 2.6);
                0.75 - sleep + 0.35 * bump(hour, 20.5, 3.0) + 0.12 * bump(hour, 12.5, 2.0)
            }
            People::Homes => {
                let evening = bump(hour, 20.2, 2.3);
                let day = if weekend { 0.55 } else { 0.2 }
                    * step(hour, 9.0, 1.5)
                    * (1.0 - step(hour, 23.0, 1.0));
                0.04 + evening + day
            }
            People::PublicPlace => {
                let open = step(hour, 10.0, 0.3) * (1.0 - step(hour, 21.0, 0.4));
                0.005 + open * (0.6 + 0.4 * bump(hour, 16.0, 2.5))
            }
        }
    }
}

/// From 0 to 1 around an hour, over so many hours.
fn step(hour: f64, at: f64, width: f64) -> f64 {
    1.0 / (1.0 + (-(hour - at) / width * 3.0).exp())
}

/// 1 at an hour, falling off to both sides, over midnight.
fn bump(hour: f64, at: f64, width: f64) -> f64 {
    let apart = (hour - at).abs();
    let apart = apart.min(24.0 - apart);
    (-0.5 * (apart / width).powi(2)).exp()
}
