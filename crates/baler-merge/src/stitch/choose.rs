//! Decides how a stitched column is laid out: with a merged dictionary, with plain values, or with differences.

use super::AtChunk;
use super::bench::Workbench;
use super::chunk::{Dictionary, ReadChunk};
use crate::limits::PAGE_ROWS;
use crate::pages::bounds::Order;
use crate::pages::codec::same_codec;
use crate::pages::dictionary::Values;
use crate::pages::plain::{Layout, push_bytes};
use crate::spec::Codec;
use parquet::basic::Type;
use parquet::schema::types::ColumnDescriptor;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use xxhash_rust::xxh3::xxh3_64;

/// A merged dictionary larger than this is given up.
const DICTIONARY_BYTES_MAX: usize = 1 << 20;
/// One value of so many stands for the others where the size of a merged dictionary is guessed.
const SAMPLED: u64 = 16;
/// Fewer are no sample.
const SAMPLE_VALUES_MIN: usize = 256;
/// What could be a page becomes one as it lies if it has so many rows; smaller ones are joined, larger ones cut.
pub(super) const LIFTED_ROWS: std::ops::RangeInclusive<usize> = PAGE_ROWS / 8..=PAGE_ROWS * 4;

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
    /// As differences of integers, where these ascend.
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
    lengths: Lengths,
    /// Codes from here on are NaN.
    pub(crate) nan_from: u32,
}

enum Lengths {
    /// All are so long.
    Same(u32),
    Each(Vec<u32>),
}

/// Looks at the chunks of a column, all of them read.
pub(crate) fn choose(
    chunks: &mut [ReadChunk],
    leaf: &ColumnDescriptor,
    codec: Codec,
    with: &mut Workbench,
) -> Result<Layouts, AtChunk> {
    let mut layouts = Layouts {
        shape: Shape::Plain,
        retyped: vec![false; chunks.len()],
    };
    if Layout::of(leaf) == Layout::Bits {
        layouts.shape = Shape::Bits;
        return Ok(layouts);
    }
    let (mut rows, mut rows_disguised) = (0, 0);
    for (number, chunk) in chunks.iter_mut().enumerate() {
        chunk.see_through(with).map_err(|unfit| (number, unfit))?;
        let (here, kept) = (chunk.rows_with_codes(), chunk.rows_kept());
        rows += here + kept;
        rows_disguised += kept + if chunk.disguise.is_some() { here } else { 0 };
    }
    let is_shared = rows > 0 && rows_disguised * 2 <= rows;
    if is_shared && let Some(merged) = merge(chunks, leaf, rows, with)? {
        layouts.shape = Shape::Dictionary(merged);
        return Ok(layouts);
    }
    let is_whole = matches!(leaf.physical_type(), Type::INT32 | Type::INT64);
    if is_whole && rows > 0 && rows_disguised == rows && ascends(chunks, leaf, with)? {
        layouts.shape = Shape::Delta;
        return Ok(layouts);
    }
    for (chunk, retyped) in chunks.iter().zip(&mut layouts.retyped) {
        let fits = LIFTED_ROWS.contains(&chunk.rows_with_codes());
        *retyped = chunk.disguise.is_some() && fits && same_codec(chunk.compression, codec);
    }
    Ok(layouts)
}

/// Whether the first dictionary holds integers in ascending order: then the others will too, and their differences are small.
fn ascends(chunks: &mut [ReadChunk], leaf: &ColumnDescriptor, with: &mut Workbench) -> Result<bool, AtChunk> {
    if chunks.iter().any(|chunk| chunk.rows_kept() > 0) {
        return Ok(true);
    }
    let mut chunks = chunks.iter_mut().enumerate();
    let Some((number, chunk)) = chunks.find(|(_, chunk)| chunk.disguise.is_some()) else {
        return Ok(false);
    };
    let values = with
        .dictionary(chunk, Layout::of(leaf))
        .map_err(|unfit| (number, unfit))?;
    Ok(values.is_some_and(|values| ascend(values.bytes(), leaf)))
}

/// Whether plain integers are in ascending order.
pub(super) fn ascend(plain: &[u8], leaf: &ColumnDescriptor) -> bool {
    match leaf.physical_type() {
        Type::INT32 => (plain.as_chunks().0.iter()).is_sorted_by_key(|bytes| i32::from_le_bytes(*bytes)),
        _ => (plain.as_chunks().0.iter()).is_sorted_by_key(|bytes| i64::from_le_bytes(*bytes)),
    }
}

