//! Progress before a person's eyes: what is being done, how fast, and how long it will still take. Silent where
//! nobody looks. A run lists and merges at the same time: files are counted until the first merge begins, and beside
//! it from then on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::numbers::count;

/// One line that is redrawn.
#[derive(Clone, Debug)]
pub struct ProgressView {
    bar: ProgressBar,
    looked_at: Arc<AtomicU64>,
    merging: Arc<AtomicBool>,
}

/// Files between two updates of their number beside a merge.
const LOOKED_AT_STEP: u64 = 100;

impl ProgressView {
    /// On the terminal, if standard error is one.
    pub fn on_terminal() -> Self {
        Self::over(ProgressBar::with_draw_target(
            None,
            ProgressDrawTarget::stderr_with_hz(8),
        ))
    }

    /// Nowhere.
    pub fn silent() -> Self {
        Self::over(ProgressBar::hidden())
    }

    fn over(bar: ProgressBar) -> Self {
        Self {
            bar,
            looked_at: Arc::default(),
            merging: Arc::default(),
        }
    }

    /// Something whose end is not known yet.
    pub fn begin_counting(&self, what: &'static str) {
        self.merging.store(false, Ordering::Relaxed);
        self.looked_at.store(0, Ordering::Relaxed);
        self.bar.reset();
        self.bar
            .set_style(style("{spinner} {msg} {human_pos} files  {elapsed}"));
        self.bar.set_message(what);
        self.bar.set_position(0);
        self.bar.enable_steady_tick(Duration::from_millis(125));
    }

    /// A listing met so many files more.
    pub fn looked_at(&self, files: u64) {
        let before = self.looked_at.fetch_add(files, Ordering::Relaxed);
        if !self.merging.load(Ordering::Relaxed) {
            self.bar.inc(files);
        } else if before / LOOKED_AT_STEP != (before + files) / LOOKED_AT_STEP {
            self.show_looked_at();
        }
    }

    fn show_looked_at(&self) {
        let files = count(self.looked_at.load(Ordering::Relaxed));
        self.bar.set_prefix(format!("{files} files looked at, "));
    }

    /// Merging: bytes of so many. Once begun, it goes on until the end.
    fn begin_merging(&self) {
        if self.merging.swap(true, Ordering::Relaxed) {
            return;
        }
        self.bar.reset();
        self.bar.set_length(0);
        if self.looked_at.load(Ordering::Relaxed) > 0 {
            self.show_looked_at();
        }
        let template = "{spinner} {prefix}merging {bar:32} {binary_bytes}/{binary_total_bytes}  {binary_bytes_per_sec}  {eta} left  {msg}";
        self.bar.set_style(style(template));
        self.bar.set_message("");
        self.bar.enable_steady_tick(Duration::from_millis(125));
    }

    /// More bytes to merge than was known.
    pub fn expect(&self, more: u64) {
        self.begin_merging();
        self.bar.inc_length(more);
    }

    /// Something is done.
    pub fn advance(&self, by: u64) {
        self.bar.inc(by);
    }

    /// An attempt that moved this much of what was expected came to nothing.
    pub fn take_back(&self, moved: u64, expected: u64) {
        self.bar.set_position(self.bar.position().saturating_sub(moved));
        self.bar
            .set_length(self.bar.length().unwrap_or(0).saturating_sub(expected));
    }

    /// What is being done besides.
    pub fn note(&self, text: String) {
        self.bar.set_message(text);
    }

    /// Above the line, for good.
    pub fn say(&self, text: &str) {
        match self.bar.is_hidden() {
            true => eprintln!("{text}"),
            false => self.bar.println(text),
        }
    }

    /// What was asked for, above the line, where it can be piped.
    pub fn print(&self, text: &str) {
        self.bar.suspend(|| println!("{text}"));
    }

    /// Clears the line.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
