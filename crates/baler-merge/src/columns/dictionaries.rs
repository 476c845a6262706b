//! Dictionaries of column chunks: of codes that are known, of numbers that lie close together, of numbers that come again and again.

use super::own_pages::{plain_numbers, valid_codes};
use crate::error::MergeError;
use crate::pages::bounds::{Bounds, Order};
use crate::pages::plain;
use crate::shelf::{Entries, Flat, Values};
use arrow::array::ArrayRef;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// The dictionary of a column in codes, and which of its entries a row group uses.
pub(super) struct Known {
    entries: Arc<Entries>,
    /// By code: its place among those used.
    dense: Vec<u32>,
    used: Vec<u32>,
}

impl Known {
    pub(super) fn new(entries: Arc<Entries>, is_used: &[bool]) -> Self {
        let (mut dense, mut used) = (vec![0; is_used.len()], Vec::new());
        for (code, _) in is_used.iter().enumerate().filter(|(_, used)| **used) {
            dense[code] = used.len() as u32;
            used.push(code as u32);
        }
        Self { entries, dense, used }
    }

    pub(super) fn codes_of(&self, rows: &ArrayRef) -> Result<Vec<u32>, MergeError> {
        valid_codes(rows)
    }

    pub(super) fn dense(&self, code: u32) -> u32 {
        self.dense[code as usize]
    }

    /// Entries in use.
    pub(super) fn used(&self) -> usize {
        self.used.len()
    }

    /// Bounds of some codes, and the length of what they stand for.
    pub(super) fn facts(&self, codes: &[u32]) -> (Option<Bounds>, Option<u64>) {
        let ranks = self.entries.ranks();
        let mut ends: Option<(u32, u32)> = None;
        let mut length = 0;
        for code in codes {
            let rank = ranks.of(*code);
            ends = Some(ends.map_or((rank, rank), |(min, max)| (min.min(rank), max.max(rank))));
            length += self.entries.entry(*code).len() as u64;
        }
        let entry = |rank| self.entries.entry(ranks.code(rank));
        let bounds = ends.map(|(min, max)| Bounds::exact(entry(min), entry(max), None));
        (bounds, Some(length))
    }

    pub(super) fn plain_dictionary(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for code in &self.used {
            plain::push_bytes(&mut bytes, self.entries.entry(*code));
        }
        bytes
    }
}

/// Numbers of a row group that lie close together, so that a table says which they are.
pub(super) struct Few {
    width: usize,
    least: i64,
    /// By distance from the least: its place among those used.
    dense: Vec<u32>,
    used: Vec<i64>,
}

/// As far may the greatest be from the least.
const FEW_APART_MAX: i64 = 1 << 16;

impl Few {
    /// Looks at all rows that a window reads; nothing if they lie too far apart.
    pub(super) fn of(sources: &[Flat], width: usize) -> Option<Self> {
        let bytes = || {
            sources.iter().filter_map(|source| match &source.values {
                Values::Fixed(bytes) => Some(bytes),
                _ => None,
            })
        };
        fn all<'a>(bytes: impl Iterator<Item = &'a bytes::Bytes>, width: usize, mut take: impl FnMut(i64)) {
            for bytes in bytes {
                match width {
                    4 => bytes
                        .as_chunks()
                        .0
                        .iter()
                        .for_each(|v| take(i32::from_le_bytes(*v).into())),
                    _ => bytes
                        .as_chunks()
                        .0
                        .iter()
                        .for_each(|v| take(i64::from_le_bytes(*v))),
                }
            }
        }
        let (mut min, mut max) = (i64::MAX, i64::MIN);
        all(bytes(), width, |value| {
            (min, max) = (min.min(value), max.max(value))
        });
        let apart = max
            .checked_sub(min)
            .filter(|apart| (0..FEW_APART_MAX).contains(apart))?;
        let mut is_used = vec![false; apart as usize + 1];
        all(bytes(), width, |value| is_used[(value - min) as usize] = true);
        let (mut dense, mut used) = (vec![0; is_used.len()], Vec::new());
        for (place, _) in is_used.iter().enumerate().filter(|(_, used)| **used) {
            dense[place] = used.len() as u32;
            used.push(min + place as i64);
        }
        Some(Self {
            width,
            least: min,
            dense,
            used,
        })
    }

    pub(super) fn used(&self) -> usize {
        self.used.len()
    }

    /// Bounds and codes of the rows that are there.
    pub(super) fn page(&self, rows: &ArrayRef, order: Option<Order>) -> (Option<Bounds>, Vec<u32>) {
        let (bounds, bytes) = plain_numbers(rows, self.width, order);
        let code = |value: i64| self.dense[(value - self.least) as usize];
        let codes = match self.width {
            4 => bytes
                .as_chunks()
                .0
                .iter()
                .map(|value| code(i32::from_le_bytes(*value).into()))
                .collect(),
            _ => bytes
                .as_chunks()
                .0
                .iter()
                .map(|value| code(i64::from_le_bytes(*value)))
                .collect(),
        };
        (bounds, codes)
    }

    pub(super) fn plain_dictionary(&self) -> Vec<u8> {
        match self.width {
            4 => self
                .used
                .iter()
                .flat_map(|value| (*value as i32).to_le_bytes())
                .collect(),
            _ => self.used.iter().flat_map(|value| value.to_le_bytes()).collect(),
        }
    }
}

