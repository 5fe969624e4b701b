//! The rendered ATIF document of a log: what other tools read. Written step by step, so that a large log needs no large
//! memory. A damaged or unsealed log is exported too and says so under `extra`.

use crate::error::Error;
use crate::index::{Chain, Opening};
use crate::reader::Reader;
use crate::record::SCHEMA_VERSION;
use crate::render::{dollars, render_step};
use crate::step::Tokens;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// The document of the log as one value.
///
/// # Errors
/// As [`write_atif_document`].
pub fn atif_document(reader: &Reader) -> Result<Value, Error> {
    let opening = opening(reader)?;
    let mut steps = Vec::new();
    let mut totals = Totals::default();
    each_step(reader, &mut totals, |step| {
        steps.push(step);
        Ok(())
    })?;
    let mut document = head(opening);
    document.insert("steps".into(), Value::Array(steps));
    document.insert("final_metrics".into(), totals.render(reader));
    document.insert("extra".into(), extra(reader, opening));
    Ok(Value::Object(document))
}

/// Writes the document of the log, compact, with a newline at the end.
///
/// # Errors
/// [`Error::Empty`] where no session or no step can be read: such a document would not be ATIF. [`Error::Changed`] and
/// [`Error::File`] from reading; [`Error::Output`] from `output`.
pub fn write_atif_document(reader: &Reader, mut output: impl Write) -> Result<(), Error> {
    let opening = opening(reader)?;
    let mut write = |text: &[u8]| output.write_all(text).map_err(|source| Error::Output { source });
    let mut separator = "{";
    for (name, value) in head(opening) {
        write(format!("{separator}\"{name}\":{value}").as_bytes())?;
        separator = ",";
    }
    write(b",\"steps\":[")?;
    let mut totals = Totals::default();
    let mut separator = "";
    each_step(reader, &mut totals, |step| {
        write(format!("{separator}{step}").as_bytes())?;
        separator = ",";
        Ok(())
    })?;
    let metrics = totals.render(reader);
    let extra = extra(reader, opening);
    write(format!("],\"final_metrics\":{metrics},\"extra\":{extra}}}\n").as_bytes())?;
    output.flush().map_err(|source: io::Error| Error::Output { source })
}

fn opening(reader: &Reader) -> Result<&Opening, Error> {
    match reader.index().opening() {
        Some(opening) if reader.index().steps() > 0 => Ok(opening),
        _ => Err(Error::Empty {
            path: reader.path().to_owned(),
        }),
    }
}

fn each_step(
    reader: &Reader,
    totals: &mut Totals,
    mut take: impl FnMut(Value) -> Result<(), Error>,
) -> Result<(), Error> {
    for (step_id, entry) in (1..).zip(reader.entries(1, u64::MAX)) {
        let recorded = reader.step(entry)?;
        if let Some(tokens) = &recorded.step.tokens {
            totals.add(tokens);
        }
        take(render_step(step_id, &recorded, entry.call_name.as_deref()))?;
    }
    Ok(())
}

fn head(opening: &Opening) -> Map<String, Value> {
    let session = &opening.session;
    let mut agent = json!({"name": session.door, "version": session.version});
    if let Some(model) = &session.model {
        agent["model_name"] = model.clone().into();
    }
    let mut head = Map::new();
    head.insert("schema_version".into(), SCHEMA_VERSION.into());
    head.insert("session_id".into(), session.id.as_str().into());
    head.insert("agent".into(), agent);
    head
}

fn extra(reader: &Reader, opening: &Opening) -> Value {
    let index = reader.index();
    let mut extra = json!({
        "started": opening.at.to_string(),
        "trace": {
            "digest": index.digest(),
            "lines": index.lines(),
            "chained": index.chain() == Chain::Present,
            "faults": index.faults(),
        },
    });
    if let Some(ended) = index.ended() {
        extra["ended"] = ended.to_string().into();
    }
    if let Some(repository) = &opening.session.repository {
        extra["repository"] = repository.clone().into();
    }
    extra
}

/// A sum that is known only while every part of it is.
#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    known: u64,
    unknown: u64,
}

impl Sum {
    fn add(&mut self, part: Option<u64>) {
        match part {
            Some(part) => self.known = self.known.saturating_add(part),
            None => self.unknown += 1,
        }
    }
}

#[derive(Debug, Default)]
struct Totals {
    requests: u64,
    input: Sum,
    output: Sum,
    cached: Sum,
    cost: Sum,
}

impl Totals {
    fn add(&mut self, tokens: &Tokens) {
        self.requests += 1;
        self.input.add(tokens.input);
        self.output.add(tokens.output);
        self.cached.add(tokens.cached);
        self.cost.add(tokens.cost_microusd);
    }

    fn render(&self, reader: &Reader) -> Value {
        let mut metrics = Map::new();
        let mut known = Map::new();
        let sums = [
            ("total_prompt_tokens", self.input),
            ("total_completion_tokens", self.output),
            ("total_cached_tokens", self.cached),
            ("total_cost_usd", self.cost),
        ];
        for (name, sum) in sums {
            let value = match name {
                "total_cost_usd" => dollars(sum.known),
                _ => sum.known.into(),
            };
            if self.requests == 0 || sum.unknown == self.requests {
                continue;
            }
            match sum.unknown {
                0 => metrics.insert(name.into(), value),
                // A lower bound must not stand where a total is read.
                unknown => known.insert(name.into(), json!({"known": value, "unknown_requests": unknown})),
            };
        }
        metrics.insert("total_steps".into(), reader.index().steps().into());
        if !known.is_empty() {
            metrics.insert("extra".into(), json!({ "partial": known }));
        }
        Value::Object(metrics)
    }
}

#[cfg(test)]
#[path = "export_tests.rs"]
mod tests;
