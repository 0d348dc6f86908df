//! Time stamps of log lines to seconds since 1970, with their fraction where they have one.

use jiff::civil::Date;
use jiff::civil::DateTime;
use jiff::civil::Time;
use jiff::fmt::strtime;
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::TimeZone;

use super::Skip;
use crate::request::Request;
use crate::request::Tick;

/// When a request came: seconds since 1970, and the part of the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    time: u32,
    tick: Tick,
}

impl Stamp {
    fn new(time: u32, nanoseconds: impl TryInto<u32>) -> Stamp {
        let nanoseconds = nanoseconds.try_into().unwrap_or(0);
        let tick = Tick::of_nanoseconds(nanoseconds);
        Stamp { time, tick }
    }

    /// Notes it in a request.
    pub(super) fn fill(self, request: &mut Request<'_>) {
        (request.time, request.tick) = (self.time, self.tick);
    }
}

/// How a format writes its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TimeStyle {
    /// `01/Jan/2030:00:00:00 +0000`
    Clf,
    /// `2030-01-01T00:00:00+00:00`
    Iso,
    /// Seconds since 1970, with or without a fraction.
    Epoch,
    /// `01/Jan/2030:00:00:00.000`
    Short,
    /// A strftime pattern.
    Strftime(String),
    /// Whichever of the first three it looks like.
    Any,
}

/// 1990-01-01: the web did not exist.
const EARLIEST: i64 = 631_152_000;
/// 2100-01-01: times up to here fit 32 bits.
const LATEST: i64 = 4_102_444_800;

/// The minute last seen: neighbouring lines share it, so all but the seconds is read once a minute.
#[derive(Debug, Default)]
pub(super) struct DateCache {
    /// The zone of times that are written without one.
    pub(super) here: Here,
    /// A minute written without a zone, and when it began.
    civil: Option<([i16; 5], u32)>,
    /// `01/Jan/2030:00:00:`, ` +0000` and when that minute began; 0 before the first.
    date: [u8; 18],
    zone: [u8; 6],
    minute: u32,
}

const ISO: DateTimeParser = DateTimeParser::new();

impl TimeStyle {
    /// Reads a time stamp written this way.
    pub(super) fn read(&self, text: &[u8], cache: &mut DateCache) -> Result<Stamp, Skip> {
        let whole = |time: u32| Stamp::new(time, 0_u32);
        match self {
            TimeStyle::Clf => clf(text, cache).map(whole),
            TimeStyle::Iso => iso(text, cache),
            TimeStyle::Epoch => epoch(text),
            TimeStyle::Short => short(text, cache),
            TimeStyle::Strftime(pattern) => by_pattern(pattern, text, cache),
            TimeStyle::Any if text.get(2) == Some(&b'/') => clf(text, cache).map(whole),
            TimeStyle::Any
                if text
                    .iter()
                    .all(|byte| byte.is_ascii_digit() || *byte == b'.') =>
            {
                epoch(text)
            }
            TimeStyle::Any => iso(text, cache),
        }
    }
}

/// Checks the range every later stage relies on.
pub(super) fn in_range(seconds: i64) -> Result<u32, Skip> {
    if !(EARLIEST..LATEST).contains(&seconds) {
        return Err(Skip::TimeOutOfRange);
    }
    u32::try_from(seconds).map_err(|_| Skip::TimeOutOfRange)
}

/// A number since 1970 in seconds, milliseconds, microseconds or nanoseconds, told apart by size.
pub(super) fn epoch_number(number: f64) -> Result<Stamp, Skip> {
    let mut seconds = number;
    for _ in 0..3 {
        if seconds > 1e10 {
            seconds /= 1000.0;
        }
    }
    if !seconds.is_finite() {
        return Err(Skip::BadTime);
    }
    let time = in_range(seconds as i64)?;
    Ok(Stamp::new(time, (seconds.fract() * 1e9) as u32))
}

#[inline]
pub(super) fn clf(text: &[u8], cache: &mut DateCache) -> Result<u32, Skip> {
    let text: &[u8; 26] = text.try_into().map_err(|_| Skip::BadTime)?;
    if text[..18] != cache.date || text[20..] != cache.zone || cache.minute == 0 {
        refill(text, cache)?;
    }
    // A leap second is written 60 and belongs to the minute before.
    match two(text, 18)? {
        second @ 0..=60 => Ok(cache.minute + u32::from(second.min(59))),
        _ => Err(Skip::BadTime),
    }
}

