//! Cuts a job into key ranges that can be merged apart, from the statistics of its row groups alone. Pure.
//!
//! An edge is a byte string in the encoding of `key_range`. A row lies in the range after an edge if its whole encoded key is not
//! less than the edge, so every key lies in exactly one range: nulls and NaN are encoded too, widths do not matter, and
//! equal keys stay together. Any string will do as an edge, so bounds that were cut do no harm, and where all row groups
//! cover the same keys an edge is put between their ends. Under a keyed rule the columns are those of the key.

use crate::error::MergeError;
use crate::key_range::{KeyRange, encode_whole};
use crate::key_span::KeySpan;
use crate::spec::SortColumn;
use arrow::array::{ArrayRef, BooleanBufferBuilder};
use arrow::buffer::BooleanBuffer;

/// A row group, or any other part of an input.
#[derive(Clone, Debug)]
pub(crate) struct Weight {
    /// Where its keys lie; nothing if unknown.
    pub(crate) range: Option<KeyRange>,
    /// What it costs to merge.
    pub(crate) bytes: u64,
}

/// At most `ranges` spans of about equal bytes, in key order, which together are all keys. Fewer where keys do not allow more.
///
/// Bytes are taken to lie evenly between the ends of their row group. Row groups whose keys are unknown count nowhere.
pub(crate) fn cut(weights: &[Weight], ranges: usize) -> Vec<KeySpan> {
    let mut edges = edges(weights, ranges);
    edges.dedup();
    let mut from = None;
    let mut spans = Vec::with_capacity(edges.len() + 1);
    for edge in edges {
        spans.push(KeySpan {
            from: from.replace(edge.clone()),
            until: Some(edge),
        });
    }
    spans.push(KeySpan { from, until: None });
    spans
}

/// Bytes of a key, behind what all begin with, that tell where it lies.
const DIGITS: usize = 16;

fn edges(weights: &[Weight], ranges: usize) -> Vec<Vec<u8>> {
    let known: Vec<(&KeyRange, f64)> = weights
        .iter()
        .filter(|weight| weight.bytes > 0)
        .filter_map(|weight| Some((weight.range.as_ref()?, weight.bytes as f64)))
        .collect();
    let least = known.iter().map(|(range, _)| &range.min).min();
    let greatest = known.iter().map(|(range, _)| &range.max).max();
    let (Some(least), Some(greatest)) = (least, greatest) else {
        return Vec::new();
    };
    // All keys lie between these two, so all begin with what both begin with.
    let shared = least.iter().zip(greatest).take_while(|(a, b)| a == b).count();
    let density = Density::of(
        known
            .iter()
            .map(|(range, bytes)| (digits(&range.min, shared), digits(&range.max, shared), *bytes)),
    );
    let edge = |position: u128| {
        let mut edge = [&least[..shared], &position.to_be_bytes()].concat();
        // Zeros at the end may be none of the key's: without them it is not less than its edge.
        while edge.len() > shared && edge.last() == Some(&0) {
            edge.pop();
        }
        edge
    };
    let positions = density.cuts(ranges).into_iter();
    positions
        .map(edge)
        .filter(|edge| least < edge && edge <= greatest)
        .collect()
}

/// A key as a number, for interpolation only.
fn digits(key: &[u8], from: usize) -> u128 {
    let mut digits = [0; DIGITS];
    let rest = key.get(from..).unwrap_or_default();
    let length = rest.len().min(DIGITS);
    digits[..length].copy_from_slice(&rest[..length]);
    u128::from_be_bytes(digits)
}

/// How many bytes lie where.
struct Density {
    /// Where the bytes per step change, and by how much; ascending.
    slopes: Vec<(u128, f64)>,
    /// Bytes that lie at one place; ascending.
    lumps: Vec<(u128, f64)>,
    total: f64,
}

impl Density {
    fn of(parts: impl Iterator<Item = (u128, u128, f64)>) -> Self {
        let mut density = Self {
            slopes: Vec::new(),
            lumps: Vec::new(),
            total: 0.0,
        };
        for (min, max, bytes) in parts {
            density.total += bytes;
            if max > min {
                let slope = bytes / (max - min) as f64;
                density.slopes.extend([(min, slope), (max, -slope)]);
            } else {
                density.lumps.push((min, bytes));
            }
        }
        density.slopes.sort_by_key(|(place, _)| *place);
        density.lumps.sort_by_key(|(place, _)| *place);
        density
    }

