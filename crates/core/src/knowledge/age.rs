//! When a browser came out, by the version that its user agent names. Browsers renew themselves; lists of agents in programs do not.

/// Versions of a browser, and the year in which each came out. Those between lie between; later ones follow at the last pace.
type Releases = &'static [(f64, f64)];

/// From the release notes of the browsers. The first name that an agent holds counts: others name Chrome, too.
const BROWSERS: [(&str, Releases); 3] = [
    (
        "Firefox/",
        &[
            (1.0, 2004.9),
            (2.0, 2006.8),
            (3.0, 2008.5),
            (4.0, 2011.2),
            (10.0, 2012.1),
            (20.0, 2013.3),
            (30.0, 2014.4),
            (40.0, 2015.6),
            (50.0, 2016.9),
            (60.0, 2018.4),
            (70.0, 2019.8),
            (80.0, 2020.7),
            (100.0, 2022.3),
            (120.0, 2023.9),
            (140.0, 2025.5),
        ],
    ),
    (
        "Chrome/",
        &[
            (1.0, 2008.9),
            (10.0, 2011.2),
            (20.0, 2012.5),
            (30.0, 2013.7),
            (40.0, 2015.0),
            (50.0, 2016.3),
            (60.0, 2017.5),
            (70.0, 2018.8),
            (80.0, 2020.1),
            (90.0, 2021.3),
            (100.0, 2022.2),
            (120.0, 2023.9),
            (140.0, 2025.7),
        ],
    ),
    // Offices kept these for long: the years are those in which the next but one was common.
    (
        "MSIE ",
        &[
            (5.0, 2004.0),
            (6.0, 2008.0),
            (7.0, 2010.0),
            (8.0, 2013.0),
            (9.0, 2015.0),
            (10.0, 2016.0),
        ],
    ),
];

/// The year in which the browser of an agent came out, with its fraction.
pub(crate) fn released(agent: &[u8]) -> Option<f64> {
    BROWSERS.iter().find_map(|(name, releases)| {
        let at = memchr::memmem::find(agent, name.as_bytes())? + name.len();
        let digits = agent[at..].iter().take_while(|byte| byte.is_ascii_digit());
        let digits: Vec<u8> = digits.copied().take(4).collect();
        let version: f64 = std::str::from_utf8(&digits).ok()?.parse().ok()?;
        Some(year(version, releases))
    })
}

fn year(version: f64, releases: Releases) -> f64 {
    let later = releases.iter().position(|(known, _)| *known >= version);
    let at = later.unwrap_or(releases.len() - 1).max(1);
    let ((from, start), (to, end)) = (releases[at - 1], releases[at]);
    start + (version.max(releases[0].0) - from) / (to - from) * (end - start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_browsers_came_out() {
        let year =
            |agent: &str| released(agent.as_bytes()).map(|year| (year * 10.0).round() / 10.0);
        assert_eq!(
            year("Mozilla/5.0 (X11) Gecko/20100101 Firefox/30.0"),
            Some(2014.4)
        );
        assert_eq!(
            year("Mozilla/5.0 (X11) Chrome/35.0.1.2 Safari/537.36"),
            Some(2014.4)
        );
        assert_eq!(
            year("Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)"),
            Some(2008.0)
        );
        assert_eq!(year("Mozilla/5.0 Chrome/160.0.0.0"), Some(2027.5));
        assert_eq!(year("Mozilla/5.0 (iPhone) Version/17.0 Safari/604.1"), None);
        assert_eq!(year("Chrome/"), None);
    }
}
