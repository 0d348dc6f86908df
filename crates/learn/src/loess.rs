//! Local regression of one variable, as R's `loess(y ~ x, surface = "direct")` fits it.
//!
//! At each place the nearest points are weighted by the tricube of their distance and a polynomial is fitted
//! to them. The fit is by orthogonal polynomials, so that a degree the points cannot carry is simply left out:
//! all points at one place give their mean. R stops with an error there, or takes a pseudo-inverse.

/// A degree whose polynomial has less than this share of the weight cannot be told from rounding.
const DEGENERATE: f64 = 1e-12;
/// Higher degrees are not loess any more.
const DEGREE_MAX: usize = 2;

/// The smooth of `y` over `x` at each of the places `at`: by polynomials of the given degree (at most 2) over the
/// share `span` of the points that is nearest, or over all points in a window that much larger when it is above 1.
/// Pairs with a value that is not finite are left out; without any pair the smooth is 0. Never NaN.
pub fn smooth(x: &[f64], y: &[f64], at: &[f64], span: f64, degree: usize) -> Vec<f64> {
    let pairs = x.iter().zip(y);
    let points: Vec<(f64, f64)> = pairs
        .filter(|(x, y)| x.is_finite() && y.is_finite())
        .map(|(&x, &y)| (x, y))
        .collect();
    let scale = points.iter().fold(0.0_f64, |max, (_, y)| max.max(y.abs()));
    if scale == 0.0 {
        return vec![0.0; at.len()];
    }
    let mut distances = Vec::with_capacity(points.len());
    let mut weighted = Vec::with_capacity(points.len());
    at.iter()
        .map(|&at| {
            weigh(&points, at, span, &mut distances, &mut weighted);
            // Divided by their largest, the values cannot overflow when they are added up.
            weighted.iter_mut().for_each(|point| point.y /= scale);
            (fit(&weighted, degree.min(DEGREE_MAX)) * scale).clamp(-f64::MAX, f64::MAX)
        })
        .collect()
}

/// How many points of equal weight the smooth rests on at each of the places `at` (Kish's effective number).
pub(crate) fn support(x: &[f64], at: &[f64], span: f64) -> Vec<f64> {
    let finite = x.iter().filter(|x| x.is_finite());
    let points: Vec<(f64, f64)> = finite.map(|&x| (x, 0.0)).collect();
    if points.is_empty() {
        return vec![0.0; at.len()];
    }
    let (mut distances, mut weighted) = (Vec::new(), Vec::new());
    at.iter()
        .map(|&at| {
            weigh(&points, at, span, &mut distances, &mut weighted);
            let sum: f64 = weighted.iter().map(|point| point.weight).sum();
            let squares: f64 = weighted.iter().map(|point| point.weight.powi(2)).sum();
            // Far down the tricube all squares may vanish: one point at least was near enough.
            if squares > 0.0 {
                sum * sum / squares
            } else {
                1.0
            }
        })
        .collect()
}

/// A point of the window.
struct Point {
    /// Where it lies from the place of the fit, in units of the window's half width.
    t: f64,
    y: f64,
    weight: f64,
}

/// Fills `weighted` with the points of the window around one place.
fn weigh(
    points: &[(f64, f64)],
    at: f64,
    span: f64,
    distances: &mut Vec<f64>,
    weighted: &mut Vec<Point>,
) {
    // A place that is not finite has no neighbours: it is given the mean of all points.
    // Halves, because the difference of two finite numbers may not be finite.
    let offset = |x: f64| {
        if at.is_finite() {
            x / 2.0 - at / 2.0
        } else {
            0.0
        }
    };
    distances.clear();
    distances.extend(points.iter().map(|(x, _)| offset(*x).abs()));
    // The small term is R's: a share such as 0.29 of 100 points means 29 of them.
    let nearest = (span * points.len() as f64 + 1e-5).floor();
    let nearest = (nearest as usize).clamp(1, points.len());
    let (_, &mut farthest, _) = distances.select_nth_unstable_by(nearest - 1, f64::total_cmp);
    // R enlarges the squared distance by the span, also where its manual says the distance.
    let width = farthest * span.max(1.0).sqrt();
    weighted.clear();
    weighted.extend(points.iter().filter_map(|&(x, y)| {
        let t = offset(x) / width;
        let weight = (1.0 - t.abs().powi(3)).powi(3);
        (offset(x).abs() < width && weight > 0.0).then_some(Point { t, y, weight })
    }));
    if weighted.is_empty() {
        // Ties: the window ends where its nearest points lie. They count alike.
        weighted.extend(points.iter().filter_map(|&(x, y)| {
            let is_inside = offset(x).abs() <= farthest;
            is_inside.then_some(Point {
                t: 0.0,
                y,
                weight: 1.0,
            })
        }));
    }
}

