//! What a file claims about itself, recomputed from its values: counts, bounds of chunks and pages, page places, order.

use arrow::array::RecordBatch;
use bytes::Bytes;
use parquet::basic::{ConvertedType, LogicalType, SortOrder, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{AsBytes, DataType as ParquetType};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescriptor;
use std::cmp::Ordering;

/// Bounds longer than this may be cut.
const CUT_BYTES: usize = 64;

/// What a file keeps silent about; claims that are there have been found true.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Silence {
    /// Chunks of orderable values without least and greatest.
    pub(crate) chunks: usize,
    /// Chunks whose pages nobody can find.
    pub(crate) places: usize,
    /// Chunks of orderable values whose pages tell no bounds. Those of lists never do.
    pub(crate) pages: usize,
}

impl Silence {
    pub(crate) const NONE: Silence = Silence {
        chunks: 0,
        places: 0,
        pages: 0,
    };
}

pub(crate) fn footer(file: &Bytes) -> ParquetMetaData {
    ParquetMetaDataReader::new()
        .with_page_index_policy(PageIndexPolicy::Optional)
        .parse_and_finish(file)
        .unwrap()
}

/// Recomputes every claim of a file and panics where one is false.
pub(crate) fn check_claims(file: &Bytes) -> Silence {
    let footer = footer(file);
    let reader = SerializedFileReader::new(file.clone()).unwrap();
    let rows: i64 = footer.row_groups().iter().map(|group| group.num_rows()).sum();
    assert_eq!(rows, footer.file_metadata().num_rows());
    let mut silence = Silence::default();
    for (group, metadata) in footer.row_groups().iter().enumerate() {
        assert!(metadata.num_rows() > 0, "no row group is empty");
        let uncompressed: i64 = metadata
            .columns()
            .iter()
            .map(|chunk| chunk.uncompressed_size())
            .sum();
        assert_eq!(uncompressed, metadata.total_byte_size());
        let values = reader.get_row_group(group).unwrap();
        for leaf in 0..metadata.num_columns() {
            let found = Leaf::read(values.get_column_reader(leaf).unwrap(), metadata.num_rows());
            check_chunk(&footer, group, leaf, &found, &mut silence);
        }
    }
    check_order(file, &footer);
    silence
}

/// The values of one leaf of a row group; a place is a value or a null at any level.
struct Leaf {
    places: Vec<Option<Vec<u8>>>,
    /// For each row its first place, and the end.
    rows: Vec<usize>,
}

impl Leaf {
    fn read(reader: ColumnReader, rows: i64) -> Self {
        match reader {
            ColumnReader::BoolColumnReader(reader) => Self::drain(reader, rows),
            ColumnReader::Int32ColumnReader(reader) => Self::drain(reader, rows),
            ColumnReader::Int64ColumnReader(reader) => Self::drain(reader, rows),
            ColumnReader::Int96ColumnReader(reader) => Self::drain(reader, rows),
            ColumnReader::FloatColumnReader(reader) => Self::drain(reader, rows),
            ColumnReader::DoubleColumnReader(reader) => Self::drain(reader, rows),
            ColumnReader::ByteArrayColumnReader(reader) => Self::drain(reader, rows),
            ColumnReader::FixedLenByteArrayColumnReader(reader) => Self::drain(reader, rows),
        }
    }

    fn drain<T: ParquetType>(mut reader: ColumnReaderImpl<T>, rows: i64) -> Self {
        let (mut definition, mut repetition, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut read = 0;
        while read < rows as usize {
            let (records, ..) = reader
                .read_records(
                    rows as usize,
                    Some(&mut definition),
                    Some(&mut repetition),
                    &mut values,
                )
                .unwrap();
            assert!(records > 0, "{read} of {rows} rows");
            read += records;
        }
        let (more, ..) = reader
            .read_records(1, Some(&mut definition), Some(&mut repetition), &mut values)
            .unwrap();
        assert_eq!(more, 0, "no page beyond the last row");
        let deepest = definition.iter().copied().max().unwrap_or(0);
        let mut values = values.iter().map(|value| value.as_bytes().to_vec());
        // A column that cannot be null has no levels; one of nulls only has no deepest level that means a value.
        let places: Vec<_> = if definition.is_empty() {
            values.by_ref().map(Some).collect()
        } else if values.len() == 0 {
            vec![None; definition.len()]
        } else {
            let present = definition.iter().map(|level| *level == deepest);
            present
                .map(|present| present.then(|| values.next().unwrap()))
                .collect()
        };
        assert!(values.next().is_none());
        let mut rows: Vec<usize> = match repetition.is_empty() {
            true => (0..places.len()).collect(),
            false => (0..places.len())
                .filter(|place| repetition[*place] == 0)
                .collect(),
        };
        rows.push(places.len());
        Self { places, rows }
    }

    fn of_rows(&self, from: i64, to: i64) -> &[Option<Vec<u8>>] {
        &self.places[self.rows[from as usize]..self.rows[to as usize]]
    }
}

/// What is said of some places.
struct Said<'a> {
    nulls: Option<u64>,
    bounds: Option<(&'a [u8], &'a [u8])>,
}

