//! `--verify reread`: every output is read back from the store before its range counts. Its bytes must be those that were written, and
//! its rows must have the digest that was taken when the encoder was handed them. So what the encoder itself does is looked at too.

use std::sync::Arc;

use baler_core::file::{Digest, File, FilePath, Identity, Origin};
use baler_core::ids::Sequence;
use baler_journal::host;

use super::engine::{MergeEnd, Order, fault, panicked};
use super::meter::Meter;
use crate::depot::Input;
use crate::merge::{MergeFault, Written};

/// Looks at all outputs, one after another.
pub(super) async fn check_all(
    order: &Arc<Order>,
    outputs: &[Written],
    meter: &Meter,
) -> Result<(), MergeEnd> {
    for output in outputs {
        meter.step();
        if meter.is_cancelled() {
            return Err(MergeEnd::Stopped);
        }
        check(order, output, meter).await?;
    }
    Ok(())
}

async fn check(order: &Arc<Order>, output: &Written, meter: &Meter) -> Result<(), MergeEnd> {
    let (depot, path) = (&order.site.root, order.written_as(output.part));
    let failed = |why: String| {
        fault(
            depot,
            format!("{path} was written and cannot be read back: {why}"),
        )
    };
    let found = depot.identity_now(&path).await;
    let Some(identity) = found.map_err(|error| failed(error.to_string()))? else {
        return Err(failed("it is not there".to_owned()));
    };
    let checksum = depot.checksum(&path).await;
    if checksum.map_err(|error| failed(error.to_string()))? != output.checksum {
        return Err(failed("its bytes are not those that were written".to_owned()));
    }
    meter.step();
    let input = depot.open_input(&file_of(order, &path, identity, output)).await;
    let input = input.map_err(|error| failed(error.to_string()))?;
    let (rows, digest) = (output.rows, output.digest);
    let order = order.clone();
    let reading = host::blocking(move || reread(&order, &input));
    match reading.await {
        Ok(None) => Ok(()),
        Ok(Some(Ok(found))) if found == (rows, digest) => Ok(()),
        Ok(Some(Ok((found, _)))) => Err(damaged(&path, &differs(found, rows))),
        Ok(Some(Err(MergeFault::Read { source, .. }))) => Err(failed(source.to_string())),
        Ok(Some(Err(MergeFault::Cancelled))) => Err(MergeEnd::Stopped),
        Ok(Some(Err(error))) => Err(damaged(&path, &error.to_string())),
        Err(panic) => Err(panicked(&panic)),
    }
}

fn reread(order: &Order, input: &Arc<dyn Input>) -> Option<Result<(u64, Digest), MergeFault>> {
    order
        .merge
        .reread(&order.grant.job.merge, input, order.memory_bytes)
}

fn differs(found: u64, rows: u64) -> String {
    match found == rows {
        true => "its rows are not those that were merged".to_owned(),
        false => format!("it holds {found} rows, and {rows} were merged"),
    }
}

/// Its bytes are what the encoder made, so that the store is not to blame.
fn damaged(path: &FilePath, why: &str) -> MergeEnd {
    MergeEnd::InputFault {
        error: format!("{path} was read back, and {why}: nothing may be committed"),
        culprits: vec![],
    }
}

/// The output as if it were an input.
fn file_of(order: &Order, path: &FilePath, identity: Identity, output: &Written) -> File {
    File {
        path: path.clone(),
        identity,
        partition: order.grant.job.partition.clone(),
        level: order.grant.job.output_level,
        rows: output.rows,
        keys: None,
        times: None,
        digest: Some(output.digest),
        checksum: Some(output.checksum),
        origin: Origin::default(),
        added: Sequence::default(),
        apart: None,
    }
}