/// One dictionary of all; nothing if it would be too large to be worth it, or there is none.
fn merge(
    chunks: &mut [ReadChunk],
    leaf: &ColumnDescriptor,
    rows: usize,
    with: &mut Workbench,
) -> Result<Option<Merged>, AtChunk> {
    if !seems_small(chunks, Layout::of(leaf), rows, with)? {
        return Ok(None);
    }
    let mut known: HashMap<u64, u32, BuildHasherDefault<AsItIs>> = HashMap::default();
    let mut seen: Vec<&[u8]> = Vec::new();
    let mut renumbered = Vec::with_capacity(chunks.len());
    let mut bytes = 0;
    for chunk in &*chunks {
        let mut numbers = Vec::new();
        let values = chunk.dictionary.as_ref().and_then(Dictionary::values);
        for value in values.iter().flat_map(|values| values.iter()) {
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

/// Whether one dictionary of all may be small enough, so that it is worth trying. Unpacks all of them then.
fn seems_small(
    chunks: &mut [ReadChunk],
    layout: Layout,
    rows: usize,
    with: &mut Workbench,
) -> Result<bool, AtChunk> {
    let is_large = |dictionary: &Dictionary| {
        dictionary.page.header.unpacked > DICTIONARY_BYTES_MAX || dictionary.count * 2 > rows
    };
    let dictionaries = || chunks.iter().filter_map(|chunk| chunk.dictionary.as_ref());
    if dictionaries().any(is_large) {
        return Ok(false);
    }
    let all_bytes = dictionaries().map(|dictionary| dictionary.page.header.unpacked);
    let is_certain = all_bytes.sum::<usize>() <= DICTIONARY_BYTES_MAX;
    let mut sample: HashSet<u64, BuildHasherDefault<AsItIs>> = HashSet::default();
    let mut bytes = 0;
    for (number, chunk) in chunks.iter_mut().enumerate() {
        let values = with.dictionary(chunk, layout).map_err(|unfit| (number, unfit))?;
        for value in values
            .iter()
            .filter(|_| !is_certain)
            .flat_map(|values| values.iter())
        {
            let hash = hash_of(value);
            if hash >> 32 & (SAMPLED - 1) == 0 && sample.insert(hash) {
                bytes += value.len() + 4;
            }
        }
        // A guess must be far off to be believed.
        let (values, bytes) = (sample.len() * SAMPLED as usize, bytes * SAMPLED as usize);
        let is_large = bytes > DICTIONARY_BYTES_MAX / 4 * 5 || values * 2 > rows / 4 * 5;
        if is_large && sample.len() >= SAMPLE_VALUES_MIN {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Values of eight bytes are most frequent, and are mixed so that no two have the same hash.
#[inline]
fn hash_of(value: &[u8]) -> u64 {
    match value.as_array() {
        Some(bytes) => mixed(u64::from_le_bytes(*bytes)),
        None => xxh3_64(value),
    }
}

#[inline]
fn mixed(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ word >> 31
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
        let mut lengths = places.iter().map(|place| seen[*place as usize].len() as u32);
        let first = seen[places[0] as usize].len() as u32;
        Self {
            lengths: match lengths.clone().all(|length| length == first) {
                true => Lengths::Same(first),
                false => Lengths::Each(lengths.by_ref().collect()),
            },
            nan_from: (seen.len() - nans) as u32,
            values: values.expect("values were just written in this layout"),
            renumbered,
        }
    }

    /// Whether each value of a chunk's dictionary stands behind its new number.
    pub(crate) fn has(&self, chunk: usize, values: &Values) -> bool {
        let numbers = &self.renumbered[chunk];
        numbers.len() == values.len()
            && (numbers.iter().zip(values.iter())).all(|(number, value)| {
                (*number as usize) < self.values.len() && self.values.get(*number as usize) == value
            })
    }

    /// How long the values of these codes are together.
    pub(crate) fn bytes_of(&self, codes: &[u32]) -> u64 {
        match &self.lengths {
            Lengths::Same(length) => u64::from(*length) * codes.len() as u64,
            Lengths::Each(lengths) => codes.iter().map(|code| u64::from(lengths[*code as usize])).sum(),
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
