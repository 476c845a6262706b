//! What a page header may claim: no more than its column has, and no more than its bytes can hold. A decoder makes room by these numbers.

use crate::limits::{PAGE_BYTES_FREE, PAGE_BYTES_MAX, PAGE_VALUES_MAX, RATIO_MAX, RATIO_MAX_DENSE};
use crate::pages::header::{PageHeader, PageKind};
use crate::pages::lengths::{check_lengths, has_lengths};
use crate::pages::raw::RawPage;
use bytes::Bytes;
use parquet::basic::{Compression, Type};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::schema::types::ColumnDescPtr;

/// What is known of a column chunk before any page of it is read.
pub(crate) struct PageClaims {
    column: ColumnDescPtr,
    compression: Compression,
    /// As the footer says.
    values: u64,
}

impl PageClaims {
    pub(crate) fn of(chunk: &ColumnChunkMetaData) -> Self {
        Self {
            column: chunk.column_descr_ptr(),
            compression: chunk.compression(),
            values: chunk.num_values().unsigned_abs(),
        }
    }

    /// Checks sizes and counts.
    pub(crate) fn check(&self, header: &PageHeader) -> Result<(), String> {
        let (packed, unpacked) = (header.packed as u64, header.unpacked as u64);
        check_ratio(packed, unpacked, ratio_max(self.compression))?;
        match header.kind {
            PageKind::Dictionary { values, .. } => self.check_dictionary(values.into(), unpacked),
            PageKind::V1 { values, .. } | PageKind::V2 { values, .. } => self.check_values(values.into()),
        }
    }

    fn check_values(&self, values: u64) -> Result<(), String> {
        check_count(values)?;
        match values > self.values {
            true => Err(format!(
                "a page claims {values} values, its column has {}",
                self.values
            )),
            false => Ok(()),
        }
    }

    /// Values of a dictionary lie one after another as they are.
    fn check_dictionary(&self, values: u64, unpacked: u64) -> Result<(), String> {
        let most = match self.column.physical_type() {
            Type::BOOLEAN => unpacked.saturating_mul(8),
            Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => unpacked / 4,
            Type::INT64 | Type::DOUBLE => unpacked / 8,
            Type::INT96 => unpacked / 12,
            Type::FIXED_LEN_BYTE_ARRAY => match self.column.type_length().unsigned_abs() {
                0 => 1,
                length => unpacked / u64::from(length),
            },
        };
        match values > most {
            true => Err(format!(
                "a dictionary of {unpacked} bytes claims {values} values, more than {most}"
            )),
            false => Ok(()),
        }
    }

    /// Whether what a page claims stands in its body too.
    pub(crate) fn is_looked_into(&self, header: &PageHeader) -> bool {
        let is_data = !matches!(header.kind, PageKind::Dictionary { .. });
        is_data && has_lengths(header.kind.encoding())
    }

    /// Checks what the body of such a page claims.
    pub(crate) fn check_body(&self, header: PageHeader, body: Bytes) -> Result<(), String> {
        let page = RawPage {
            length: body.len(),
            header,
            body,
        };
        check_lengths(&page, self.compression, &self.column)
    }
}

/// Refuses a page of more values than a page may have.
pub(crate) fn check_count(values: u64) -> Result<(), String> {
    match values > PAGE_VALUES_MAX {
        true => Err(format!(
            "a page claims {values} values, more than {PAGE_VALUES_MAX}"
        )),
        false => Ok(()),
    }
}

/// How tight a codec can pack.
pub(crate) fn ratio_max(compression: Compression) -> u64 {
    match compression {
        Compression::UNCOMPRESSED => 1,
        Compression::ZSTD(_) | Compression::BROTLI(_) => RATIO_MAX_DENSE,
        _ => RATIO_MAX,
    }
}

/// Refuses a page that claims to unpack to more than it can, or than fits.
pub(crate) fn check_ratio(packed: u64, unpacked: u64, ratio_max: u64) -> Result<(), String> {
    let plausible = packed.saturating_mul(ratio_max).saturating_add(PAGE_BYTES_FREE);
    let most = PAGE_BYTES_MAX.min(plausible);
    match unpacked > most {
        true => Err(format!(
            "a page of {packed} bytes claims to unpack to {unpacked}, more than {most}"
        )),
        false => Ok(()),
    }
}
