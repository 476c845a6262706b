//! A whole row group at once, which only tests hold.

use super::EncodedColumn;
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::RowGroupMetaDataPtr;
use parquet::file::writer::SerializedFileWriter;
use std::io::Write;

/// All leaf columns of a row group, in the order of the schema.
#[derive(Debug, Clone)]
pub(crate) struct EncodedGroup {
    pub(crate) rows: u64,
    pub(crate) columns: Vec<EncodedColumn>,
}

impl EncodedGroup {
    /// Writes it as the next row group of a file. What a column holds is let go as soon as it is written.
    pub(crate) fn append_to<W: Write + Send>(
        self,
        file: &mut SerializedFileWriter<W>,
    ) -> ParquetResult<RowGroupMetaDataPtr> {
        let mut group = file.next_row_group()?;
        for column in self.columns {
            group.append_column(&column.bytes, column.close)?;
        }
        let written = group.close()?;
        assert_eq!(written.num_rows() as u64, self.rows);
        Ok(written)
    }
}
