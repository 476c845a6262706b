//! Definition levels of flat columns: a bit for each row, set where there is a value. Packed levels of one bit lie as a validity
//! bitmap does, so bytes are copied.

use super::header::push_varint;
use super::rle::{Run, Runs};
use arrow::array::BooleanBufferBuilder;
use arrow::buffer::{BooleanBuffer, NullBuffer};

/// So many equal bytes of a bitmap are worth a run.
const RUN_BYTES_MIN: usize = 4;

/// The levels of rows that all have a value, or all have none.
pub(crate) fn encode_equal(rows: usize, valid: bool) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(6);
    push_run(&mut bytes, rows, valid);
    bytes
}

/// The levels of a bitmap.
pub(crate) fn encode(validity: &BooleanBuffer) -> Vec<u8> {
    let set = validity.count_set_bits();
    if set == validity.len() || set == 0 {
        return encode_equal(validity.len(), set > 0);
    }
    let bitmap = validity.sliced();
    let bitmap = &bitmap.as_slice()[..validity.len().div_ceil(8)];
    let (mut bytes, mut at) = (Vec::with_capacity(bitmap.len() + 8), 0);
    while at < bitmap.len() {
        let packed = bytes_to_pack(&bitmap[at..]);
        if packed > 0 {
            push_varint(&mut bytes, (packed as u64) << 1 | 1);
            bytes.extend_from_slice(&bitmap[at..at + packed]);
            at += packed;
            continue;
        }
        let byte = bitmap[at];
        let run = bitmap[at..].iter().take_while(|other| **other == byte).count();
        let rows = (run * 8).min(validity.len() - at * 8);
        push_run(&mut bytes, rows, byte != 0);
        at += run;
    }
    bytes
}

/// Bytes until so many equal ones that a run is shorter. Bits past the end are in doubt, so the last byte is always packed
/// unless a run covers it.
fn bytes_to_pack(bitmap: &[u8]) -> usize {
    let starts_run =
        |window: &[u8]| matches!(window[0], 0x00 | 0xFF) && window.iter().all(|byte| *byte == window[0]);
    bitmap
        .windows(RUN_BYTES_MIN)
        .position(starts_run)
        .unwrap_or(bitmap.len())
}

fn push_run(bytes: &mut Vec<u8>, rows: usize, valid: bool) {
    if rows > 0 {
        push_varint(bytes, (rows as u64) << 1);
        bytes.push(u8::from(valid));
    }
}

/// Which of so many rows have a value; nothing if all have.
pub(crate) fn decode(bytes: &[u8], rows: usize) -> Result<Option<NullBuffer>, String> {
    let mut runs = Runs::new(bytes, 1)?;
    let mut validity = BooleanBufferBuilder::new(rows);
    while validity.len() < rows {
        let due = rows - validity.len();
        match runs.next_run()? {
            Run::Equal(level @ 0..=1, length) => validity.append_n(length.min(due), level == 1),
            Run::Equal(level, _) => return Err(format!("a definition level is {level}, not 0 or 1")),
            Run::Packed(packed, length) => {
                validity.append_packed_range(0..length.min(due).min(packed.len() * 8), packed);
            }
        }
    }
    let validity = NullBuffer::new(validity.finish());
    Ok((validity.null_count() > 0).then_some(validity))
}