/// Whether bounds were told; that they are right is made sure of.
fn check_bounds(order: Order, said: &Said<'_>, places: &[Option<Vec<u8>>], of: &str) -> bool {
    let nulls = places.iter().filter(|place| place.is_none()).count() as u64;
    assert!(
        said.nulls.is_none_or(|told| told == nulls),
        "{of}: {nulls} nulls, said {:?}",
        said.nulls
    );
    let values = || places.iter().flatten().map(Vec::as_slice);
    let numbers = || values().filter(|value| !order.is_nan(value));
    let least = numbers().min_by(|a, b| order.compare(a, b));
    let greatest = numbers().max_by(|a, b| order.compare(a, b));
    let (Some(least), Some(greatest)) = (least, greatest) else {
        assert!(
            said.bounds
                .is_none_or(|(min, max)| order.is_nan(min) && order.is_nan(max)),
            "{of}: bounds of nothing"
        );
        return true;
    };
    let Some((min, max)) = said.bounds else {
        return false;
    };
    for (bound, value, side) in [(min, least, Ordering::Less), (max, greatest, Ordering::Greater)] {
        let outside = order.compare(bound, value);
        let cut = order == Order::Bytes && value.len() > CUT_BYTES;
        assert!(
            outside == Ordering::Equal || (cut && outside == side),
            "{of}: bound {bound:?}, value {value:?}"
        );
    }
    true
}

fn check_chunk(footer: &ParquetMetaData, group: usize, leaf: usize, found: &Leaf, silence: &mut Silence) {
    let chunk = footer.row_group(group).column(leaf);
    let of = format!("group {group}, {}", chunk.column_path());
    assert_eq!(chunk.num_values(), found.places.len() as i64, "{of}");
    let order = Order::of(chunk.column_descr());
    if let Some(order) = order {
        let said = chunk_said(chunk.statistics());
        silence.chunks += usize::from(!check_bounds(order, &said, &found.places, &of));
    }
    let Some(places) = footer
        .page_index()
        .and_then(|index| index.offset_index(group, leaf))
    else {
        silence.places += 1;
        return;
    };
    let places = places.page_locations();
    let (start, length) = chunk.byte_range();
    let mut at = chunk.data_page_offset();
    for place in places {
        assert_eq!(place.offset, at, "{of}: pages lie one after another");
        at += i64::from(place.compressed_page_size);
    }
    assert_eq!(at as u64, start + length, "{of}: pages fill the chunk");
    let rows = footer.row_group(group).num_rows();
    assert_eq!(places[0].first_row_index, 0, "{of}");
    let Some(order) = order else {
        return;
    };
    let index = footer
        .page_index()
        .and_then(|index| index.column_index(group, leaf));
    let is_list = chunk.column_descr().max_rep_level() > 0;
    let Some(index) = index else {
        silence.pages += usize::from(!is_list);
        return;
    };
    assert_eq!(index.num_pages(), places.len() as u64, "{of}");
    let bounds = page_bounds(index);
    for (page, place) in places.iter().enumerate() {
        let end = places.get(page + 1).map_or(rows, |next| next.first_row_index);
        assert!(place.first_row_index < end, "{of}: page {page} is empty");
        let values = found.of_rows(place.first_row_index, end);
        let all_null = values.iter().all(Option::is_none);
        assert_eq!(index.is_null_page(page), all_null, "{of}: page {page}");
        let said = Said {
            nulls: index.null_count(page).map(i64::unsigned_abs),
            bounds: bounds[page]
                .as_ref()
                .map(|(min, max)| (min.as_slice(), max.as_slice())),
        };
        assert!(check_bounds(order, &said, values, &format!("{of}, page {page}")));
    }
    check_boundary_order(index, order, &bounds, &of);
}

fn chunk_said(statistics: Option<&Statistics>) -> Said<'_> {
    Said {
        nulls: statistics.and_then(Statistics::null_count_opt),
        bounds: statistics.and_then(|said| said.min_bytes_opt().zip(said.max_bytes_opt())),
    }
}

type PageBounds = Vec<Option<(Vec<u8>, Vec<u8>)>>;

fn page_bounds(index: &ColumnIndexMetaData) -> PageBounds {
    macro_rules! plain {
        ($index:expr) => {
            (0..$index.num_pages() as usize)
                .map(|page| {
                    let ends = $index.min_value(page).zip($index.max_value(page));
                    ends.map(|(min, max)| (min.as_bytes().to_vec(), max.as_bytes().to_vec()))
                })
                .collect()
        };
    }
    match index {
        ColumnIndexMetaData::BOOLEAN(index) => plain!(index),
        ColumnIndexMetaData::INT32(index) => plain!(index),
        ColumnIndexMetaData::INT64(index) => plain!(index),
        ColumnIndexMetaData::INT96(index) => plain!(index),
        ColumnIndexMetaData::FLOAT(index) => plain!(index),
        ColumnIndexMetaData::DOUBLE(index) => plain!(index),
        ColumnIndexMetaData::BYTE_ARRAY(index) => plain!(index),
        ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(index) => plain!(index),
    }
}

