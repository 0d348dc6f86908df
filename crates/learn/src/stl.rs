//! Seasonal and trend decomposition by LOESS (Cleveland et al. 1990), as R's `stl()` without its robust mode.
//!
//! Without robust weights every smoothing is a weighted sum whose weights depend on the place alone. A [`Plan`] holds them for
//! one length of series: thousands of series of that length are then decomposed by multiplying and adding.

/// Points of a period, and how wide each smoothing looks. The degrees are 0 for the season, 1 for trend and low-pass filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Points of a period.
    pub period: usize,
    /// Width of the smoothing of each place in the period, in periods.
    pub season_window: usize,
    /// Width of the smoothing of the trend, in points.
    pub trend_window: usize,
    /// Width of the low-pass filter, in points.
    pub low_window: usize,
}

/// Passes of season and trend over each other. Without robust weights two are enough.
const PASSES: usize = 2;

/// The weights for one length of series.
#[derive(Debug, Clone)]
pub struct Plan {
    length: usize,
    period: usize,
    trend: Filter,
    low: Filter,
    /// Places of the period whose row is the longer one, and the filters of both lengths.
    longer_rows: usize,
    longer: Filter,
    shorter: Filter,
}

/// What a series is made of; the three parts add up to it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parts {
    /// What comes back every period.
    pub season: Vec<f64>,
    /// What changes slowly.
    pub trend: Vec<f64>,
    /// The rest.
    pub rest: Vec<f64>,
}

/// Room that is used again from series to series.
#[derive(Debug, Clone, Default)]
pub struct Room {
    row: Vec<f64>,
    smoothed_row: Vec<f64>,
    detrended: Vec<f64>,
    cycle: Vec<f64>,
    low: Vec<f64>,
    once: Vec<f64>,
    twice: Vec<f64>,
}

impl Plan {
    /// A plan, unless the series is too short: it takes more than two periods.
    pub fn new(length: usize, settings: Settings) -> Option<Plan> {
        let Settings { period, .. } = settings;
        if period < 2 || length <= 2 * period {
            return None;
        }
        let longer = length.div_ceil(period);
        let season = |points: usize| Filter::new(points, settings.season_window, 0, 1);
        Some(Plan {
            length,
            period,
            trend: Filter::new(length, settings.trend_window, 1, 0),
            low: Filter::new(length, settings.low_window, 1, 0),
            longer_rows: length - (longer - 1) * period,
            longer: season(longer),
            shorter: season(longer - 1),
        })
    }

    /// Points of the series it is made for.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Takes a series apart. A series of another length gives nothing.
    pub fn decompose(&self, series: &[f64], room: &mut Room, parts: &mut Parts) {
        let Parts {
            season,
            trend,
            rest,
        } = parts;
        for part in [&mut *season, &mut *trend, &mut *rest] {
            part.clear();
            part.resize(series.len().min(self.length), 0.0);
        }
        if series.len() != self.length {
            return;
        }
        for _ in 0..PASSES {
            room.detrended.clear();
            let detrended = series.iter().zip(&*trend).map(|(all, trend)| all - trend);
            room.detrended.extend(detrended);
            self.smooth_cycles(room);
            moving_average(&room.cycle, self.period, &mut room.once);
            moving_average(&room.once, self.period, &mut room.twice);
            moving_average(&room.twice, 3, &mut room.once);
            self.low.apply(&room.once, &mut room.low);
            for (at, season) in season.iter_mut().enumerate() {
                *season = room.cycle[self.period + at] - room.low[at];
            }
            room.detrended.clear();
            let without = series
                .iter()
                .zip(&*season)
                .map(|(all, season)| all - season);
            room.detrended.extend(without);
            self.trend.apply(&room.detrended, trend);
        }
        for (at, rest) in rest.iter_mut().enumerate() {
            *rest = series[at] - season[at] - trend[at];
        }
    }

