//! The front matter of a document: a closed YAML mapping between two `---` lines at its beginning, with a text after it.
//! No anchors, aliases, merge keys or repeated keys: what the document says of itself must have one reading.

use serde::Deserialize;

const FENCE: &str = "---";
/// The longest message of the parser that is repeated, in characters.
const MESSAGE: usize = 300;

/// What kind of thing a document tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Method,
    EdgeCase,
    Slip,
    Environment,
    Tool,
}

/// How far a document is trusted by those who keep it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Status {
    Candidate,
    Admitted,
    /// Wrong or harmful: kept for the record, never given to a model.
    Withdrawn,
}

/// Where a document comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Provenance {
    #[serde(default)]
    pub(super) written_from: Vec<String>,
    #[serde(default)]
    pub(super) cites: Vec<String>,
}

/// What a document says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FrontMatter {
    pub(super) id: String,
    pub(super) version: u32,
    pub(super) kind: Kind,
    pub(super) title: String,
    pub(super) summary: String,
    #[serde(default)]
    pub(super) tags: Vec<String>,
    pub(super) applies_when: String,
    pub(super) status: Status,
    pub(super) author: String,
    #[serde(default)]
    pub(super) provenance: Provenance,
    #[serde(default)]
    pub(super) evidence: Vec<String>,
}

/// Reads the front matter of a whole document; the reason where it has none that is complete.
pub(super) fn parse(document: &str) -> Result<FrontMatter, String> {
    let (front, body) = split(document)?;
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_aliases: 0, max_anchors: 0, max_documents: 1 },
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::Error,
        merge_keys: serde_saphyr::options::MergeKeyPolicy::Error,
        strict_booleans: true,
    };
    let front: FrontMatter = serde_saphyr::from_str_with_options(front, options).map_err(|error| {
        format!(
            "its front matter cannot be read: {}",
            one_line(&error.without_snippet().to_string())
        )
    })?;
    if front.version == 0 {
        return Err("its `version` is not positive".to_owned());
    }
    let said = [
        ("id", &front.id),
        ("title", &front.title),
        ("summary", &front.summary),
        ("applies_when", &front.applies_when),
        ("author", &front.author),
    ];
    if let Some((name, _)) = said.into_iter().find(|(_, text)| text.trim().is_empty()) {
        return Err(format!("its `{name}` says nothing"));
    }
    if body.trim().is_empty() {
        return Err("it has nothing after its front matter".to_owned());
    }
    Ok(front)
}

/// The front matter and what comes after it.
fn split(document: &str) -> Result<(&str, &str), String> {
    let inner = document
        .strip_prefix(FENCE)
        .and_then(|rest| rest.strip_prefix('\n').or_else(|| rest.strip_prefix("\r\n")));
    let Some(inner) = inner else {
        return Err("it does not begin with front matter between two `---` lines".to_owned());
    };
    let mut end = 0;
    for line in inner.split_inclusive('\n') {
        if line.trim_end() == FENCE {
            let front = inner.get(..end).unwrap_or_default();
            let body = inner.get(end + line.len()..).unwrap_or_default();
            return Ok((front, body));
        }
        end += line.len();
    }
    Err("its front matter has no closing `---` line".to_owned())
}

fn one_line(message: &str) -> String {
    let plain = |character: char| if character.is_control() { ' ' } else { character };
    message.chars().map(plain).take(MESSAGE).collect()
}

#[cfg(test)]
#[path = "front_matter_tests.rs"]
pub(super) mod tests;
