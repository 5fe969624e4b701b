//! The closed adapter configuration of a repository grant: routes, access, container, and the limits that must be off.
//! Only says what is allowed together; whether the client can be built and the boundary enforced is for admission.

use crate::Error;
use crate::container_profile::{ContainerProfile, ContainerText};
use crate::grant::field;
pub use crate::route::{Generation, IN_PROCESS, Provider, Route};
use crate::route::{RouteText, is_default};
use coder_boundary::{AllowList, Network};
use coder_digest::{Digest, ModelName};
pub use coder_models::{Effort, Protocol as Api};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// The schema every adapter configuration names.
pub const SCHEMA: &str = "openagents.microcoder.repository-config.v1";
/// The most fallback routes.
const FALLBACKS: usize = 4;
const DECISION_MODEL_BYTES: usize = 128;

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

/// Which documents beside the repository the model is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Knowledge {
    /// None: the requirements must name none.
    #[default]
    Off,
    /// Exactly those the requirements name, which must be some.
    FrozenContext,
}

/// A network as written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NetworkText {
    None,
    Host,
    Allow(Vec<String>),
}

impl NetworkText {
    fn check(self) -> Result<Network, Error> {
        Ok(match self {
            Self::None => Network::None,
            Self::Host => Network::Host,
            Self::Allow(entries) => {
                let list = AllowList::try_from(entries).map_err(|error| field("network", error.to_string()))?;
                Network::Allow(list)
            }
        })
    }

    fn of(network: &Network) -> Self {
        match network {
            Network::None => Self::None,
            Network::Host => Self::Host,
            Network::Allow(list) => Self::Allow(list.clone().into()),
        }
    }
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
    // From here on each is left out where it says nothing, so that the bytes and digests of earlier grants stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    container: Option<ContainerText>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fallbacks: Vec<RouteText>,
    #[serde(default, skip_serializing_if = "is_default")]
    access: Access,
    /// A limit of earlier versions: read, without effect, never written.
    #[serde(default, skip_serializing)]
    max_steps: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    network: Option<NetworkText>,
    #[serde(default, skip_serializing_if = "is_default")]
    api: Api,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    credential_env: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    script: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    script_digest: Option<Digest>,
}

/// A configuration whose fields fit together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// The route of the first choice.
    pub primary: Route,
    /// The routes after it, in order of preference; at most 4, no provider and model twice.
    pub fallbacks: Vec<Route>,
    /// The decision endpoint the operator names.
    pub decision_endpoint: String,
    /// The decision model the operator names.
    pub decision_model: String,
    /// Which documents the model is given.
    pub knowledge: Knowledge,
    /// The controller executable that must be running.
    pub expected_controller_digest: Option<Digest>,
    /// What commands may reach.
    pub access: Access,
    /// The network commands have, if it is not what the access mode has.
    pub network: Option<Network>,
    /// The container that commands run in, if not the local boundary.
    pub container: Option<ContainerProfile>,
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
        coder_digest::check_line("decision_model", &self.decision_model, DECISION_MODEL_BYTES)
            .map_err(|error| field("decision_model", error.to_string()))?;
        if self.decision_endpoint != IN_PROCESS {
            coder_models::Endpoint::parse(&self.decision_endpoint)
                .map_err(|error| field("decision_endpoint", error.to_string()))?;
        }
        let primary = RouteText {
            provider: self.provider,
            model: self.model,
            effort: self.effort,
            generation_endpoint: self.generation_endpoint,
            api: self.api,
            credential_env: self.credential_env,
            script: self.script,
            script_digest: self.script_digest,
        };
        let configuration = Configuration {
            primary: primary.check("")?,
            fallbacks: fallbacks(self.fallbacks)?,
            decision_endpoint: self.decision_endpoint,
            decision_model: self.decision_model,
            knowledge: self.knowledge,
            expected_controller_digest: self.expected_controller_digest,
            access: self.access,
            network: self.network.map(NetworkText::check).transpose()?,
            container: self.container.map(ContainerText::check).transpose()?,
        };
        configuration.fits_together()?;
        Ok(configuration)
    }
}

fn fallbacks(written: Vec<RouteText>) -> Result<Vec<Route>, Error> {
    if written.len() > FALLBACKS {
        return Err(field("fallbacks", "at most 4 routes are allowed"));
    }
    written
        .into_iter()
        .enumerate()
        .map(|(index, route)| route.check(&format!("fallbacks[{index}].")))
        .collect()
}

