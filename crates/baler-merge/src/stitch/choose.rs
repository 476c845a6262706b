//! Decides how a stitched column is laid out: with a merged dictionary, with plain values, or with differences.

use super::read::{Part, ReadChunk};
use super::seal::hash_of;
use crate::limits::PAGE_ROWS;
use crate::pages::bounds::Order;
use crate::pages::codec::same_codec;
use crate::pages::dictionary::Values;
use crate::pages::plain::{Layout, push_bytes};
use crate::spec::Codec;
use parquet::basic::Type;
use parquet::schema::types::ColumnDescriptor;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A merged dictionary larger than this is given up.
const DICTIONARY_BYTES_MAX: usize = 1 << 20;
/// A dictionary in disguise becomes a page as it lies if it has so many rows; smaller ones are joined, larger ones cut.
const RETYPED_ROWS: std::ops::RangeInclusive<usize> = PAGE_ROWS / 8..=PAGE_ROWS * 4;

/// How the column is laid out.
pub(crate) struct Layouts {
    pub(crate) shape: Shape,
    /// For each chunk whether its dictionary page becomes a data page as it lies.
    pub(crate) retyped: Vec<bool>,
}

/// How rows are written that are not copied.
pub(crate) enum Shape {
    /// As indices into one dictionary.
    Dictionary(Merged),
    /// As values.
    Plain,
    /// As differences of integers.
    Delta,
    /// As bits.
    Bits,
}

/// Several dictionaries as one. Its values are in order, so codes compare as values do.
pub(crate) struct Merged {
    pub(crate) values: Values,
    /// For each chunk the new number of each value of its dictionary.
    pub(crate) renumbered: Vec<Vec<u32>>,
    /// Codes from here on are NaN.
    pub(crate) nan_from: u32,
}

/// Looks at the chunks of a column, all of them read.
pub(crate) fn choose(chunks: &[ReadChunk], leaf: &ColumnDescriptor, codec: Codec) -> Layouts {
    let disguised: Vec<bool> = chunks.iter().map(ReadChunk::is_disguised).collect();
    let mut layouts = Layouts {
        shape: Shape::Plain,
        retyped: vec![false; chunks.len()],
    };
    if Layout::of(leaf) == Layout::Bits {
        layouts.shape = Shape::Bits;
        return layouts;
    }
    let with_codes = chunks
        .iter()
        .zip(&disguised)
        .filter(|(chunk, _)| chunk.dictionary.is_some());
    let (rows, rows_disguised) = with_codes.fold((0, 0), |(all, some), (chunk, disguised)| {
        let here = rows_with_codes(chunk);
        (all + here, some + if *disguised { here } else { 0 })
    });
    if rows_disguised * 2 <= rows
        && let Some(merged) = merge(chunks, leaf, rows)
    {
        layouts.shape = Shape::Dictionary(merged);
        return layouts;
    }
    let all_disguised = rows > 0 && rows_disguised == rows;
    if all_disguised && chunks.iter().all(|chunk| ascends(chunk, leaf)) {
        layouts.shape = Shape::Delta;
        return layouts;
    }
    for (number, chunk) in chunks.iter().enumerate() {
        let fits = RETYPED_ROWS.contains(&rows_with_codes(chunk));
        layouts.retyped[number] = disguised[number] && fits && same_codec(chunk.compression, codec);
    }
    layouts
}

fn rows_with_codes(chunk: &ReadChunk) -> usize {
    let rows = chunk.parts.iter().map(|part| match part {
        Part::Codes(rows) => rows.rows,
        _ => 0,
    });
    rows.sum()
}

/// Whether a dictionary holds integers in ascending order: their differences are small.
fn ascends(chunk: &ReadChunk, leaf: &ColumnDescriptor) -> bool {
    let Some((_, values)) = &chunk.dictionary else {
        return true;
    };
    let order = match leaf.physical_type() {
        Type::INT32 => Order::Signed32,
        Type::INT64 => Order::Signed64,
        _ => return false,
    };
    (1..values.len()).all(|number| order.compare(values.get(number - 1), values.get(number)).is_le())
}

/// One dictionary of all; nothing if it would be too large to be worth it, or there is none.
fn merge(chunks: &[ReadChunk], leaf: &ColumnDescriptor, rows: usize) -> Option<Merged> {
    let mut known: HashMap<u64, u32, BuildHasherDefault<AsItIs>> = HashMap::default();
    let mut seen: Vec<&[u8]> = Vec::new();
    let mut renumbered = Vec::with_capacity(chunks.len());
    let mut bytes = 0;
    for chunk in chunks {
        let mut numbers = Vec::new();
        for value in chunk.dictionary.iter().flat_map(|(_, values)| values.iter()) {
            let number = *known.entry(hash_of(value)).or_insert_with(|| {
                bytes += value.len() + 4;
                seen.push(value);
                seen.len() as u32 - 1
            });
            // Two values of one hash: rare enough to do without a dictionary.
            if seen[number as usize] != value || bytes > DICTIONARY_BYTES_MAX {
                return None;
            }
            numbers.push(number);
        }
        renumbered.push(numbers);
    }
    if seen.is_empty() || seen.len() * 2 > rows {
        return None;
    }
    Some(Merged::sorted(&seen, renumbered, leaf))
}

impl Merged {
    /// Puts the values in order and counts anew.
    fn sorted(seen: &[&[u8]], mut renumbered: Vec<Vec<u32>>, leaf: &ColumnDescriptor) -> Self {
        let order = Order::of(leaf).unwrap_or(Order::Bytes);
        let mut places: Vec<u32> = (0..seen.len() as u32).collect();
        places.sort_unstable_by(|a, b| {
            let (a, b) = (seen[*a as usize], seen[*b as usize]);
            let by_nan = order.is_nan(a).cmp(&order.is_nan(b));
            by_nan.then_with(|| order.compare(a, b)).then_with(|| a.cmp(b))
        });
        let mut numbers = vec![0; seen.len()];
        let mut bytes = Vec::new();
        let layout = Layout::of(leaf);
        for (number, place) in places.iter().enumerate() {
            numbers[*place as usize] = number as u32;
            match layout {
                Layout::Bytes => push_bytes(&mut bytes, seen[*place as usize]),
                _ => bytes.extend_from_slice(seen[*place as usize]),
            }
        }
        for number in renumbered.iter_mut().flatten() {
            *number = numbers[*number as usize];
        }
        let nans = seen.iter().filter(|value| order.is_nan(value)).count();
        let values = Values::parse(bytes, layout, seen.len());
        Self {
            nan_from: (seen.len() - nans) as u32,
            values: values.expect("values were just written in this layout"),
            renumbered,
        }
    }
}

/// Hashes are looked up as they are.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|byte| self.0 = self.0 << 8 | u64::from(*byte));
    }
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
