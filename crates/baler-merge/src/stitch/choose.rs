//! Decides how a stitched column is laid out: with a merged dictionary, with plain values, or with differences.

use super::Unfit;
use super::read::{Dictionary, Part, ReadChunk};
use super::seal::hash_of;
use crate::limits::PAGE_ROWS;
use crate::pages::bounds::Order;
use crate::pages::codec::{Unpackers, same_codec};
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
    /// How long each value is.
    pub(crate) lengths: Vec<u32>,
    /// Codes from here on are NaN.
    pub(crate) nan_from: u32,
}

/// Looks at the chunks of a column, all of them read.
pub(crate) fn choose(
    chunks: &mut [ReadChunk],
    leaf: &ColumnDescriptor,
    codec: Codec,
    unpackers: &mut Unpackers,
) -> Result<Layouts, Unfit> {
    let disguised: Vec<bool> = chunks.iter().map(ReadChunk::is_disguised).collect();
    let mut layouts = Layouts {
        shape: Shape::Plain,
        retyped: vec![false; chunks.len()],
    };
    if Layout::of(leaf) == Layout::Bits {
        layouts.shape = Shape::Bits;
        return Ok(layouts);
    }
    let with_codes = chunks
        .iter()
        .zip(&disguised)
        .filter(|(chunk, _)| chunk.dictionary.is_some());
    let (rows, rows_disguised) = with_codes.fold((0, 0), |(all, some), (chunk, disguised)| {
        let here = rows_with_codes(chunk);
        (all + here, some + if *disguised { here } else { 0 })
    });
    let mut unpack = |chunk: &mut ReadChunk| match &mut chunk.dictionary {
        Some(dictionary) => match unpackers.of(chunk.compression).map_err(Unfit::Node)? {
            Some(unpacker) => dictionary.unpack(Layout::of(leaf), unpacker),
            None => Err(Unfit::Decode(format!("it is packed as {}", chunk.compression))),
        },
        None => Ok(()),
    };
    let (is_shared, all_disguised) = (rows_disguised * 2 <= rows, rows > 0 && rows_disguised == rows);
    let is_whole = matches!(leaf.physical_type(), Type::INT32 | Type::INT64);
    if is_shared || (all_disguised && is_whole) {
        chunks.iter_mut().try_for_each(&mut unpack)?;
    }
    if is_shared && let Some(merged) = merge(chunks, leaf, rows)? {
        layouts.shape = Shape::Dictionary(merged);
        return Ok(layouts);
    }
    if all_disguised && is_whole && chunks.iter().all(|chunk| ascends(chunk, leaf)) {
        layouts.shape = Shape::Delta;
        return Ok(layouts);
    }
    for (number, chunk) in chunks.iter_mut().enumerate() {
        let fits = RETYPED_ROWS.contains(&rows_with_codes(chunk));
        layouts.retyped[number] = disguised[number] && fits && same_codec(chunk.compression, codec);
        // A dictionary that becomes a page as it lies need not be looked into, if its bounds are known.
        let has_bounds = chunk.bounds.is_some() || Order::of(leaf).is_none();
        if !(layouts.retyped[number] && has_bounds) {
            unpack(chunk)?;
        }
    }
    Ok(layouts)
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
    let Some(values) = chunk
        .dictionary
        .as_ref()
        .and_then(|dictionary| dictionary.values().ok())
    else {
        return true;
    };
    match leaf.physical_type() {
        Type::INT32 => values
            .bytes()
            .as_chunks()
            .0
            .is_sorted_by_key(|bytes| i32::from_le_bytes(*bytes)),
        Type::INT64 => values
            .bytes()
            .as_chunks()
            .0
            .is_sorted_by_key(|bytes| i64::from_le_bytes(*bytes)),
        _ => false,
    }
}

/// One dictionary of all; nothing if it would be too large to be worth it, or there is none.
fn merge(chunks: &[ReadChunk], leaf: &ColumnDescriptor, rows: usize) -> Result<Option<Merged>, Unfit> {
    let mut known: HashMap<u64, u32, BuildHasherDefault<AsItIs>> = HashMap::default();
    let mut seen: Vec<&[u8]> = Vec::new();
    let mut renumbered = Vec::with_capacity(chunks.len());
    let mut bytes = 0;
    for chunk in chunks {
        let mut numbers = Vec::new();
        let values = chunk.dictionary.as_ref().map(Dictionary::values);
        for value in values
            .transpose()
            .map_err(Unfit::damaged)?
            .iter()
            .flat_map(|values| values.iter())
        {
            let number = *known.entry(hash_of(value)).or_insert_with(|| {
                bytes += value.len() + 4;
                seen.push(value);
                seen.len() as u32 - 1
            });
            // Two values of one hash: rare enough to do without a dictionary.
            if seen[number as usize] != value || bytes > DICTIONARY_BYTES_MAX {
                return Ok(None);
            }
            numbers.push(number);
        }
        renumbered.push(numbers);
    }
    if seen.is_empty() || seen.len() * 2 > rows {
        return Ok(None);
    }
    Ok(Some(Merged::sorted(&seen, renumbered, leaf)))
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
            lengths: places
                .iter()
                .map(|place| seen[*place as usize].len() as u32)
                .collect(),
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