impl Configuration {
    /// The variables that hold the credentials of its routes.
    pub(crate) fn credentials(&self) -> Vec<String> {
        let named = self.routes().filter_map(|route| match &route.generation {
            Generation::Openai { credential_env, .. } => credential_env.clone(),
            Generation::Anthropic { credential_env, .. } => Some(credential_env.clone()),
            Generation::Scripted { .. }
            | Generation::Synthetic
            | Generation::Codex
            | Generation::Claude
            | Generation::Devin
            | Generation::Opencode
            | Generation::Grok => None,
        });
        named.collect()
    }

    /// A configuration of one route with everything else off: local boundary, no decisions, no knowledge.
    pub fn new(primary: Route) -> Self {
        Self {
            primary,
            fallbacks: Vec::new(),
            decision_endpoint: IN_PROCESS.to_owned(),
            decision_model: "none".to_owned(),
            knowledge: Knowledge::Off,
            expected_controller_digest: None,
            access: Access::Boundary,
            network: None,
            container: None,
        }
    }

    /// Every admitted route, in order of preference.
    pub fn routes(&self) -> impl Iterator<Item = &Route> {
        std::iter::once(&self.primary).chain(&self.fallbacks)
    }

    fn fits_together(&self) -> Result<(), Error> {
        let mut seen = HashSet::new();
        for (index, route) in self.routes().enumerate() {
            let provider = route.provider();
            if !seen.insert((provider, &route.model)) {
                return Err(field(
                    "fallbacks",
                    format!("`{provider}` with this model is there twice"),
                ));
            }
            let place = index.checked_sub(1).map_or("provider".to_owned(), |fallback| {
                format!("fallbacks[{fallback}].provider")
            });
            if (provider == Provider::Synthetic) != (self.primary.provider() == Provider::Synthetic) {
                return Err(field(place, "all routes are synthetic, or none"));
            }
            if self.container.is_some() && !provider.allows_container() {
                let reason = format!("`{provider}` takes whole turns and cannot run in a container");
                return Err(field(place, reason));
            }
        }
        if self.primary.provider() == Provider::Synthetic && self.decision_endpoint != IN_PROCESS {
            return Err(field(
                "decision_endpoint",
                "a synthetic run decides in its own process: \"in-process\"",
            ));
        }
        match (&self.network, &self.container, self.access) {
            (Some(_), Some(_), _) => {
                return Err(field(
                    "network",
                    "commands in a container have no network: leave it out",
                ));
            }
            (Some(Network::None | Network::Allow(_)), None, Access::Full) => {
                return Err(field(
                    "network",
                    "with access `full` nothing keeps a command from the network: leave it out",
                ));
            }
            (Some(_) | None, _, _) => {}
        }
        match (&self.container, self.access) {
            (Some(_), Access::Toolchains | Access::Full) => Err(field(
                "access",
                "commands in a container see its image and nothing of this computer: leave it out",
            )),
            (Some(_), Access::Boundary) | (None, _) => Ok(()),
        }
    }

    /// The network commands have.
    pub(crate) fn network(&self) -> Network {
        let usual = match self.access {
            Access::Boundary => Network::None,
            Access::Toolchains | Access::Full => Network::Host,
        };
        self.network.clone().unwrap_or(usual)
    }

    pub(crate) fn to_text(&self) -> Result<ConfigurationText, Error> {
        let primary = self.primary.to_text();
        Ok(ConfigurationText {
            schema: SCHEMA.to_owned(),
            provider: primary.provider,
            model: primary.model,
            effort: primary.effort,
            generation_endpoint: primary.generation_endpoint,
            decision_endpoint: self.decision_endpoint.clone(),
            decision_model: self.decision_model.clone(),
            acceptance: false,
            route: "never".to_owned(),
            knowledge: self.knowledge,
            dollar_limit_micros: None,
            expected_controller_digest: self.expected_controller_digest,
            container: self.container.as_ref().map(ContainerProfile::to_text).transpose()?,
            fallbacks: self.fallbacks.iter().map(Route::to_text).collect(),
            access: self.access,
            network: self.network.as_ref().map(NetworkText::of),
            max_steps: None,
            api: primary.api,
            credential_env: primary.credential_env,
            script: primary.script,
            script_digest: primary.script_digest,
        })
    }
}

#[cfg(test)]
#[path = "configuration_tests.rs"]
mod tests;
