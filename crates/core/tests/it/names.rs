//! Names on no list: how much they weigh depends on how often they were sent.

use cattlegrid_core::Settings;
use cattlegrid_core::verdict::Class;

use crate::analyze;

/// The class and the weight of the name after some requests under an agent.
fn judged(requests: usize, agent: &str) -> (Class, f64) {
    let lines: Vec<String> = (0..requests)
        .map(|number| {
            format!(
                r#"203.0.113.9 - - [01/Jan/2030:{:02}:{:02}:00 +0000] "GET /{number} HTTP/1.1" 200 512 "-" "{agent}""#,
                number / 60,
                number % 60
            )
        })
        .collect();
    let report = analyze(&[&lines], Settings::default(), "combined", 1000);
    let source = &report.sources[0];
    let mut evidence = source.evidence.iter();
    let name = evidence.find(|item| item.detector == "declared_robot");
    (source.class, name.unwrap().weight)
}

#[test]
fn one_request_under_an_unlisted_name_weighs_less_than_a_hundred() {
    let (class, once) = judged(1, "example/1.0");
    assert_eq!((class, once), (Class::Undecided, 6.0));
    let (class, thrice) = judged(3, "example/1.0");
    assert!(class == Class::Crawler && thrice > once, "{thrice}");
    assert_eq!(judged(100, "example/1.0"), (Class::Crawler, 30.0));
    assert_eq!(judged(500, "example/1.0"), (Class::Crawler, 30.0));
    // A name on the list needs no repetition, and whoever fetches for people is no crawler after one request either.
    assert_eq!(judged(1, "curl/8.5.0"), (Class::Crawler, 30.0));
    assert_eq!(judged(1, "examplemonitor/1.0").0, Class::Automated);
}
