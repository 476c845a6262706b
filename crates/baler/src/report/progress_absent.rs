//! Progress where nobody looks: a library shows nothing on a terminal.

/// Shows nothing.
#[derive(Clone, Debug, Default)]
pub struct ProgressView;

impl ProgressView {
    /// Nowhere.
    pub fn silent() -> Self {
        Self
    }

    /// Something whose end is not known yet.
    pub fn begin_counting(&self, _what: &'static str) {}

    /// A listing met so many files more.
    pub fn looked_at(&self, _files: u64) {}

    /// More bytes to merge than was known.
    pub fn expect(&self, _more: u64) {}

    /// Something is done.
    pub fn advance(&self, _by: u64) {}

    /// An attempt that moved this much of what was expected came to nothing.
    pub fn take_back(&self, _moved: u64, _expected: u64) {}

    /// What is being done besides.
    pub fn note(&self, _text: String) {}

    /// For good: in the log.
    pub fn say(&self, text: &str) {
        tracing::info!("{text}");
    }

    /// The end.
    pub fn end(&self) {}
}