/// Reads a time up to its minute.
#[cold]
fn refill(text: &[u8; 26], cache: &mut DateCache) -> Result<(), Skip> {
    let month = month_number(&text[3..6])?;
    let year = i32::from(two(text, 7)?) * 100 + i32::from(two(text, 9)?);
    let zone = i64::from(two(text, 22)?) * 3600 + i64::from(two(text, 24)?) * 60;
    let east = match text[21] {
        b'+' => zone,
        b'-' => -zone,
        _ => return Err(Skip::BadTime),
    };
    let (hour, minute) = (two(text, 12)?, two(text, 15)?);
    let separators = [2, 6, 11, 14, 17, 20].map(|at| text[at]);
    if separators != *b"//::: " || zone > 15 * 3600 || hour > 23 || minute > 59 {
        return Err(Skip::BadTime);
    }
    // Years the calendar has but no log can have are told apart from days that do not exist.
    let date =
        Date::new(year as i16, month as i8, two(text, 0)? as i8).map_err(|_| Skip::BadTime)?;
    let days = date
        .since(Date::constant(1970, 1, 1))
        .map_err(|_| Skip::BadTime)?
        .get_days();
    let minutes = i64::from(hour) * 60 + i64::from(minute);
    cache.minute = in_range(i64::from(days) * 86_400 - east + minutes * 60)?;
    cache.date.copy_from_slice(&text[..18]);
    cache.zone.copy_from_slice(&text[20..]);
    Ok(())
}

fn two(text: &[u8; 26], at: usize) -> Result<u8, Skip> {
    let (tens, ones) = (text[at].wrapping_sub(b'0'), text[at + 1].wrapping_sub(b'0'));
    if tens > 9 || ones > 9 {
        Err(Skip::BadTime)
    } else {
        Ok(tens * 10 + ones)
    }
}

fn iso(text: &[u8], cache: &DateCache) -> Result<Stamp, Skip> {
    if let Ok(timestamp) = ISO.parse_timestamp(text) {
        let time = in_range(timestamp.as_second())?;
        return Ok(Stamp::new(time, timestamp.subsec_nanosecond()));
    }
    let civil = ISO.parse_datetime(text).map_err(|_| Skip::BadTime)?;
    let time = cache.here.seconds(civil)?;
    Ok(Stamp::new(time, civil.subsec_nanosecond()))
}

/// `2030-01-01` and `00:00:00.000`, without a zone.
pub(super) fn date_and_clock(
    date: &[u8],
    clock: &[u8],
    cache: &mut DateCache,
) -> Result<Stamp, Skip> {
    let [y, e, a, r, b'-', mo, nth, b'-', d, ay] = date else {
        return Err(Skip::BadTime);
    };
    let year = number(&[*y, *e, *a, *r])?;
    cache.civil(year, number(&[*mo, *nth])?, number(&[*d, *ay])?, clock)
}

/// `01/Jan/2030:00:00:00.000`, without a zone.
fn short(text: &[u8], cache: &mut DateCache) -> Result<Stamp, Skip> {
    let (date, clock) = text.split_at_checked(12).ok_or(Skip::BadTime)?;
    let [d, ay, b'/', month @ .., b'/', y, e, a, r, b':'] = date else {
        return Err(Skip::BadTime);
    };
    let (day, year) = (number(&[*d, *ay])?, number(&[*y, *e, *a, *r])?);
    cache.civil(year, month_number(month)?, day, clock)
}

fn number(digits: &[u8]) -> Result<i16, Skip> {
    digits.iter().try_fold(0, |number: i16, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit <= 9)
            .then(|| number * 10 + i16::from(digit))
            .ok_or(Skip::BadTime)
    })
}

fn month_number(name: &[u8]) -> Result<i16, Skip> {
    const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let at = MONTHS
        .chunks(3)
        .position(|known| known.eq_ignore_ascii_case(name));
    at.map(|at| at as i16 + 1).ok_or(Skip::BadTime)
}

impl DateCache {
    /// A day and `00:00:00.000` on it, where the log was written.
    fn civil(&mut self, year: i16, month: i16, day: i16, clock: &[u8]) -> Result<Stamp, Skip> {
        let [h, our, b':', m, in_, b':', s, ec, fraction @ ..] = clock else {
            return Err(Skip::BadTime);
        };
        let (hour, minute, second) = (
            number(&[*h, *our])?,
            number(&[*m, *in_])?,
            number(&[*s, *ec])?,
        );
        if !matches!(fraction, [] | [b'.' | b',', ..]) || second > 60 {
            return Err(Skip::BadTime);
        }
        let key = [year, month, day, hour, minute];
        let start = match self.civil {
            Some((known, start)) if known == key => start,
            _ => {
                let date = Date::new(year, month as i8, day as i8).map_err(|_| Skip::BadTime)?;
                let time = Time::new(hour as i8, minute as i8, 0, 0).map_err(|_| Skip::BadTime)?;
                let start = self.here.seconds(date.to_datetime(time))?;
                self.civil = Some((key, start));
                start
            }
        };
        // A leap second is written 60 and belongs to the minute before.
        let time = start + second.min(59) as u32;
        Ok(Stamp::new(time, nanoseconds(fraction)))
    }
}

/// The nanoseconds of `.250`.
fn nanoseconds(fraction: &[u8]) -> u32 {
    let digits = fraction.iter().skip(1).chain(&[b'0'; 9]).take(9);
    digits.fold(0, |sum, digit| match digit.wrapping_sub(b'0') {
        digit @ 0..=9 => sum * 10 + u32::from(digit),
        _ => sum * 10,
    })
}

/// Where a log was written.
#[derive(Debug, Clone)]
pub(super) struct Here(pub(super) TimeZone);

impl Default for Here {
    fn default() -> Here {
        Here(TimeZone::UTC)
    }
}

