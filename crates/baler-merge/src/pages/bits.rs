//! Numbers of a few bits, one after another, the lowest bit first.
//!
//! Eight numbers of so many bits take as many bytes, so blocks of eight begin at bytes. Where the width is known when this is
//! compiled, all shifts are constants and a block is a handful of instructions.

/// Numbers in a block.
pub(crate) const BLOCK: usize = 8;

/// Bits that the greatest of some numbers needs.
pub(crate) fn width_of(greatest: u64) -> u8 {
    (u64::BITS - greatest.leading_zeros()) as u8
}

/// A number that can be packed.
pub(crate) trait Code: Copy + PartialEq {
    fn wide(self) -> u64;
}

macro_rules! code {
    ($($type:ty),*) => { $(impl Code for $type {
        fn wide(self) -> u64 {
            u64::from(self)
        }
    })* };
}
code!(u8, u16, u32, u64);

/// Packs whole blocks and what is left over; the last byte is filled with zeros.
pub(crate) fn pack<C: Code>(codes: &[C], width: u8, into: &mut Vec<u8>) {
    macro_rules! by_width {
        ($($width:literal)*) => {
            match width {
                0 => {}
                $($width => pack_blocks::<C, $width>(codes, into),)*
                _ => pack_slowly(codes, width, into),
            }
        };
    }
    by_width!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
}

fn pack_blocks<C: Code, const WIDTH: usize>(codes: &[C], into: &mut Vec<u8>) {
    into.reserve(codes.len() * WIDTH / 8 + WIDTH);
    let (blocks, rest) = codes.as_chunks::<BLOCK>();
    for block in blocks {
        // Four numbers of up to sixteen bits fit into a word.
        let word = |half: &[C]| {
            let places = half.iter().enumerate();
            places.fold(0u64, |word, (place, code)| word | code.wide() << (place * WIDTH))
        };
        let (low, high) = block.split_at(BLOCK / 2);
        let both = u128::from(word(low)) | u128::from(word(high)) << (BLOCK / 2 * WIDTH);
        into.extend_from_slice(&both.to_le_bytes()[..WIDTH]);
    }
    pack_slowly(rest, WIDTH as u8, into);
}

fn pack_slowly<C: Code>(codes: &[C], width: u8, into: &mut Vec<u8>) {
    let (mut word, mut held) = (0u128, 0u32);
    for code in codes {
        word |= u128::from(code.wide()) << held;
        held += u32::from(width);
        while held >= 8 {
            into.push(word as u8);
            word >>= 8;
            held -= 8;
        }
    }
    if held > 0 {
        into.push(word as u8);
    }
}

/// Appends `count` numbers; bytes that are missing at the end are taken for zeros, as the format allows for the last block.
pub(crate) fn unpack(bytes: &[u8], width: u8, count: usize, into: &mut Vec<u32>) {
    macro_rules! by_width {
        ($($width:literal)*) => {
            match width {
                0 => into.resize(into.len() + count, 0),
                $($width => unpack_blocks::<$width>(bytes, count, into),)*
                _ => unpack_wide(bytes, width, count, |number| into.push(number as u32)),
            }
        };
    }
    by_width!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
}

fn unpack_blocks<const WIDTH: usize>(bytes: &[u8], count: usize, into: &mut Vec<u32>) {
    let (start, blocks) = (into.len(), count.div_ceil(BLOCK));
    // Room that would have to be cleared first costs as much as the numbers.
    into.reserve(blocks * BLOCK);
    let mut codes = [0; BLOCK];
    for number in 0..blocks {
        let rest = bytes.get(number * WIDTH..).unwrap_or_default();
        match rest.first_chunk::<16>() {
            Some(word) => unpack_block::<WIDTH>(word, &mut codes),
            None => {
                let mut word = [0; 16];
                let length = rest.len().min(WIDTH);
                word[..length].copy_from_slice(&rest[..length]);
                unpack_block::<WIDTH>(&word, &mut codes);
            }
        }
        into.extend_from_slice(&codes);
    }
    into.truncate(start + count);
}

/// The numbers at the beginning of `word`; what follows them is not looked at.
#[inline]
fn unpack_block<const WIDTH: usize>(word: &[u8; 16], codes: &mut [u32; BLOCK]) {
    let mask = (1u64 << WIDTH) - 1;
    let half = BLOCK / 2 * WIDTH;
    // Four numbers of up to sixteen bits fit into a word, also where the second four begin in the middle of a byte.
    let low = u64::from_le_bytes(head(word, 0));
    let high = u64::from_le_bytes(head(word, half / 8)) >> (half % 8);
    for (place, code) in codes.iter_mut().enumerate() {
        let (word, place) = if place < 4 {
            (low, place)
        } else {
            (high, place - 4)
        };
        *code = (word >> (place * WIDTH) & mask) as u32;
    }
}

fn head(block: &[u8; 16], start: usize) -> [u8; 8] {
    std::array::from_fn(|place| block[start + place])
}

/// Hands over `count` numbers of up to 64 bits.
pub(crate) fn unpack_wide(bytes: &[u8], width: u8, count: usize, mut take: impl FnMut(u64)) {
    let mask = if width == 64 {
        u64::MAX
    } else {
        (1u64 << width) - 1
    };
    let (mut word, mut held) = (0u128, 0u32);
    let mut bytes = bytes.iter();
    for _ in 0..count {
        while held < u32::from(width) {
            word |= u128::from(bytes.next().copied().unwrap_or(0)) << held;
            held += 8;
        }
        take(word as u64 & mask);
        word >>= width;
        held -= u32::from(width);
    }
}
