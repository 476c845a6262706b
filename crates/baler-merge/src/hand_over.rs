//! From those who order rows to the one who encodes them. With two threads both work at once: decoding and merging on
//! one, digests and encoding on the other, with at most two chunks between them.

use crate::error::MergeError;
use arrow::array::RecordBatch;
use std::sync::mpsc::sync_channel;
use std::thread;

/// Chunks that wait between the two.
const WAITING_MAX: usize = 1;

/// What is handed over.
pub(crate) enum Handed {
    /// Rows to write.
    Rows(RecordBatch),
    /// So many rows will not come, because a rule dropped them.
    NotDue(u64),
}

/// Runs `make`, whose every piece goes to `take`, in order. Where both fail, the failure of `take` came first.
pub(crate) fn hand_over<T: Send>(
    threads: usize,
    make: impl FnOnce(&mut dyn FnMut(Handed) -> Result<(), MergeError>) -> Result<T, MergeError> + Send,
    mut take: impl FnMut(Handed) -> Result<(), MergeError>,
) -> Result<T, MergeError> {
    if threads < 2 {
        return make(&mut take);
    }
    thread::scope(|scope| {
        let (send, receive) = sync_channel(WAITING_MAX);
        let maker = scope.spawn(move || {
            // Nobody listens any more only if `take` failed, and then this error is not looked at.
            make(&mut |handed| send.send(handed).map_err(|_| MergeError::Cancelled))
        });
        let taken = receive.iter().try_for_each(&mut take);
        drop(receive);
        let made = maker
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        taken.and(made)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(threads: usize, pieces: u64, fail_at: Option<u64>) -> Result<u64, MergeError> {
        let mut seen = 0;
        let made = hand_over(
            threads,
            move |emit| {
                for piece in 1..=pieces {
                    emit(Handed::NotDue(piece))?;
                }
                Ok(pieces)
            },
            |handed| {
                let Handed::NotDue(piece) = handed else {
                    unreachable!("only these are handed over")
                };
                seen += 1;
                assert_eq!(piece, seen, "in order");
                match fail_at == Some(piece) {
                    true => Err(MergeError::Spec("no more".into())),
                    false => Ok(()),
                }
            },
        );
        made.inspect(|made| assert_eq!(*made, seen))
    }

    #[test]
    fn everything_arrives_in_order_on_one_thread_and_on_two() {
        for threads in [1, 2] {
            assert_eq!(count(threads, 1_000, None).unwrap(), 1_000);
        }
    }

    #[test]
    fn the_writers_failure_ends_it_and_is_the_one_reported() {
        for threads in [1, 2] {
            let failed = count(threads, 1_000, Some(7));
            assert!(matches!(failed, Err(MergeError::Spec(_))), "{failed:?}");
        }
    }
}
