//! `println!` and its kin for a program whose reader may leave: `baler files ROOT | head` ends without a word, and whatever
//! was under way is done all the same. They stand in the place of the standard ones, which panic then.

use std::fmt::Arguments;
use std::io::{Write, stderr};

#[cfg(feature = "cli")]
pub(crate) use output::{is_heard, out};

#[cfg(feature = "cli")]
macro_rules! print {
    ($($words:tt)*) => { $crate::printing::out(format_args!($($words)*)) };
}

#[cfg(feature = "cli")]
macro_rules! println {
    () => { $crate::printing::out(format_args!("\n")) };
    ($($words:tt)*) => { $crate::printing::out(format_args!("{}\n", format_args!($($words)*))) };
}

macro_rules! eprintln {
    ($($words:tt)*) => { $crate::printing::error(format_args!("{}\n", format_args!($($words)*))) };
}

/// Where even an error cannot be said, nobody is there to hear it.
pub(crate) fn error(words: Arguments<'_>) {
    let _nobody_listens = stderr().lock().write_fmt(words);
}

#[cfg(feature = "cli")]
mod output {
    use std::fmt::Arguments;
    use std::io::{ErrorKind, Write, stdout};
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Whether nobody reads the output any more.
    static UNHEARD: AtomicBool = AtomicBool::new(false);

    /// Whether it makes sense to print more.
    pub(crate) fn is_heard() -> bool {
        !UNHEARD.load(Ordering::Relaxed)
    }

    pub(crate) fn out(words: Arguments<'_>) {
        if !is_heard() {
            return;
        }
        let Err(failure) = stdout().lock().write_fmt(words) else {
            return;
        };
        UNHEARD.store(true, Ordering::Relaxed);
        // A reader that left knows why; a full disk does not.
        if failure.kind() != ErrorKind::BrokenPipe {
            super::error(format_args!("the output could not be written: {failure}\n"));
        }
    }
}
