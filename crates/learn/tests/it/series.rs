//! Autocorrelation, decomposition and the values made of them.

use std::collections::BTreeMap;

use cattlegrid_learn::series::Correlation;
use cattlegrid_learn::series::Decay;
use cattlegrid_learn::series::LAGS;
use cattlegrid_learn::series::STL;
use cattlegrid_learn::series::Scratch;
use cattlegrid_learn::series::Shape;
use cattlegrid_learn::series::Signs;
use cattlegrid_learn::series::attributes;
use cattlegrid_learn::series::autocorrelation;
use cattlegrid_learn::series::standard_errors;
use cattlegrid_learn::stl::Parts;
use cattlegrid_learn::stl::Plan;
use cattlegrid_learn::stl::Room;
use proptest::prelude::*;

#[derive(serde::Deserialize)]
struct Recorded {
    series: Vec<f64>,
    acf: Vec<f64>,
    season: Vec<f64>,
    trend: Vec<f64>,
}

fn recorded() -> BTreeMap<String, Recorded> {
    serde_json::from_str(include_str!("../reference/series.json")).unwrap()
}

/// Largest difference, against the largest value.
fn difference(ours: &[f64], theirs: &[f64]) -> f64 {
    assert_eq!(ours.len(), theirs.len());
    let size = theirs
        .iter()
        .fold(0.0, |most: f64, value| most.max(value.abs()));
    let pairs = ours.iter().zip(theirs);
    pairs.fold(0.0, |most: f64, (a, b)| most.max((a - b).abs())) / size
}

#[test]
fn autocorrelation_is_that_of_r() {
    for (name, recorded) in recorded() {
        let ours = autocorrelation(&recorded.series, recorded.acf.len());
        let difference = difference(&ours, &recorded.acf);
        println!("{name}: acf differs by {difference:e}");
        assert!(difference < 1e-8, "{name}: {difference:e}");
    }
}

#[test]
fn decomposition_is_that_of_r() {
    for (name, recorded) in recorded() {
        let plan = Plan::new(recorded.series.len(), STL).unwrap();
        let mut parts = Parts::default();
        plan.decompose(&recorded.series, &mut Room::default(), &mut parts);
        for (part, ours, theirs) in [
            ("season", &parts.season, &recorded.season),
            ("trend", &parts.trend, &recorded.trend),
        ] {
            let difference = difference(ours, theirs);
            println!("{name}: {part} differs by {difference:e}");
            assert!(difference < 1e-6, "{name}, {part}: {difference:e}");
        }
    }
}

#[test]
fn errors_grow_with_what_came_before() {
    let errors = standard_errors(&[0.5, 0.5, 0.0], 100);
    let expected = [0.1, (1.5_f64 / 100.0).sqrt(), (2.0_f64 / 100.0).sqrt()];
    assert!(difference(&errors, &expected) < 1e-12);
}

/// Noise that is the same every time.
fn noise(at: usize) -> f64 {
    let mixed = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 / (1 << 24) as f64
        - 0.5
}

fn series(value: impl Fn(usize) -> f64) -> Vec<f64> {
    (0..240).map(value).collect()
}

#[test]
fn classes_that_a_person_sees() {
    // Pure noise: nothing to lose, turning points everywhere.
    let random = Correlation::of(&series(|at| 50.0 + 20.0 * noise(at)));
    assert!(random.coefficients[0].abs() < 0.2);
    assert_eq!(random.decay, Decay::None, "{random:?}");
    // Work of an hour and a half now and then: related to its neighbours and to nothing else.
    let bursts = Correlation::of(&series(
        |at| if noise(at / 3 * 3) > 0.2 { 60.0 } else { 10.0 },
    ));
    assert_eq!(bursts.decay, Decay::CutOff, "{bursts:?}");
    // Half of the time at one level, then at another.
    let level = Correlation::of(&series(|at| if at < 120 { 40.0 } else { 10.0 } + noise(at)));
    assert_eq!(level.decay, Decay::Linear, "{level:?}");
    assert!(level.spikes.is_empty());
    // Day and night.
    let daily = Correlation::of(&series(|at| {
        30.0 - 25.0 * (at as f64 / 48.0 * std::f64::consts::TAU).cos() + 4.0 * noise(at)
    }));
    assert_eq!(daily.signs, Signs::Oscillating, "{daily:?}");
    assert!(daily.is_daily && daily.coefficients[47] > 0.6);
}

#[test]
fn a_constant_series_has_a_shape_without_rhythm() {
    let shape = Shape::of(&[12.0; 240], &mut Scratch::default()).unwrap();
    assert_eq!(shape.correlation.coefficients, [0.0; LAGS]);
    assert_eq!(shape.values[10], 1.0);
    assert_eq!(shape.dispersion, 0.0);
}

#[test]
fn what_is_too_short_has_no_shape() {
    assert!(Shape::of(&[1.0; 96], &mut Scratch::default()).is_none());
    assert!(Shape::of(&[1.0; 97], &mut Scratch::default()).is_some());
    assert!(Shape::of(&[0.0; 240], &mut Scratch::default()).is_none());
}

proptest! {
    #[test]
    fn values_are_always_numbers(
        counts in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.0..1e3, Just(1e300), Just(f64::MIN_POSITIVE), Just(4e9)], 0..400)
    ) {
        if let Some(shape) = Shape::of(&counts, &mut Scratch::default()) {
            prop_assert_eq!(shape.values.len(), attributes().len());
            for (value, attribute) in shape.values.iter().zip(attributes()) {
                prop_assert!(value.is_finite(), "{}: {}", attribute.name, value);
            }
            prop_assert!(shape.parts.trend.iter().chain(&shape.parts.season).all(|value| value.is_finite()));
        }
    }
}
