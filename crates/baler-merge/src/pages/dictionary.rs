//! Values in PLAIN layout that can be looked up by number: a dictionary, or the values of a PLAIN page.

use super::bounds::{Bounds, Order};
use super::plain::Layout;

/// Values in PLAIN layout. Booleans are not among them; they have no dictionaries.
#[derive(Debug, Clone)]
pub(crate) struct Values {
    bytes: Vec<u8>,
    places: Places,
}

#[derive(Debug, Clone)]
enum Places {
    /// All have this length.
    Fixed(usize),
    /// Where each value begins, behind its length.
    Starts(Vec<u32>),
}

impl Values {
    /// Takes `bytes` for exactly `count` values.
    pub(crate) fn parse(bytes: Vec<u8>, layout: Layout, count: usize) -> Result<Self, String> {
        let places = match layout {
            Layout::Fixed(width) if count.checked_mul(width) == Some(bytes.len()) => Places::Fixed(width),
            Layout::Fixed(_) => return Err("values do not fill their page".into()),
            Layout::Bytes => Places::Starts(starts(&bytes, count)?),
            Layout::Bits => return Err("booleans cannot be looked up".into()),
        };
        Ok(Self { bytes, places })
    }

    pub(crate) fn len(&self) -> usize {
        match &self.places {
            Places::Fixed(0) => 0,
            Places::Fixed(width) => self.bytes.len() / width,
            Places::Starts(starts) => starts.len(),
        }
    }

    /// The value of this number, without its length.
    pub(crate) fn get(&self, number: usize) -> &[u8] {
        match &self.places {
            Places::Fixed(width) => &self.bytes[number * width..][..*width],
            Places::Starts(starts) => {
                let start = starts[number] as usize;
                &self.bytes[start..self.end(starts, number)]
            }
        }
    }

    /// The value of this number as it lies in a PLAIN page.
    pub(crate) fn plain(&self, number: usize) -> &[u8] {
        match &self.places {
            Places::Fixed(_) => self.get(number),
            Places::Starts(starts) => &self.bytes[starts[number] as usize - 4..self.end(starts, number)],
        }
    }

    /// Values that follow one another, as they lie in a PLAIN page.
    pub(crate) fn plain_range(&self, numbers: std::ops::Range<usize>) -> &[u8] {
        match &self.places {
            Places::Fixed(width) => &self.bytes[numbers.start * width..numbers.end * width],
            Places::Starts(_) if numbers.is_empty() => &[],
            Places::Starts(starts) => {
                &self.bytes[starts[numbers.start] as usize - 4..self.end(starts, numbers.end - 1)]
            }
        }
    }

    /// Appends the values of these numbers as they lie in a PLAIN page.
    pub(crate) fn gather(&self, numbers: &[u32], into: &mut Vec<u8>) {
        match &self.places {
            Places::Fixed(8) => gather_fixed::<8>(&self.bytes, numbers, into),
            Places::Fixed(4) => gather_fixed::<4>(&self.bytes, numbers, into),
            _ => numbers
                .iter()
                .for_each(|number| into.extend_from_slice(self.plain(*number as usize))),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|number| self.get(number))
    }

    /// Bounds of all values.
    pub(crate) fn bounds(&self, order: Order) -> Option<Bounds> {
        match &self.places {
            Places::Fixed(width) => order.bounds_of_fixed(&self.bytes, *width),
            Places::Starts(_) => order.bounds_of(self.iter()),
        }
    }

    /// All values, in PLAIN layout.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The room that they take.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn end(&self, starts: &[u32], number: usize) -> usize {
        starts
            .get(number + 1)
            .map_or(self.bytes.len(), |next| *next as usize - 4)
    }
}

/// Appends the values of these numbers, all of one width.
pub(crate) fn gather_fixed<const WIDTH: usize>(bytes: &[u8], numbers: &[u32], into: &mut Vec<u8>) {
    let (values, _) = bytes.as_chunks::<WIDTH>();
    into.reserve(numbers.len() * WIDTH);
    // Several at once, so that room is looked for less often; it is not cleared first.
    let (blocks, rest) = numbers.as_chunks::<8>();
    for block in blocks {
        let found = block.map(|number| values[number as usize]);
        into.extend_from_slice(found.as_flattened());
    }
    for number in rest {
        into.extend_from_slice(&values[*number as usize]);
    }
}

fn starts(bytes: &[u8], count: usize) -> Result<Vec<u32>, String> {
    if count > bytes.len() / 4 {
        return Err("a page of strings ends in the middle".into());
    }
    let mut starts = Vec::with_capacity(count);
    let mut at = 0usize;
    for _ in 0..count {
        let length = bytes.get(at..).and_then(|rest| rest.first_chunk());
        let length = u32::from_le_bytes(*length.ok_or("a page of strings ends in the middle")?);
        starts.push(u32::try_from(at + 4).map_err(|_| "a page is larger than 4 GiB")?);
        at += 4 + length as usize;
    }
    match at == bytes.len() {
        true => Ok(starts),
        false => Err("strings do not fill their page".into()),
    }
}