/// Pages that are said to ascend or descend do.
fn check_boundary_order(index: &ColumnIndexMetaData, order: Order, bounds: &PageBounds, of: &str) {
    use parquet::basic::BoundaryOrder;
    let wrong = match index.get_boundary_order() {
        Some(BoundaryOrder::ASCENDING) => Ordering::Greater,
        Some(BoundaryOrder::DESCENDING) => Ordering::Less,
        _ => return,
    };
    let told: Vec<_> = bounds.iter().flatten().collect();
    for pair in told.windows(2) {
        let ((min, max), (next_min, next_max)) = (pair[0], pair[1]);
        assert_ne!(order.compare(min, next_min), wrong, "{of}: boundary order");
        assert_ne!(order.compare(max, next_max), wrong, "{of}: boundary order");
    }
}

/// How the values of a leaf compare, after the format's words and nobody's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Bool,
    Signed,
    Unsigned,
    Half,
    Float,
    Double,
    Decimal,
    Bytes,
}

impl Order {
    fn of(leaf: &ColumnDescriptor) -> Option<Self> {
        let decimal = leaf.converted_type() == ConvertedType::DECIMAL
            || matches!(leaf.logical_type_ref(), Some(LogicalType::Decimal(_)));
        Some(match leaf.physical_type() {
            // Twelve bytes of which nobody agrees how they compare; intervals likewise.
            Type::INT96 => return None,
            _ if leaf.sort_order() == SortOrder::UNDEFINED => return None,
            Type::BOOLEAN => Self::Bool,
            Type::INT32 | Type::INT64 if leaf.sort_order() == SortOrder::UNSIGNED => Self::Unsigned,
            Type::INT32 | Type::INT64 => Self::Signed,
            Type::FLOAT => Self::Float,
            Type::DOUBLE => Self::Double,
            _ if leaf.logical_type_ref() == Some(&LogicalType::Float16) => Self::Half,
            _ if decimal => Self::Decimal,
            _ => Self::Bytes,
        })
    }

    fn is_nan(self, value: &[u8]) -> bool {
        matches!(self, Self::Half | Self::Float | Self::Double) && self.number(value).is_nan()
    }

    fn number(self, value: &[u8]) -> f64 {
        match self {
            Self::Half => half(u16::from_le_bytes(value.try_into().unwrap())),
            Self::Float => f32::from_le_bytes(value.try_into().unwrap()).into(),
            _ => f64::from_le_bytes(value.try_into().unwrap()),
        }
    }

    fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Bool | Self::Bytes => a.cmp(b),
            Self::Half | Self::Float | Self::Double => self.number(a).total_cmp(&self.number(b)),
            Self::Signed => wide(a.iter().rev(), true).cmp(&wide(b.iter().rev(), true)),
            Self::Unsigned => wide(a.iter().rev(), false).cmp(&wide(b.iter().rev(), false)),
            Self::Decimal => wide(a.iter(), true).cmp(&wide(b.iter(), true)),
        }
    }
}

/// An integer, big end first, as 33 bytes that compare as it does.
fn wide<'a>(bytes: impl ExactSizeIterator<Item = &'a u8> + Clone, signed: bool) -> [u8; 33] {
    let negative = signed && bytes.clone().next().is_some_and(|byte| byte & 0x80 != 0);
    let mut wide = [if negative { 0xFF } else { 0 }; 33];
    let start = wide.len() - bytes.len();
    wide[start..]
        .iter_mut()
        .zip(bytes)
        .for_each(|(to, from)| *to = *from);
    wide[0] ^= 0x80;
    wide
}

fn half(bits: u16) -> f64 {
    let (sign, exponent, fraction) = (bits >> 15, (bits >> 10) & 31, f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(i32::from(exponent) - 25),
    };
    if sign == 1 { -size } else { size }
}

/// Row groups that declare an order have it.
fn check_order(file: &Bytes, footer: &ParquetMetaData) {
    let schema = footer.file_metadata().schema_descr();
    let all: Vec<RecordBatch> = crate::support::read(file);
    let all = arrow::compute::concat_batches(&all[0].schema(), &all).unwrap();
    let mut from = 0;
    for group in footer.row_groups() {
        let rows = all.slice(from, group.num_rows() as usize);
        from += group.num_rows() as usize;
        let Some(sorting) = group.sorting_columns() else {
            continue;
        };
        let declared: Vec<_> = sorting
            .iter()
            .map(|column| baler_merge::SortColumn {
                name: schema.column(column.column_idx as usize).path().parts().join("."),
                descending: column.descending,
                nulls_first: column.nulls_first,
            })
            .collect();
        let sorted = crate::support::sort_naively(std::slice::from_ref(&rows), &declared);
        assert_eq!(rows, sorted, "sorted by {declared:?}");
    }
}
