//! The closed adapter configuration of a repository grant: provider, model, endpoints, access, limits that must be off.
//! Only says what is allowed together; whether the client can be built and the boundary enforced is for admission.

use crate::Error;
use crate::grant::{absolute_path, field};
use coder_digest::{Digest, ModelName};
pub use coder_models::{Effort, Protocol as Api};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The schema every adapter configuration names.
pub const SCHEMA: &str = "openagents.microcoder.repository-config.v1";
/// The endpoint of providers that make no request.
pub const IN_PROCESS: &str = "in-process";

/// Who generates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// The operator's Codex login.
    Codex,
    /// The Claude Code program.
    Claude,
    /// The Devin program over ACP.
    Devin,
    /// The OpenCode program over ACP.
    Opencode,
    /// The Grok Build program over ACP.
    Grok,
    /// Any OpenAI-compatible endpoint.
    Openai,
    /// A recorded conversation.
    Scripted,
}

/// What commands may reach; the specification's three modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// The workspace and the system, offline.
    #[default]
    Boundary,
    /// Also this computer's developer toolchains, online.
    Toolchains,
    /// The owner's own access.
    Full,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Knowledge {
    Off,
    FrozenContext,
}

/// The configuration as written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfigurationText {
    schema: String,
    provider: Provider,
    model: ModelName,
    #[serde(default)]
    effort: Option<Effort>,
    generation_endpoint: String,
    decision_endpoint: String,
    decision_model: String,
    acceptance: bool,
    route: String,
    knowledge: Knowledge,
    #[serde(default)]
    dollar_limit_micros: Option<u64>,
    #[serde(default)]
    expected_controller_digest: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    container: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fallbacks: Vec<serde_json::Value>,
    #[serde(default, skip_serializing_if = "is_default")]
    access: Access,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_steps: Option<u64>,
    #[serde(default, skip_serializing_if = "is_default")]
    api: Api,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    credential_env: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    script: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    script_digest: Option<Digest>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// How the chosen provider is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Generation {
    /// An OpenAI-compatible endpoint.
    Openai {
        /// The checked endpoint text.
        endpoint: String,
        /// The request format.
        api: Api,
        /// The environment variable that holds the key, if the endpoint wants one.
        credential_env: Option<String>,
    },
    /// A recorded conversation.
    Scripted {
        /// The script's absolute path.
        script: PathBuf,
        /// The digest of its exact bytes.
        script_digest: Digest,
    },
}

/// A configuration whose fields fit together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// The exact model the provider must report.
    pub model: ModelName,
    /// The requested effort, if any.
    pub effort: Option<Effort>,
    /// How it is reached.
    pub generation: Generation,
    /// The decision endpoint the operator names.
    pub decision_endpoint: String,
    /// The decision model the operator names.
    pub decision_model: String,
    /// The controller executable that must be running.
    pub expected_controller_digest: Option<Digest>,
    /// What commands may reach.
    pub access: Access,
}

impl ConfigurationText {
    pub(crate) fn check(self) -> Result<Configuration, Error> {
        if self.schema != SCHEMA {
            return Err(Error::UnsupportedSchema {
                what: "adapter configuration",
                expected: SCHEMA,
            });
        }
        if self.acceptance {
            return Err(field(
                "acceptance",
                "model-written acceptance tests are disabled in this profile: false",
            ));
        }
        if self.route != "never" {
            return Err(field(
                "route",
                "routing to a stronger model is disabled in this profile: \"never\"",
            ));
        }
        if self.dollar_limit_micros.is_some() {
            return Err(field("dollar_limit_micros", "a run has no hard spend limit: null"));
        }
        if self.knowledge == Knowledge::FrozenContext {
            return Err(field(
                "knowledge",
                "`frozen-context` needs requirements with a knowledge inventory; use \"off\"",
            ));
        }
        if self.container.is_some() {
            return Err(field(
                "container",
                "this version runs commands in the local boundary only: leave it out",
            ));
        }
        if !self.fallbacks.is_empty() {
            return Err(field("fallbacks", "this version admits one route only: leave it out"));
        }
        coder_digest::check_line("decision_model", &self.decision_model, 128)
            .map_err(|error| field("decision_model", error.to_string()))?;
        if self.decision_endpoint != IN_PROCESS {
            https("decision_endpoint", &self.decision_endpoint)?;
        }
        Ok(Configuration {
            generation: self.generation()?,
            model: self.model,
            effort: self.effort,
            decision_endpoint: self.decision_endpoint,
            decision_model: self.decision_model,
            expected_controller_digest: self.expected_controller_digest,
            access: self.access,
        })
    }

