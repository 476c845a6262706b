//! Whether a receipt's own figures add up. They were checked before the commit; whoever looks at a receipt years later can
//! do so again, with nothing but the receipt.

use baler_core::file::Digest;
use baler_core::stretch::Proof;

use super::{RangeProof, Receipt};

impl Receipt {
    /// Rows and digests that went in are those that came out or were dropped by a rule. Says what is wrong in words.
    pub fn check(&self) -> Result<(), String> {
        let dropped: u64 = self.drops.iter().map(|drop| drop.rows).sum();
        let (rows_in, rows_out) = (self.rows_in(), self.rows_out());
        if u128::from(rows_in) != u128::from(rows_out) + u128::from(dropped) {
            return Err(format!(
                "{rows_in} rows went in, {rows_out} came out and {dropped} were dropped by rule"
            ));
        }
        let read: Digest = self.inputs.iter().map(|input| input.digest).sum();
        let written: Digest = self.outputs.iter().map(|output| output.digest).sum();
        let gone: Digest = self.drops.iter().map(|drop| drop.digest).sum();
        if read != written.plus(gone) {
            return Err("the digests of its inputs are not those of its outputs and drops".to_owned());
        }
        let copied = |copied: u64| u128::from(copied);
        let taken: u128 = self.inputs.iter().map(|input| copied(input.copied)).sum();
        let put: u128 = self.outputs.iter().map(|output| copied(output.copied)).sum();
        let sealed: u128 = self.ranges.iter().map(|range| copied(range.bytes)).sum();
        let seals = self.ranges.iter().filter_map(|range| range.seals);
        if taken != put || put != sealed || seals.into_iter().any(|seal| seal.read != seal.written) {
            return Err("the pages that it copied are not those that it wrote".to_owned());
        }
        self.ranges.iter().try_for_each(RangeProof::check)
    }
}

impl RangeProof {
    /// Its stretches are what it says of itself as a whole, and each balances alone.
    fn check(&self) -> Result<(), String> {
        if self.stretches.is_empty() {
            return Ok(());
        }
        let proved_by = |proof| {
            let proved = self
                .stretches
                .iter()
                .filter(move |stretch| stretch.proof == proof);
            proved.map(|proved| &proved.stretch)
        };
        let rows = |proof| -> u128 { proved_by(proof).map(|stretch| u128::from(stretch.rows)).sum() };
        let read = |proof| -> Digest { proved_by(proof).map(|stretch| stretch.read).sum() };
        let seals = self.seals.map_or(Digest::default(), |seals| seals.read);
        let balance = self.stretches.iter().all(|proved| proved.stretch.balances());
        let whole = rows(Proof::Rows) == u128::from(self.rows)
            && rows(Proof::Bytes) == u128::from(self.bytes)
            && (read(Proof::Rows), read(Proof::Bytes)) == (self.read, seals);
        match balance && whole {
            true => Ok(()),
            false => Err(format!(
                "the stretches of range {} do not add up to it",
                self.range
            )),
        }
    }
}
