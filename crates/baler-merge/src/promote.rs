//! Which types hold the values of two others without loss. Pure.
//!
//! Integers widen (unsigned into a wider signed one), floats widen, units of time refine, decimals grow, strings and binaries
//! of all layouts are one, a column of nulls becomes anything, and containers do all this inside. Integers never become
//! floats, nor text binary: these are different things even where the bits would fit.

use arrow::datatypes::{DataType, Field, FieldRef, Fields, TimeUnit};
use std::sync::Arc;

/// The layout in which Baler handles a type: dictionaries, runs and views as the plain values they stand for.
pub(crate) fn plain(data_type: &DataType) -> DataType {
    use DataType::*;
    match data_type {
        Dictionary(_, values) => plain(values),
        RunEndEncoded(_, values) => plain(values.data_type()),
        Utf8View => Utf8,
        BinaryView => Binary,
        ListView(item) => List(plain_field(item)),
        LargeListView(item) => LargeList(plain_field(item)),
        List(item) => List(plain_field(item)),
        LargeList(item) => LargeList(plain_field(item)),
        FixedSizeList(item, size) => FixedSizeList(plain_field(item), *size),
        Struct(fields) => Struct(fields.iter().map(plain_field).collect()),
        Map(entries, sorted) => Map(plain_field(entries), *sorted),
        other => other.clone(),
    }
}

/// A field with its type in plain layout.
pub(crate) fn plain_field(field: &FieldRef) -> FieldRef {
    Arc::new(field.as_ref().clone().with_data_type(plain(field.data_type())))
}

/// The smallest plain type that holds every value of both, if there is one.
pub(crate) fn promote(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::*;
    if a == b {
        return Some(a.clone());
    }
    Some(match (a, b) {
        (Null, other) | (other, Null) => other.clone(),
        (Utf8 | LargeUtf8, Utf8 | LargeUtf8) => LargeUtf8,
        (Binary | LargeBinary, Binary | LargeBinary) => LargeBinary,
        (FixedSizeBinary(_), FixedSizeBinary(_) | Binary) | (Binary, FixedSizeBinary(_)) => Binary,
        (FixedSizeBinary(_), LargeBinary) | (LargeBinary, FixedSizeBinary(_)) => LargeBinary,
        (Date32 | Date64, Date32 | Date64) => Date64,
        (Time32(a) | Time64(a), Time32(b) | Time64(b)) => match finer(*a, *b) {
            unit @ (TimeUnit::Second | TimeUnit::Millisecond) => Time32(unit),
            unit => Time64(unit),
        },
        (Timestamp(a, zone_a), Timestamp(b, zone_b)) => Timestamp(
            finer(*a, *b),
            same_zone(zone_a.as_deref(), zone_b.as_deref())?.map(Arc::from),
        ),
        (Duration(a), Duration(b)) => Duration(finer(*a, *b)),
        (List(a), List(b)) => List(promote_field(a, b)?),
        (List(a) | LargeList(a), List(b) | LargeList(b)) => LargeList(promote_field(a, b)?),
        (FixedSizeList(a, size_a), FixedSizeList(b, size_b)) if size_a == size_b => {
            FixedSizeList(promote_field(a, b)?, *size_a)
        }
        (FixedSizeList(a, _), FixedSizeList(b, _) | List(b)) | (List(a), FixedSizeList(b, _)) => {
            List(promote_field(a, b)?)
        }
        (FixedSizeList(a, _), LargeList(b)) | (LargeList(a), FixedSizeList(b, _)) => {
            LargeList(promote_field(a, b)?)
        }
        (Struct(a), Struct(b)) => Struct(promote_fields(a, b)?),
        (Map(a, sorted_a), Map(b, sorted_b)) => Map(promote_entries(a, b)?, *sorted_a && *sorted_b),
        _ => promote_floats(a, b)
            .or_else(|| promote_decimals(a, b))
            .or_else(|| promote_integers(a, b))?,
    })
}

fn finer(a: TimeUnit, b: TimeUnit) -> TimeUnit {
    a.max(b)
}

/// Zones that mean UTC are one; others must be equal, and local time goes only with local time.
fn same_zone<'a>(a: Option<&'a str>, b: Option<&'a str>) -> Option<Option<&'a str>> {
    let utc = |zone: &str| {
        matches!(
            zone,
            "UTC" | "utc" | "Z" | "+00:00" | "+0000" | "-00:00" | "Etc/UTC" | "GMT"
        )
    };
    match (a, b) {
        (a, b) if a == b => Some(a),
        (Some(a), Some(b)) if utc(a) && utc(b) => Some(Some("UTC")),
        _ => None,
    }
}