    fn generation(&self) -> Result<Generation, Error> {
        match self.provider {
            Provider::Openai => {
                if self.script.is_some() || self.script_digest.is_some() {
                    return Err(field("script", "only the scripted provider takes a script"));
                }
                coder_models::Endpoint::parse(&self.generation_endpoint)
                    .map_err(|error| field("generation_endpoint", error.to_string()))?;
                if let Some(name) = &self.credential_env {
                    check_variable(name)?;
                }
                Ok(Generation::Openai {
                    endpoint: self.generation_endpoint.clone(),
                    api: self.api,
                    credential_env: self.credential_env.clone(),
                })
            }
            Provider::Scripted => {
                if self.generation_endpoint != IN_PROCESS {
                    return Err(field(
                        "generation_endpoint",
                        "the scripted provider's endpoint is \"in-process\"",
                    ));
                }
                if self.credential_env.is_some() || self.api != Api::default() || self.effort.is_some() {
                    return Err(field(
                        "provider",
                        "the scripted provider takes no `api`, `credential_env` or `effort`",
                    ));
                }
                let (Some(script), Some(script_digest)) = (&self.script, self.script_digest) else {
                    return Err(field(
                        "script",
                        "the scripted provider needs `script` and `script_digest`",
                    ));
                };
                Ok(Generation::Scripted {
                    script: absolute_path("script", script)?,
                    script_digest,
                })
            }
            Provider::Codex | Provider::Claude | Provider::Devin | Provider::Opencode | Provider::Grok => Err(field(
                "provider",
                "this version has no client for it; use \"openai\" or \"scripted\"",
            )),
        }
    }
}

impl Configuration {
    pub(crate) fn to_text(&self) -> ConfigurationText {
        let (provider, generation_endpoint, api, credential_env, script, script_digest) = match &self.generation {
            Generation::Openai {
                endpoint,
                api,
                credential_env,
            } => (
                Provider::Openai,
                endpoint.clone(),
                *api,
                credential_env.clone(),
                None,
                None,
            ),
            Generation::Scripted { script, script_digest } => {
                let script = script.to_str().map(str::to_owned);
                (
                    Provider::Scripted,
                    IN_PROCESS.to_owned(),
                    Api::default(),
                    None,
                    script,
                    Some(*script_digest),
                )
            }
        };
        ConfigurationText {
            schema: SCHEMA.to_owned(),
            provider,
            model: self.model.clone(),
            effort: self.effort,
            generation_endpoint,
            decision_endpoint: self.decision_endpoint.clone(),
            decision_model: self.decision_model.clone(),
            acceptance: false,
            route: "never".to_owned(),
            knowledge: Knowledge::Off,
            dollar_limit_micros: None,
            expected_controller_digest: self.expected_controller_digest,
            container: None,
            fallbacks: Vec::new(),
            access: self.access,
            max_steps: None,
            api,
            credential_env,
            script,
            script_digest,
        }
    }

    /// The provider's word in the grant.
    pub fn provider(&self) -> Provider {
        match self.generation {
            Generation::Openai { .. } => Provider::Openai,
            Generation::Scripted { .. } => Provider::Scripted,
        }
    }
}

/// An https endpoint with a host and no user info, query or fragment.
fn https(name: &'static str, text: &str) -> Result<(), Error> {
    let url = url::Url::parse(text).map_err(|error| field(name, error.to_string()))?;
    let bare =
        url.username().is_empty() && url.password().is_none() && url.query().is_none() && url.fragment().is_none();
    if url.scheme() == "https" && url.host().is_some() && bare {
        Ok(())
    } else {
        Err(field(
            name,
            "an https address without user info, query or fragment is needed",
        ))
    }
}

fn check_variable(name: &str) -> Result<(), Error> {
    let plain = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let first = name
        .chars()
        .next()
        .is_some_and(|character| character.is_ascii_alphabetic() || character == '_');
    if first && name.len() <= 128 && name.chars().all(plain) {
        Ok(())
    } else {
        Err(field(
            "credential_env",
            "the name of an environment variable is needed, never the key itself",
        ))
    }
}

#[cfg(test)]
#[path = "configuration_tests.rs"]
mod tests;