impl Here {
    fn seconds(&self, civil: DateTime) -> Result<u32, Skip> {
        let zoned = civil.to_zoned(self.0.clone()).map_err(|_| Skip::BadTime)?;
        in_range(zoned.timestamp().as_second())
    }
}

fn epoch(text: &[u8]) -> Result<Stamp, Skip> {
    let text = std::str::from_utf8(text).map_err(|_| Skip::BadTime)?;
    epoch_number(text.parse().map_err(|_| Skip::BadTime)?)
}

fn by_pattern(pattern: &str, text: &[u8], cache: &DateCache) -> Result<Stamp, Skip> {
    let parsed = strtime::parse(pattern, text).map_err(|_| Skip::BadTime)?;
    let (time, nanoseconds) = match parsed.to_timestamp() {
        Ok(timestamp) => (
            in_range(timestamp.as_second())?,
            timestamp.subsec_nanosecond(),
        ),
        Err(_) => {
            let civil = parsed.to_datetime().map_err(|_| Skip::BadTime)?;
            (cache.here.seconds(civil)?, civil.subsec_nanosecond())
        }
    };
    Ok(Stamp::new(time, nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(style: &TimeStyle, text: &str, expected: Result<u32, Skip>) {
        assert_eq!(
            style
                .read(text.as_bytes(), &mut DateCache::default())
                .map(|stamp| stamp.time),
            expected,
            "{text}"
        );
    }

    #[test]
    fn styles() {
        check(
            &TimeStyle::Clf,
            "01/Jan/2030:00:00:00 +0100",
            Ok(1_893_452_400),
        );
        check(
            &TimeStyle::Clf,
            "29/Feb/2024:23:59:60 -0330",
            Ok(1_709_263_799),
        );
        check(
            &TimeStyle::Clf,
            "29/Feb/2023:00:00:00 +0000",
            Err(Skip::BadTime),
        );
        check(
            &TimeStyle::Clf,
            "01/Jan/1970:00:00:00 +0000",
            Err(Skip::TimeOutOfRange),
        );
        check(
            &TimeStyle::Clf,
            "01/Jan/2030:24:00:00 +0000",
            Err(Skip::BadTime),
        );
        check(
            &TimeStyle::Iso,
            "2030-01-01T01:00:00.250+01:00",
            Ok(1_893_456_000),
        );
        check(&TimeStyle::Iso, "2030-01-01 00:00:00", Ok(1_893_456_000));
        check(&TimeStyle::Any, "1893456000.123", Ok(1_893_456_000));
        check(&TimeStyle::Any, "1893456000123", Ok(1_893_456_000));
        check(&TimeStyle::Any, "", Err(Skip::BadTime));
        check(
            &TimeStyle::Any,
            "9".repeat(400).as_str(),
            Err(Skip::BadTime),
        );
        check(
            &TimeStyle::Strftime("%d.%m.%Y %H:%M:%S %z".into()),
            "01.01.2030 00:00:00 +0000",
            Ok(1_893_456_000),
        );
    }

    #[test]
    fn fractions_of_seconds() {
        let tick = |style: &TimeStyle, text: &str| {
            let stamp = style.read(text.as_bytes(), &mut DateCache::default());
            stamp.unwrap().tick.bits()
        };
        for (style, text, expected) in [
            (TimeStyle::Clf, "01/Jan/2030:00:00:00 +0100", 0),
            (TimeStyle::Iso, "2030-01-01T01:00:00+01:00", 0),
            (TimeStyle::Iso, "2030-01-01T01:00:00.001+01:00", 1),
            (TimeStyle::Iso, "2030-01-01 00:00:00.5", 8),
            (TimeStyle::Any, "1893456000", 0),
            (TimeStyle::Any, "1893456000.999999", 15),
            (TimeStyle::Any, "1893456000500", 8),
            (TimeStyle::Short, "01/Jan/2030:00:00:00.067", 2),
            (TimeStyle::Short, "01/Jan/2030:00:00:00.x", 0),
            (
                TimeStyle::Strftime("%d.%m.%Y %H:%M:%S%.f %z".into()),
                "01.01.2030 00:00:00.25 +0000",
                4,
            ),
        ] {
            assert_eq!(tick(&style, text), expected, "{text}");
        }
    }

    #[test]
    fn the_cached_minute_never_leaks_into_another_minute_day_or_zone() {
        let mut cache = DateCache::default();
        let mut read = |text: &str| {
            let stamp = TimeStyle::Clf.read(text.as_bytes(), &mut cache).unwrap();
            stamp.time
        };
        let first = read("01/Jan/2030:00:00:00 +0000");
        assert_eq!(read("02/Jan/2030:00:00:00 +0000"), first + 86_400);
        assert_eq!(read("02/Jan/2030:00:00:00 -0100"), first + 86_400 + 3600);
        assert_eq!(read("01/Jan/2030:00:00:01 +0000"), first + 1);
        assert_eq!(read("01/Jan/2030:00:01:01 +0000"), first + 61);
        assert_eq!(read("01/Jan/2030:10:01:01 +0000"), first + 36_061);
    }
}
