//! Room for what is read, used again and again: memory that is new to the process must be cleared by the system, page by page, which
//! costs more than to copy the bytes of a file into it.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// What is read at once is read into new room, unless it is at least this much.
const WORTH_BYTES: usize = 32 << 10;
/// Room that nobody uses, at most.
const FREE_BYTES_MAX: usize = 32 << 20;

/// Room that nobody uses now. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Rooms(Arc<Mutex<Vec<Vec<u8>>>>);

impl Rooms {
    /// So many bytes, as `read` leaves them.
    pub(super) fn filled(
        &self,
        length: usize,
        read: impl FnOnce(&mut [u8]) -> io::Result<()>,
    ) -> io::Result<Bytes> {
        if length < WORTH_BYTES {
            let mut bytes = vec![0; length];
            return read(&mut bytes).map(|()| bytes.into());
        }
        let mut lent = Lent {
            room: self.take(length).unwrap_or_else(|| vec![0; length]),
            length,
            back_to: self.clone(),
        };
        read(&mut lent.room[..length])?;
        Ok(Bytes::from_owner(lent))
    }

    /// Room for so many bytes and for not many more, if there is any.
    fn take(&self, length: usize) -> Option<Vec<u8>> {
        let mut free = self.lock();
        let fits = |room: &Vec<u8>| (length..=length + length / 4).contains(&room.len());
        free.iter().rposition(fits).map(|place| free.swap_remove(place))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Room in use. When nobody looks at it any more it goes back.
struct Lent {
    room: Vec<u8>,
    length: usize,
    back_to: Rooms,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.room[..self.length]
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let room = std::mem::take(&mut self.room);
        let mut free = self.back_to.lock();
        let held: usize = free.iter().map(Vec::len).sum();
        if held + room.len() <= FREE_BYTES_MAX {
            free.push(room);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(rooms: &Rooms, length: usize, with: u8) -> Bytes {
        let fill = |bytes: &mut [u8]| {
            bytes.fill(with);
            Ok(())
        };
        rooms.filled(length, fill).unwrap()
    }

    #[test]
    fn room_is_used_again_only_when_nobody_looks_at_it_any_more() {
        let rooms = Rooms::default();
        let first = filled(&rooms, 200_000, 1);
        let place = first.as_ptr();
        let slice = first.slice(1000..2000);
        drop(first);
        let second = filled(&rooms, 200_000, 2);
        assert_ne!(second.as_ptr(), place, "a slice of it is still there");
        assert!(slice.iter().all(|byte| *byte == 1));
        drop(slice);
        let third = filled(&rooms, 190_000, 3);
        assert_eq!((third.as_ptr(), third.len()), (place, 190_000));
    }

    #[test]
    fn no_more_is_kept_than_the_limit() {
        let rooms = Rooms::default();
        let many: Vec<Bytes> = (0..40).map(|_| filled(&rooms, 1 << 20, 7)).collect();
        drop(many);
        assert_eq!(rooms.lock().iter().map(Vec::len).sum::<usize>(), FREE_BYTES_MAX);
    }

    #[test]
    fn what_could_not_be_read_leaves_room_for_the_next() {
        let rooms = Rooms::default();
        let failed = rooms.filled(200_000, |_| Err(io::ErrorKind::UnexpectedEof.into()));
        assert!(failed.is_err());
        assert_eq!(rooms.lock().len(), 1);
    }
}
