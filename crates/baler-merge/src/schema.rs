//! One schema for all inputs: columns by name, types promoted; and who is odd where that fails. Pure.

use crate::error::MergeError;
use crate::promote::{nullable, promote_field};
use arrow::datatypes::{FieldRef, Metadata, Schema, SchemaRef};
use std::collections::HashMap;
use std::sync::Arc;

/// The union of the schemas: columns in the order in which they first appear. Metadata stays where all agree.
///
/// Where a column's types do not go together, the type that most inputs have stands, and the inputs with others are the culprits.
pub(crate) fn unite(schemas: &[SchemaRef]) -> Result<SchemaRef, MergeError> {
    let mut order: Vec<&str> = Vec::new();
    let mut columns: HashMap<&str, Column> = HashMap::new();
    for (input, schema) in schemas.iter().enumerate() {
        for field in schema.fields() {
            let column = columns.entry(field.name()).or_insert_with(|| {
                order.push(field.name());
                Column::default()
            });
            column.saw(field, input);
        }
    }
    let mut fields = Vec::with_capacity(order.len());
    let mut odd: Vec<(Vec<usize>, String)> = Vec::new();
    for name in order {
        match columns[name].united(schemas.len()) {
            Ok(field) => fields.push(field),
            Err((culprits, why)) => odd.push((culprits, format!("column {name} {why}"))),
        }
    }
    if odd.is_empty() {
        return Ok(Arc::new(Schema::new_with_metadata(
            fields,
            agreed_metadata(schemas),
        )));
    }
    let mut culprits: Vec<usize> = odd.iter().flat_map(|(culprits, _)| culprits).copied().collect();
    culprits.sort_unstable();
    culprits.dedup();
    let reasons: Vec<String> = odd.into_iter().map(|(_, why)| why).collect();
    Err(MergeError::Input {
        culprits,
        reason: reasons.join("; "),
    })
}

/// The shapes in which a column occurs, each with its inputs.
#[derive(Default)]
struct Column {
    shapes: Vec<(FieldRef, Vec<usize>)>,
}

impl Column {
    fn saw(&mut self, field: &FieldRef, input: usize) {
        match self.shapes.iter_mut().find(|(shape, _)| shape == field) {
            Some((_, inputs)) => inputs.push(input),
            None => self.shapes.push((Arc::clone(field), vec![input])),
        }
    }

    fn united(&self, inputs: usize) -> Result<FieldRef, (Vec<usize>, String)> {
        let mut shapes: Vec<&(FieldRef, Vec<usize>)> = self.shapes.iter().collect();
        // Stable: among equally frequent shapes the one that came first stands.
        shapes.sort_by_key(|(_, inputs)| std::cmp::Reverse(inputs.len()));
        let mut field = Arc::clone(&shapes[0].0);
        let (mut culprits, mut odd_types) = (Vec::new(), Vec::new());
        for (shape, inputs) in &shapes[1..] {
            match promote_field(&field, shape) {
                Some(promoted) => field = promoted,
                None => {
                    culprits.extend(inputs);
                    odd_types.push(shape.data_type().to_string());
                }
            }
        }
        if !culprits.is_empty() {
            let why = format!(
                "is {} here and {} in the other inputs",
                odd_types.join(" or "),
                field.data_type()
            );
            return Err((culprits, why));
        }
        let present: usize = self.shapes.iter().map(|(_, inputs)| inputs.len()).sum();
        Ok(if present < inputs { nullable(&field) } else { field })
    }
}

fn agreed_metadata(schemas: &[SchemaRef]) -> Metadata {
    let mut agreed = schemas
        .first()
        .map(|schema| schema.metadata().clone())
        .unwrap_or_default();
    agreed.retain(|key, value| {
        schemas
            .iter()
            .all(|schema| schema.metadata().get(key) == Some(value))
    });
    agreed
}