/// The polynomial's value at the place of the fit, by the three-term recurrence of orthogonal polynomials.
fn fit(points: &[Point], degree: usize) -> f64 {
    let total: f64 = points.iter().map(|point| point.weight).sum();
    let mut before = vec![0.0; points.len()];
    let mut current = vec![1.0; points.len()];
    let (mut before_here, mut current_here, mut before_norm) = (0.0, 1.0, 0.0);
    let mut value = 0.0;
    for _ in 0..=degree {
        let weighted = || points.iter().zip(&current);
        let norm: f64 = weighted().map(|(p, c)| p.weight * c * c).sum();
        if norm <= DEGENERATE * total {
            break;
        }
        let along: f64 = weighted().map(|(p, c)| p.weight * c * p.y).sum();
        value += along / norm * current_here;

        let moment: f64 = weighted().map(|(p, c)| p.weight * p.t * c * c).sum();
        let center = moment / norm;
        let back = if before_norm > 0.0 {
            norm / before_norm
        } else {
            0.0
        };
        for ((point, before), current) in points.iter().zip(&mut before).zip(&mut current) {
            let next = (point.t - center) * *current - back * *before;
            (*before, *current) = (*current, next);
        }
        let next_here = -center * current_here - back * before_here;
        (before_here, current_here, before_norm) = (current_here, next_here, norm);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(x: &[f64], y: &[f64], span: f64, degree: usize, expected: &[f64]) {
        let found = smooth(x, y, x, span, degree);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
        }
    }

    #[test]
    fn a_line_stays_a_line() {
        let x: Vec<f64> = (0..20).map(f64::from).collect();
        let y: Vec<f64> = x.iter().map(|x| 3.0 * x - 1.0).collect();
        check(&x, &y, 0.4, 1, &y);
        check(&x, &y, 1.7, 2, &y);
    }

    #[test]
    fn equal_places_give_their_mean() {
        check(&[2.0; 4], &[0.0, 1.0, 1.0, 1.0], 0.5, 1, &[0.75; 4]);
        check(&[2.0; 4], &[0.0, 1.0, 1.0, 1.0], 0.5, 2, &[0.75; 4]);
        check(&[7.0], &[5.0], 0.5, 2, &[5.0]);
    }

    #[test]
    fn a_tiny_span_takes_the_nearest_point() {
        check(
            &[1.0, 2.0, 3.0],
            &[4.0, 5.0, 7.0],
            1e-9,
            1,
            &[4.0, 5.0, 7.0],
        );
    }

    #[test]
    fn support_counts_the_points_of_a_window() {
        // Half of the points lie at 0; the lone one's window ends at them.
        let x = [0.0, 0.0, 0.0, 0.0, 0.0, 9.0];
        assert_eq!(support(&x, &[0.0, 9.0], 0.5), [5.0, 1.0]);
        assert_eq!(support(&[], &[0.0], 0.5), [0.0]);
    }

    #[test]
    fn nothing_gives_nothing() {
        assert_eq!(smooth(&[], &[], &[1.0], 0.5, 1), [0.0]);
        assert_eq!(smooth(&[1.0], &[f64::NAN], &[1.0], 0.5, 1), [0.0]);
        assert_eq!(smooth(&[1.0, 2.0], &[1.0, 3.0], &[f64::NAN], 0.5, 1), [2.0]);
    }
}
