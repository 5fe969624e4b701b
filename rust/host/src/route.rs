//! One way to a model: provider, exact model, effort, endpoint. Everything a provider fixes stands in one table, so that a
//! rule of one provider cannot be forgotten for another. Whether a client for it exists is for admission.

use crate::Error;
use crate::grant::{absolute_path, field};
use coder_digest::{Digest, ModelName};
use coder_models::{Effort, Endpoint, Protocol as Api};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// The endpoint of providers that make no request.
pub const IN_PROCESS: &str = "in-process";

/// Who generates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// The operator's Codex login.
    Codex,
    /// The Claude Code program.
    Claude,
    /// The Devin program over ACP; takes the whole turn.
    Devin,
    /// The OpenCode program over ACP; takes the whole turn.
    Opencode,
    /// The Grok Build program over ACP; takes the whole turn.
    Grok,
    /// Anthropic's Messages API, with a key.
    Anthropic,
    /// Any OpenAI-compatible endpoint.
    Openai,
    /// A recorded conversation.
    Scripted,
    /// A fixture in the test's own process.
    Synthetic,
}

/// What a provider fixes about a route.
struct Rules {
    word: &'static str,
    /// The only endpoint, where there is only one.
    endpoint: Option<&'static str>,
    effort: Accepts,
    container: Accepts,
    model: ModelRule,
}

/// Whether something may be asked of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Accepts {
    Yes,
    No,
}

/// Which model names a provider has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ModelRule {
    Any,
    /// Without `/`.
    Bare,
    /// `provider/model`.
    Qualified,
}

impl Provider {
    fn rules(self) -> Rules {
        let rules = |word, endpoint, effort, container, model| Rules {
            word,
            endpoint,
            effort,
            container,
            model,
        };
        use Accepts::{No, Yes};
        use ModelRule::{Any, Bare, Qualified};
        match self {
            Self::Codex => rules("codex", Some("https://chatgpt.com/backend-api/codex"), Yes, Yes, Bare),
            Self::Claude => rules("claude", Some("https://api.anthropic.com"), Yes, Yes, Bare),
            Self::Devin => rules("devin", Some("local:devin-acp"), No, No, Any),
            Self::Opencode => rules("opencode", Some("local:opencode-acp"), No, No, Qualified),
            Self::Grok => rules("grok", Some("local:grok-acp"), No, No, Bare),
            Self::Anthropic => rules("anthropic", None, Yes, Yes, Bare),
            Self::Openai => rules("openai", None, Yes, Yes, Any),
            Self::Scripted => rules("scripted", Some(IN_PROCESS), No, Yes, Any),
            Self::Synthetic => rules("synthetic", Some(IN_PROCESS), Yes, Yes, Any),
        }
    }

    /// The provider's word in a grant.
    pub fn as_str(self) -> &'static str {
        self.rules().word
    }

    /// The only endpoint of this provider; `None` where the grant names one.
    pub fn endpoint(self) -> Option<&'static str> {
        self.rules().endpoint
    }

    /// Whether its commands can run in a container: a program that takes the whole turn runs its own.
    pub fn allows_container(self) -> bool {
        self.rules().container == Accepts::Yes
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A route as written in `fallbacks`: closed, unchecked beyond its shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RouteText {
    pub(crate) provider: Provider,
    pub(crate) model: ModelName,
    #[serde(default)]
    pub(crate) effort: Option<Effort>,
    pub(crate) generation_endpoint: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) api: Api,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) credential_env: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) script: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) script_digest: Option<Digest>,
}

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// How a provider is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Generation {
    /// The operator's Codex login, at its fixed endpoint.
    Codex,
    /// The Claude Code program.
    Claude,
    /// The Devin program.
    Devin,
    /// The OpenCode program.
    Opencode,
    /// The Grok Build program.
    Grok,
    /// The Messages API.
    Anthropic {
        /// The checked endpoint text.
        endpoint: String,
        /// The environment variable that holds the key.
        credential_env: String,
    },
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
    /// A fixture in the test's own process.
    Synthetic,
}

/// A route whose fields fit together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The exact model the provider must report.
    pub model: ModelName,
    /// The requested effort, if any.
    pub effort: Option<Effort>,
    /// How it is reached.
    pub generation: Generation,
}

impl RouteText {
    /// Checks the route, whose fields a refusal names below `place`: empty, or `fallbacks[0].` and so on.
    pub(crate) fn check(self, place: &str) -> Result<Route, Error> {
        let refuse = |name: &str, reason: String| Err(field(format!("{place}{name}"), reason));
        let (provider, rules) = (self.provider, self.provider.rules());
        if let Some(endpoint) = rules.endpoint
            && self.generation_endpoint != endpoint
        {
            let reason = format!("the endpoint of `{provider}` is \"{endpoint}\" and no other");
            return refuse("generation_endpoint", reason);
        }
        if self.effort.is_some() && rules.effort == Accepts::No {
            return refuse("effort", format!("`{provider}` takes no effort: null"));
        }
        let model = self.model.as_str();
        match rules.model {
            ModelRule::Any => {}
            ModelRule::Bare if model.contains('/') => {
                return refuse("model", format!("a model of `{provider}` holds no `/`"));
            }
            ModelRule::Bare => {}
            ModelRule::Qualified => {
                let halves = model.split_once('/');
                if halves.is_none_or(|(provider, name)| provider.is_empty() || name.is_empty()) {
                    return refuse("model", format!("a model of `{provider}` is written `provider/model`"));
                }
            }
        }
        if provider != Provider::Openai && !is_default(&self.api) {
            return refuse("api", format!("only `openai` takes it, and not `{provider}`"));
        }
        if !matches!(provider, Provider::Openai | Provider::Anthropic) && self.credential_env.is_some() {
            let reason = format!("only `openai` and `anthropic` take it, and not `{provider}`");
            return refuse("credential_env", reason);
        }
        if provider != Provider::Scripted && (self.script.is_some() || self.script_digest.is_some()) {
            let name = if self.script.is_some() {
                "script"
            } else {
                "script_digest"
            };
            return refuse(name, format!("only `scripted` takes it, and not `{provider}`"));
        }
        Ok(Route {
            generation: self.generation(place)?,
            model: self.model,
            effort: self.effort,
        })
    }

