//! Figures for machines, in Prometheus' text form. Their names are in `docs/metrics.md`, and a test compares the two. One
//! page may be about many roots: each name is said once, with a sample for each.
//!
//! | file | whose |
//! |---|---|
//! | `board` | what a process shows, root by root |
//! | `root` | a root, as a process with a replica sees it |
//! | `work` | a worker's own |
//! | `store` | what a process asked of its stores |

mod board;
mod root;
mod store;
mod work;

pub use board::{Board, WorkerFigures};
pub use root::write_station;
pub use store::write_store;
pub use work::write_worker;

use std::fmt::{self, Display, Write};
use std::sync::Arc;

/// Something that has figures to tell.
pub trait Figures: fmt::Debug + Send + Sync {
    /// Writes them down.
    fn write(&self, page: &mut Page);

    /// Why no work comes from where it should, if none does; `None` for whoever asks for none.
    fn unreachable(&self) -> Option<Result<(), String>> {
        None
    }
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It goes up and down.
    Gauge,
    /// It goes up only, until the process ends.
    Counter,
}

/// A page of figures.
#[derive(Debug, Default)]
pub struct Page {
    families: Vec<Family>,
}

#[derive(Debug)]
struct Family {
    name: &'static str,
    help: &'static str,
    kind: Kind,
    samples: String,
}

impl Page {
    /// What these have to tell, as text.
    pub fn of(figures: &[Arc<dyn Figures>]) -> String {
        let mut page = Self::default();
        for figures in figures {
            figures.write(&mut page);
        }
        page.to_string()
    }

    /// Figures that share these labels.
    pub fn about(&mut self, labels: &[(&str, &str)]) -> Section<'_> {
        let labels = labels.iter().map(|(name, value)| label(name, value));
        Section {
            labels: labels.collect(),
            page: self,
        }
    }

    /// There are few names, so they need no index.
    fn family(&mut self, name: &'static str, help: &'static str, kind: Kind) -> &mut Family {
        let known = self.families.iter().position(|family| family.name == name);
        let at = known.unwrap_or_else(|| {
            self.families.push(Family {
                name,
                help,
                kind,
                samples: String::new(),
            });
            self.families.len() - 1
        });
        &mut self.families[at]
    }
}

impl Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for family in &self.families {
            let kind = match family.kind {
                Kind::Gauge => "gauge",
                Kind::Counter => "counter",
            };
            let Family {
                name, help, samples, ..
            } = family;
            write!(f, "# HELP {name} {help}\n# TYPE {name} {kind}\n{samples}")?;
        }
        Ok(())
    }
}

/// Figures that share labels.
#[derive(Debug)]
pub struct Section<'a> {
    page: &'a mut Page,
    labels: Vec<String>,
}

impl Section<'_> {
    /// One that goes up and down.
    pub fn gauge(&mut self, name: &'static str, help: &'static str, value: impl Display) {
        self.sample(name, help, Kind::Gauge, &[], value);
    }

    /// One that goes up only.
    pub fn counter(&mut self, name: &'static str, help: &'static str, value: impl Display) {
        self.sample(name, help, Kind::Counter, &[], value);
    }

    /// One for each value of a label. Where there is none, the name is said all the same.
    pub fn gauges<'v, T: Display>(
        &mut self,
        name: &'static str,
        help: &'static str,
        of: &str,
        values: impl IntoIterator<Item = (&'v str, T)>,
    ) {
        self.page.family(name, help, Kind::Gauge);
        for (is, value) in values {
            self.sample(name, help, Kind::Gauge, &[(of, is)], value);
        }
    }

    /// A name that may have no sample now.
    pub fn declare(&mut self, name: &'static str, help: &'static str, kind: Kind) {
        self.page.family(name, help, kind);
    }

    /// One with labels of its own.
    pub fn sample(
        &mut self,
        name: &'static str,
        help: &'static str,
        kind: Kind,
        labels: &[(&str, &str)],
        value: impl Display,
    ) {
        let own = labels.iter().map(|(name, value)| label(name, value));
        let labels: Vec<String> = self.labels.iter().cloned().chain(own).collect();
        let family = self.page.family(name, help, kind);
        // Writing to a string cannot fail.
        let _ = writeln!(family.samples, "{name}{{{}}} {value}", labels.join(","));
    }
}

fn label(name: &str, value: &str) -> String {
    let value = value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("{name}=\"{value}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_said_once_however_many_roots_have_it() {
        let mut page = Page::default();
        for root in ["one", "t\"wo"] {
            let mut section = page.about(&[("root", root)]);
            section.gauges("baler_files", "Live files.", "table", [("events", 3)]);
            section.counter("baler_polls_total", "Polls.", 1.5);
        }
        let expected = "# HELP baler_files Live files.\n# TYPE baler_files gauge\n\
                        baler_files{root=\"one\",table=\"events\"} 3\nbaler_files{root=\"t\\\"wo\",table=\"events\"} 3\n\
                        # HELP baler_polls_total Polls.\n# TYPE baler_polls_total counter\n\
                        baler_polls_total{root=\"one\"} 1.5\nbaler_polls_total{root=\"t\\\"wo\"} 1.5\n";
        assert_eq!(page.to_string(), expected);
    }
}
