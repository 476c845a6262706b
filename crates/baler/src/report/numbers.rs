//! Numbers as people read them.

use std::time::Duration;

use bytesize::ByteSize;

/// `1234567` as `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let first = match digits.len() % 3 {
        0 => 3,
        ones => ones,
    };
    let (head, tail) = digits.split_at(first.min(digits.len()));
    let groups = tail
        .as_bytes()
        .chunks(3)
        .map(|group| String::from_utf8_lossy(group));
    groups.fold(head.to_owned(), |text, group| text + "," + &group)
}

/// A size in the unit that fits.
pub fn bytes(number: u64) -> String {
    ByteSize(number).display().iec().to_string()
}

/// A duration with as many digits as matter.
pub fn seconds(duration: Duration) -> String {
    match duration.as_secs_f64() {
        secs if secs < 0.1 => format!("{:.0} ms", secs * 1_000.0),
        secs if secs < 10.0 => format!("{secs:.2} s"),
        secs if secs < 120.0 => format!("{secs:.0} s"),
        secs => format!("{:.0} min {:.0} s", (secs / 60.0).floor(), secs % 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        let written: Vec<String> = [0, 7, 999, 1_000, 123_456, 1_234_567].map(count).into();
        assert_eq!(written, ["0", "7", "999", "1,000", "123,456", "1,234,567"]);
    }
}
