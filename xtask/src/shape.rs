//! The shapes of data that bench/gen.py makes, and how Baler is asked to compact each.

use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Overlap,
    Disjoint,
    Mixed,
    Upsert,
}

impl Shape {
    pub(crate) const ALL: [Self; 4] = [Self::Overlap, Self::Disjoint, Self::Mixed, Self::Upsert];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Overlap => "overlap",
            Self::Disjoint => "disjoint",
            Self::Mixed => "mixed",
            Self::Upsert => "upsert",
        }
    }

    /// The arguments of `baler compact` that say how its result is sorted and what it keeps.
    pub(crate) fn order(self) -> &'static [&'static str] {
        match self {
            Self::Overlap => &["--sort-by", "series_id,ts"],
            Self::Disjoint | Self::Mixed => &["--sort-by", "ts"],
            Self::Upsert => &["--key", "key", "--newest", "seq"],
        }
    }
}

impl FromStr for Shape {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|shape| shape.name() == text).ok_or(())
    }
}