    fn generation(&self, place: &str) -> Result<Generation, Error> {
        match self.provider {
            Provider::Codex => Ok(Generation::Codex),
            Provider::Claude => Ok(Generation::Claude),
            Provider::Devin => Ok(Generation::Devin),
            Provider::Opencode => Ok(Generation::Opencode),
            Provider::Grok => Ok(Generation::Grok),
            Provider::Synthetic => Ok(Generation::Synthetic),
            Provider::Anthropic => {
                self.named_endpoint(place)?;
                let Some(credential_env) = self.credential_env.clone() else {
                    return Err(field(
                        format!("{place}credential_env"),
                        "the name of the environment variable that holds the key is needed",
                    ));
                };
                Ok(Generation::Anthropic {
                    endpoint: self.generation_endpoint.clone(),
                    credential_env,
                })
            }
            Provider::Openai => {
                self.named_endpoint(place)?;
                Ok(Generation::Openai {
                    endpoint: self.generation_endpoint.clone(),
                    api: self.api,
                    credential_env: self.credential_env.clone(),
                })
            }
            Provider::Scripted => {
                let (Some(script), Some(script_digest)) = (&self.script, self.script_digest) else {
                    return Err(field(
                        format!("{place}script"),
                        "the scripted provider needs `script` and `script_digest`",
                    ));
                };
                Ok(Generation::Scripted {
                    script: absolute_path(format!("{place}script"), script)?,
                    script_digest,
                })
            }
        }
    }
}

impl RouteText {
    /// The endpoint and the key's variable of a provider that can be anywhere.
    fn named_endpoint(&self, place: &str) -> Result<(), Error> {
        Endpoint::parse(&self.generation_endpoint)
            .map_err(|error| field(format!("{place}generation_endpoint"), error.to_string()))?;
        match &self.credential_env {
            Some(name) if !is_variable(name) => Err(field(
                format!("{place}credential_env"),
                "the name of an environment variable is needed, never the key itself",
            )),
            Some(_) | None => Ok(()),
        }
    }
}

impl Route {
    /// A route that asks for no effort.
    pub fn new(model: ModelName, generation: Generation) -> Self {
        Self {
            model,
            effort: None,
            generation,
        }
    }

    /// Who generates.
    pub fn provider(&self) -> Provider {
        match self.generation {
            Generation::Codex => Provider::Codex,
            Generation::Claude => Provider::Claude,
            Generation::Devin => Provider::Devin,
            Generation::Opencode => Provider::Opencode,
            Generation::Grok => Provider::Grok,
            Generation::Anthropic { .. } => Provider::Anthropic,
            Generation::Openai { .. } => Provider::Openai,
            Generation::Scripted { .. } => Provider::Scripted,
            Generation::Synthetic => Provider::Synthetic,
        }
    }

    pub(crate) fn to_text(&self) -> RouteText {
        let provider = self.provider();
        let mut text = RouteText {
            provider,
            model: self.model.clone(),
            effort: self.effort,
            generation_endpoint: provider.endpoint().unwrap_or_default().to_owned(),
            api: Api::default(),
            credential_env: None,
            script: None,
            script_digest: None,
        };
        match &self.generation {
            Generation::Openai {
                endpoint,
                api,
                credential_env,
            } => {
                text.generation_endpoint.clone_from(endpoint);
                text.api = *api;
                text.credential_env.clone_from(credential_env);
            }
            Generation::Anthropic {
                endpoint,
                credential_env,
            } => {
                text.generation_endpoint.clone_from(endpoint);
                text.credential_env = Some(credential_env.clone());
            }
            Generation::Scripted { script, script_digest } => {
                text.script = script.to_str().map(str::to_owned);
                text.script_digest = Some(*script_digest);
            }
            Generation::Codex
            | Generation::Claude
            | Generation::Devin
            | Generation::Opencode
            | Generation::Grok
            | Generation::Synthetic => {}
        }
        text
    }
}

/// The name of an environment variable: a letter or `_`, then letters, digits and `_`, at most 128.
fn is_variable(name: &str) -> bool {
    let plain = |character: char| character.is_ascii_alphanumeric() || character == '_';
    name.len() <= 128
        && name.chars().all(plain)
        && name.chars().next().is_some_and(|character| !character.is_ascii_digit())
}

#[cfg(test)]
#[path = "route_tests.rs"]
mod tests;