    /// Smooths the values of each place in the period over the periods, one more on either side.
    fn smooth_cycles(&self, room: &mut Room) {
        room.cycle.clear();
        room.cycle.resize(self.length + 2 * self.period, 0.0);
        for place in 0..self.period {
            room.row.clear();
            let row = room.detrended[place..].iter().step_by(self.period);
            room.row.extend(row);
            let filter = match place < self.longer_rows {
                true => &self.longer,
                false => &self.shorter,
            };
            filter.apply(&room.row, &mut room.smoothed_row);
            let places = room.cycle[place..].iter_mut().step_by(self.period);
            for (place, value) in places.zip(&room.smoothed_row) {
                *place = *value;
            }
        }
    }
}

/// Weighted sums over neighbours, one for each point.
#[derive(Debug, Clone)]
struct Filter {
    /// Weights of each sum.
    width: usize,
    /// Where each sum begins.
    starts: Vec<usize>,
    weights: Vec<f64>,
}

impl Filter {
    /// Local regression over `window` of `points`, with `beyond` more places on either side.
    fn new(points: usize, window: usize, degree: usize, beyond: usize) -> Filter {
        let width = window.min(points);
        let mut filter = Filter {
            width,
            starts: Vec::new(),
            weights: Vec::new(),
        };
        for place in 0..points + 2 * beyond {
            let place = place as f64 - beyond as f64;
            let last = points - width;
            let start = ((place - (width / 2) as f64).max(0.0) as usize).min(last);
            filter.starts.push(start);
            filter.add(points, window, degree, place, start);
        }
        filter
    }

    /// The weights of one sum.
    fn add(&mut self, points: usize, window: usize, degree: usize, place: f64, start: usize) {
        let end = (start + self.width - 1) as f64;
        let mut reach = (place - start as f64).max(end - place);
        if window > points {
            reach += ((window - points) / 2) as f64;
        }
        let places = || (start..start + self.width).map(|at| at as f64);
        let mut weights: Vec<f64> = places()
            .map(|at| tricube((at - place).abs(), reach))
            .collect();
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= sum);
        if degree > 0 {
            let mean: f64 = places().zip(&weights).map(|(at, weight)| at * weight).sum();
            let spread = |(at, weight): (f64, &f64)| weight * (at - mean).powi(2);
            let variance: f64 = places().zip(&weights).map(spread).sum();
            // All weight on one point has no slope.
            if variance.sqrt() > 0.001 * (points - 1) as f64 {
                let slope = (place - mean) / variance;
                for (at, weight) in places().zip(&mut weights) {
                    *weight *= slope * (at - mean) + 1.0;
                }
            }
        }
        self.weights.extend(weights);
    }

    fn apply(&self, values: &[f64], out: &mut Vec<f64>) {
        out.clear();
        let sums = self
            .starts
            .iter()
            .zip(self.weights.chunks_exact(self.width));
        out.extend(sums.map(|(start, weights)| dot(weights, &values[*start..*start + self.width])));
    }
}

/// Sum of products, in four parts that a processor adds at once.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (fours_a, rest_a) = a.as_chunks::<4>();
    let (fours_b, rest_b) = b.as_chunks::<4>();
    for (a, b) in fours_a.iter().zip(fours_b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let rest: f64 = rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// Cleveland's weights: full nearby, none at the reach.
fn tricube(distance: f64, reach: f64) -> f64 {
    if distance <= 0.001 * reach {
        1.0
    } else if distance <= 0.999 * reach {
        (1.0 - (distance / reach).powi(3)).powi(3)
    } else {
        0.0
    }
}

/// Means of every `width` neighbours: fewer by one less than the width.
fn moving_average(values: &[f64], width: usize, out: &mut Vec<f64>) {
    out.clear();
    let mut sum: f64 = values[..width].iter().sum();
    out.push(sum / width as f64);
    for (leaving, coming) in values.iter().zip(&values[width..]) {
        sum += coming - leaving;
        out.push(sum / width as f64);
    }
}