    /// The places before which one, two, … of `ranges` parts of the bytes lie.
    fn cuts(&self, ranges: usize) -> Vec<u128> {
        let mut goals = (1..ranges)
            .map(|part| self.total * part as f64 / ranges as f64)
            .peekable();
        let mut cuts = Vec::new();
        let (mut bytes, mut slope, mut at) = (0.0, 0.0, 0);
        let (mut slopes, mut lumps) = (self.slopes.iter().peekable(), self.lumps.iter().peekable());
        while goals.peek().is_some() {
            let next_slope = slopes.peek().map(|(place, _)| *place);
            let next_lump = lumps.peek().map(|(place, _)| *place);
            let Some(next) = next_slope.into_iter().chain(next_lump).min() else {
                break;
            };
            let behind = bytes + slope * (next - at) as f64;
            while let Some(goal) = goals.next_if(|goal| *goal < behind) {
                let step = ((goal - bytes) / slope) as u128;
                cuts.push(at + step.min(next - at));
            }
            (bytes, at) = (behind, next);
            while let Some((_, change)) = slopes.next_if(|(place, _)| *place == next) {
                slope += change;
            }
            while let Some((_, lump)) = lumps.next_if(|(place, _)| *place == next) {
                // A lump goes to one side whole: behind the edge.
                bytes += lump;
                while goals.next_if(|goal| *goal < bytes).is_some() {
                    cuts.push(next);
                }
            }
        }
        cuts
    }
}

/// Says which rows lie in a span.
#[derive(Clone, Debug)]
pub(crate) struct RangeFilter {
    span: KeySpan,
    sort: Vec<SortColumn>,
}

impl RangeFilter {
    /// `sort` are the columns that the span was cut by: under a keyed rule the key, else the sort key.
    pub(crate) fn new(span: KeySpan, sort: &[SortColumn]) -> Self {
        Self {
            span,
            sort: sort.to_vec(),
        }
    }

    /// A bit for each of `rows` rows, given those columns in key order and in the plain layout of the common schema.
    pub(crate) fn rows(&self, columns: &[ArrayRef], rows: usize) -> Result<BooleanBuffer, MergeError> {
        if self.span.is_all() {
            return Ok(BooleanBuffer::new_set(rows));
        }
        let mut key = Vec::new();
        let mut inside = BooleanBufferBuilder::new(rows);
        for row in 0..rows {
            self.encode(columns, row, &mut key)?;
            inside.append(self.span.contains(&key));
        }
        Ok(inside.finish())
    }

    /// The same for rows that are sorted, where those inside lie together.
    pub(crate) fn sorted_rows(&self, columns: &[ArrayRef], rows: usize) -> Result<BooleanBuffer, MergeError> {
        let edge = |edge: &Option<Vec<u8>>, open: usize| match edge {
            Some(edge) => self.rows_before(columns, rows, edge),
            None => Ok(open),
        };
        let (start, end) = (edge(&self.span.from, 0)?, edge(&self.span.until, rows)?);
        let mut inside = BooleanBufferBuilder::new(rows);
        inside.append_n(start, false);
        inside.append_n(end.saturating_sub(start), true);
        inside.append_n(rows - end.max(start), false);
        Ok(inside.finish())
    }

    /// How many of some sorted rows are less than an edge.
    fn rows_before(&self, columns: &[ArrayRef], rows: usize, edge: &[u8]) -> Result<usize, MergeError> {
        let mut key = Vec::new();
        let (mut low, mut high) = (0, rows);
        while low < high {
            let middle = low + (high - low) / 2;
            self.encode(columns, middle, &mut key)?;
            match key[..] < *edge {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Ok(low)
    }

    fn encode(&self, columns: &[ArrayRef], row: usize, into: &mut Vec<u8>) -> Result<(), MergeError> {
        match encode_whole(columns, row, &self.sort, into) {
            true => Ok(()),
            false => Err(MergeError::Spec(
                "a job cannot be cut by a key of this type: merge it in one range".into(),
            )),
        }
    }
}
