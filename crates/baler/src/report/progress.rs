//! Progress before a person's eyes: what is being done, how fast, and how long it will still take. Silent where
//! nobody looks.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// One line that is redrawn.
#[derive(Clone, Debug)]
pub struct ProgressView {
    bar: ProgressBar,
}

impl ProgressView {
    /// On the terminal, if standard error is one.
    pub fn on_terminal() -> Self {
        Self {
            bar: ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8)),
        }
    }

    /// Nowhere.
    pub fn silent() -> Self {
        Self {
            bar: ProgressBar::hidden(),
        }
    }

    /// Something whose end is not known yet.
    pub fn begin_counting(&self, what: &'static str) {
        self.bar
            .set_style(style("{spinner} {msg} {human_pos} files  {elapsed}"));
        self.bar.set_message(what);
        self.bar.set_position(0);
        self.bar.enable_steady_tick(Duration::from_millis(125));
    }

    /// Merging: bytes of so many.
    pub fn begin_merging(&self) {
        self.bar.reset();
        self.bar.set_length(0);
        let template = "{spinner} merging {bar:32} {binary_bytes}/{binary_total_bytes}  {binary_bytes_per_sec}  {eta} left  {msg}";
        self.bar.set_style(style(template));
        self.bar.set_message("");
        self.bar.enable_steady_tick(Duration::from_millis(125));
    }

    /// More to do than was known.
    pub fn expect(&self, more: u64) {
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

    /// Clears the line.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
