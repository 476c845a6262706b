//! The objects that nobody wrote. Numbers in names have fixed widths, so that the order of names is the order of
//! numbers and a place in the listing is found by halving.

use std::ops::Range;

use bytes::Bytes;

/// Many objects made of few: object `i` has the body `i % bodies.len()`.
#[derive(Clone, Debug)]
pub struct Objects {
    count: u64,
    per_folder: u64,
    bodies: Vec<Bytes>,
}

impl Objects {
    /// So many objects in so many folders below `data/`, named as in `data/part=00007/000000123.parquet`.
    pub fn new(count: u64, folders: u64, bodies: Vec<Bytes>) -> Self {
        assert!(
            count == 0 || (folders > 0 && !bodies.is_empty()),
            "objects need folders and bodies"
        );
        Self {
            count,
            per_folder: count.div_ceil(folders.max(1)).max(1),
            bodies,
        }
    }

    /// None at all.
    pub fn none() -> Self {
        Self::new(0, 0, Vec::new())
    }

    /// An object's name.
    pub fn key(&self, number: u64) -> String {
        format!("data/part={:05}/{number:09}.parquet", number / self.per_folder)
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn body(&self, number: u64) -> &Bytes {
        &self.bodies[(number % self.bodies.len() as u64) as usize]
    }

    /// Which object has this name.
    pub(super) fn find(&self, key: &str) -> Option<u64> {
        let number = key.strip_suffix(".parquet")?.rsplit('/').next()?.parse().ok()?;
        (number < self.count && self.key(number) == key).then_some(number)
    }

    /// Those whose names come at or after this one.
    pub(super) fn from(&self, key: &str) -> Range<u64> {
        // Going on from one name to the next is what listings do all the time.
        if let Some(last) = key.strip_suffix('\0').and_then(|last| self.find(last)) {
            return last + 1..self.count;
        }
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key(middle).as_str() < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low..self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_the_listing_is_found_by_name() {
        let objects = Objects::new(1_000, 7, vec![Bytes::from_static(b"x")]);
        for number in [0, 1, 142, 143, 500, 999] {
            let key = objects.key(number);
            assert_eq!(objects.find(&key), Some(number));
            assert_eq!(objects.from(&key).start, number);
            assert_eq!(objects.from(&format!("{key}\0")).start, number + 1);
            assert_eq!(objects.from(&format!("{key}!")).start, number + 1);
        }
        assert_eq!(
            objects.find("data/part=00001/000000001.parquet"),
            None,
            "in another folder"
        );
        assert!(objects.from("e").is_empty());
    }
}