/// Fields by name, those of `a` first; one that is missing on a side becomes nullable.
fn promote_fields(a: &Fields, b: &Fields) -> Option<Fields> {
    let mut fields: Vec<FieldRef> = Vec::with_capacity(a.len());
    for field in a {
        fields.push(match b.find(field.name()) {
            Some((_, other)) => promote_field(field, other)?,
            None => nullable(field),
        });
    }
    fields.extend(
        b.iter()
            .filter(|field| a.find(field.name()).is_none())
            .map(nullable),
    );
    Some(fields.into())
}

/// A map's key and value go by place: writers name them differently.
fn promote_entries(a: &FieldRef, b: &FieldRef) -> Option<FieldRef> {
    let (DataType::Struct(fields_a), DataType::Struct(fields_b)) = (a.data_type(), b.data_type()) else {
        return None;
    };
    let [key_a, value_a] = fields_a.as_ref() else {
        return None;
    };
    let [key_b, value_b] = fields_b.as_ref() else {
        return None;
    };
    let fields = vec![promote_field(key_a, key_b)?, promote_field(value_a, value_b)?];
    Some(Arc::new(
        a.as_ref().clone().with_data_type(DataType::Struct(fields.into())),
    ))
}

/// One field for both: the name of `a`, nullable if either is, metadata on which both agree.
pub(crate) fn promote_field(a: &FieldRef, b: &FieldRef) -> Option<FieldRef> {
    let data_type = promote(a.data_type(), b.data_type())?;
    let mut metadata = a.metadata().clone();
    metadata.retain(|key, value| b.metadata().get(key) == Some(value));
    let field = Field::new(a.name(), data_type, a.is_nullable() || b.is_nullable());
    Some(Arc::new(field.with_metadata(metadata)))
}

/// The same field, nullable.
pub(crate) fn nullable(field: &FieldRef) -> FieldRef {
    Arc::new(field.as_ref().clone().with_nullable(true))
}

fn promote_floats(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::{Float16, Float32, Float64};
    match (a, b) {
        (Float16 | Float32, Float16 | Float32) => Some(Float32),
        (Float16 | Float32 | Float64, Float16 | Float32 | Float64) => Some(Float64),
        _ => None,
    }
}

fn promote_integers(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::*;
    let ((signed_a, bits_a), (signed_b, bits_b)) = (integer(a)?, integer(b)?);
    if signed_a == signed_b {
        return Some(if bits_a >= bits_b { a.clone() } else { b.clone() });
    }
    let (signed, unsigned) = if signed_a {
        (bits_a, bits_b)
    } else {
        (bits_b, bits_a)
    };
    match signed.max(unsigned * 2) {
        16 => Some(Int16),
        32 => Some(Int32),
        64 => Some(Int64),
        _ => None,
    }
}

fn integer(data_type: &DataType) -> Option<(bool, u32)> {
    use DataType::*;
    Some(match data_type {
        Int8 => (true, 8),
        Int16 => (true, 16),
        Int32 => (true, 32),
        Int64 => (true, 64),
        UInt8 => (false, 8),
        UInt16 => (false, 16),
        UInt32 => (false, 32),
        UInt64 => (false, 64),
        _ => return None,
    })
}

/// As many digits on each side of the point as either has, in the narrowest layout that is not narrower than theirs.
fn promote_decimals(a: &DataType, b: &DataType) -> Option<DataType> {
    let ((width_a, digits_a, scale_a), (width_b, digits_b, scale_b)) = (decimal(a)?, decimal(b)?);
    let scale = scale_a.max(scale_b);
    let whole = (i16::from(digits_a) - i16::from(scale_a)).max(i16::from(digits_b) - i16::from(scale_b));
    let digits = u8::try_from(whole + i16::from(scale)).ok()?;
    let needed = match digits {
        0..=9 => 32,
        10..=18 => 64,
        19..=38 => 128,
        39..=76 => 256,
        _ => return None,
    };
    Some(match needed.max(width_a).max(width_b) {
        32 => DataType::Decimal32(digits, scale),
        64 => DataType::Decimal64(digits, scale),
        128 => DataType::Decimal128(digits, scale),
        _ => DataType::Decimal256(digits, scale),
    })
}

fn decimal(data_type: &DataType) -> Option<(u16, u8, i8)> {
    Some(match data_type {
        DataType::Decimal32(digits, scale) => (32, *digits, *scale),
        DataType::Decimal64(digits, scale) => (64, *digits, *scale),
        DataType::Decimal128(digits, scale) => (128, *digits, *scale),
        DataType::Decimal256(digits, scale) => (256, *digits, *scale),
        _ => return None,
    })
}