/// Numbers of any kind, in a dictionary that grows with the pages.
pub(super) struct Repeated {
    width: usize,
    codes: HashMap<u64, u32, BuildHasherDefault<Spread>>,
    dictionary: Vec<u8>,
    /// There were too many: pages from there on hold the numbers themselves.
    full: bool,
}

/// With more entries than this an index is hardly shorter than a number.
pub(super) const REPEATED_MAX: usize = 1 << 15;

impl Repeated {
    pub(super) fn of_width(width: usize) -> Self {
        Self {
            width,
            codes: HashMap::default(),
            dictionary: Vec::new(),
            full: false,
        }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Codes of the numbers of a page; nothing if they are not all in the dictionary and will not be.
    pub(super) fn codes(&mut self, plain: &[u8]) -> Option<Vec<u32>> {
        if self.full {
            return None;
        }
        let codes: Option<Vec<u32>> = match self.width {
            4 => {
                let values = plain.as_chunks().0.iter();
                values
                    .map(|value| self.code(u32::from_le_bytes(*value).into()))
                    .collect()
            }
            _ => {
                let values = plain.as_chunks().0.iter();
                values
                    .map(|value| self.code(u64::from_le_bytes(*value)))
                    .collect()
            }
        };
        self.full = codes.is_none();
        codes
    }

    fn code(&mut self, value: u64) -> Option<u32> {
        if let Some(code) = self.codes.get(&value) {
            return Some(*code);
        }
        let code = self.codes.len();
        if code == REPEATED_MAX {
            return None;
        }
        self.codes.insert(value, code as u32);
        self.dictionary
            .extend_from_slice(&value.to_le_bytes()[..self.width]);
        Some(code as u32)
    }

    pub(super) fn used(&self) -> usize {
        self.codes.len()
    }

    pub(super) fn plain_dictionary(&self) -> &[u8] {
        &self.dictionary
    }
}

/// Spreads numbers over a table. Who writes them cannot make them collide for long: the table has an end.
#[derive(Default)]
pub(super) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }
    fn write_u64(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value ^ 0x9E37_79B9_7F4A_7C15) * 0xC2B2_AE3D_27D4_EB4F;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}

/// How many numbers a column draws from, if so many of some rows differ and all are drawn alike often.
pub(super) fn pool(distinct: usize, rows: usize) -> usize {
    let expected = |pool: usize| pool as f64 * (1.0 - (-(rows as f64) / pool as f64).exp());
    let (mut low, mut high) = (distinct.max(1), usize::from(u16::MAX) * 16);
    while low < high {
        let middle = low + (high - low) / 2;
        match expected(middle) < distinct as f64 {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_come_again_are_told_by_code_until_there_are_too_many() {
        let bytes = |range: std::ops::Range<u64>| range.flat_map(u64::to_le_bytes).collect::<Vec<u8>>();
        let mut repeated = Repeated::of_width(8);
        assert_eq!(repeated.codes(&bytes(5..8)), Some(vec![0, 1, 2]));
        assert_eq!(repeated.codes(&bytes(6..9)), Some(vec![1, 2, 3]));
        assert_eq!(repeated.plain_dictionary(), bytes(5..9));
        assert_eq!(repeated.codes(&bytes(0..REPEATED_MAX as u64 + 1)), None);
        assert_eq!(repeated.used(), REPEATED_MAX);
        assert_eq!(
            repeated.codes(&bytes(5..8)),
            None,
            "from there on every page is plain"
        );
    }

    #[test]
    fn a_pool_is_told_from_how_many_of_its_numbers_are_met() {
        for (distinct, rows, least, most) in [
            (10, 5_000, 10, 10),
            (4_000, 5_000, 10_000, 11_500),
            (5_000, 5_000, 1 << 19, 1 << 21),
        ] {
            let pool = pool(distinct, rows);
            assert!((least..=most).contains(&pool), "{distinct} of {rows}: {pool}");
        }
    }
}
