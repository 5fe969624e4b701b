//! The clients of a grant's routes. The first route's must build, or nothing is admitted; a fallback whose client cannot is
//! left out, and the run says why. Nothing is sent here. A key is read from its variable here and goes nowhere else.

use crate::configuration::{Configuration, Generation, Provider, Route};
use crate::{Error, confine::Environment};
use coder_digest::{Clock, TaskId};
use coder_failover::Lane;
use coder_models::{
    Anthropic, AnthropicConfig, Claude, ClaudeConfig, Client, Codex, CodexConfig, Endpoint, HttpSettings, OpenAi,
    OpenAiConfig, Script, Scripted, Secret, codex_login_path, locate_claude, login_fingerprint,
};
use coder_process::Cancel;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What finds and trusts a remote provider.
pub(crate) const REMOTE: [&str; 8] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "NO_PROXY",
    "no_proxy",
];
/// Where the Claude Code program may be, beside the places every program is looked for in.
pub(crate) const CLAUDE_PLACES: [&str; 6] = [
    "CLAUDE_BIN",
    "NPM_CONFIG_PREFIX",
    "npm_config_prefix",
    "VOLTA_HOME",
    "BUN_INSTALL",
    "NVM_DIR",
];
/// What the program signs in with. No other address than the provider's own is passed on: prompts go where the grant says.
pub(crate) const CLAUDE_LOGIN: [&str; 4] = [
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "ANTHROPIC_API_KEY",
    "XDG_CONFIG_HOME",
];
/// Who the person is, for the program.
const CLAUDE_PERSON: [&str; 8] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TMPDIR"];

/// A route with its client.
pub(crate) struct Ready {
    pub(crate) route: Route,
    pub(crate) lane: Lane,
    pub(crate) client: Box<dyn Client>,
}

/// A fallback that cannot be used here.
#[derive(Debug)]
pub(crate) struct Unavailable {
    pub(crate) route: Route,
    pub(crate) reason: String,
}

/// Every admitted route, in order of preference.
pub(crate) struct Routes {
    pub(crate) ready: Vec<Ready>,
    pub(crate) unavailable: Vec<Unavailable>,
}

/// Refuses a provider that this version has no client for.
pub(crate) fn check_client_exists(provider: Provider) -> Result<(), Error> {
    match provider {
        Provider::Openai | Provider::Anthropic | Provider::Codex | Provider::Claude | Provider::Scripted => Ok(()),
        Provider::Devin | Provider::Opencode | Provider::Grok | Provider::Synthetic => {
            Err(Error::ProviderNotSupported { provider })
        }
    }
}

impl Routes {
    /// Builds every client.
    ///
    /// # Errors
    /// [`Error::Client`] or [`Error::ProviderUnavailable`] for the first route's.
    pub(crate) fn build(
        configuration: &Configuration,
        task: &TaskId,
        environment: &Environment<'_>,
        clock: &Arc<dyn Clock>,
        cancel: &Cancel,
    ) -> Result<Self, Error> {
        let mut routes = Self {
            ready: vec![ready(&configuration.primary, task, environment, clock, cancel)?],
            unavailable: Vec::new(),
        };
        for route in &configuration.fallbacks {
            match ready(route, task, environment, clock, cancel) {
                Ok(ready) => routes.ready.push(ready),
                Err(error) => routes.unavailable.push(Unavailable {
                    route: route.clone(),
                    reason: error.message(),
                }),
            }
        }
        Ok(routes)
    }
}

/// What evidence says of a route.
pub(crate) fn route_json(route: &Route) -> Value {
    json!({
        "provider": route.provider(),
        "model": route.model,
        "effort": route.effort,
    })
}

fn ready(
    route: &Route,
    task: &TaskId,
    environment: &Environment<'_>,
    clock: &Arc<dyn Clock>,
    cancel: &Cancel,
) -> Result<Ready, Error> {
    let provider = route.provider();
    let refused = |source| Error::Client { provider, source };
    let model = route.model.clone();
    let (client, account): (Box<dyn Client>, Option<String>) = match &route.generation {
        Generation::Scripted { script, script_digest } => {
            let script = Script::read(script, Some(script_digest)).map_err(refused)?;
            let account = login_fingerprint("scripted", script_digest.hex().to_string().as_str(), None);
            (Box::new(Scripted::new(script, model)), Some(account))
        }
        Generation::Openai {
            endpoint,
            api,
            credential_env,
        } => {
            let key = credential_env
                .as_deref()
                .map(|name| read_key(provider, name, environment))
                .transpose()?;
            let account = login_fingerprint("openai", endpoint, key.as_ref());
            let mut config = OpenAiConfig::new(Endpoint::parse(endpoint).map_err(refused)?, model);
            config.protocol = *api;
            config.effort = route.effort;
            config.key = key;
            let client = OpenAi::new(config, Arc::clone(clock)).map_err(refused)?;
            (Box::new(client), Some(account))
        }
        Generation::Anthropic {
            endpoint,
            credential_env,
        } => {
            let key = read_key(provider, credential_env, environment)?;
            let account = login_fingerprint("anthropic", endpoint, Some(&key));
            let config = AnthropicConfig {
                endpoint: Endpoint::parse(endpoint).map_err(refused)?,
                model,
                effort: route.effort,
                key,
                http: HttpSettings::default(),
            };
            let client = Anthropic::new(config, Arc::clone(clock)).map_err(refused)?;
            (Box::new(client), Some(account))
        }
        Generation::Codex => {
            let endpoint = provider.endpoint().unwrap_or_default();
            let login = codex_login_path(environment).ok_or_else(|| Error::ProviderUnavailable {
                provider,
                reason: "neither CODEX_HOME nor HOME is set, so there is no Codex login".to_owned(),
            })?;
            // The name under which the prompts of this task are in the provider's cache.
            let session = format!("repository-{task}-1");
            let mut config = CodexConfig::new(Endpoint::parse(endpoint).map_err(refused)?, model, login, session);
            config.effort = route.effort;
            let client = Codex::new(config, Arc::clone(clock)).map_err(refused)?;
            let account = client.account().to_owned();
            (Box::new(client), Some(account))
        }
        Generation::Claude => {
            let program = locate_claude(environment).map_err(refused)?;
            let directory = environment("TMPDIR").filter(|place| Path::new(place).is_absolute());
            let directory = directory.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
            let mut config = ClaudeConfig::new(program, model, directory, cancel.clone());
            config.effort = route.effort;
            let names = CLAUDE_PERSON.iter().chain(&CLAUDE_LOGIN).chain(&REMOTE);
            config.variables = names
                .filter_map(|name| Some((name.into(), environment(name)?)))
                .collect();
            // Whose login the program uses is its own affair, so a limit of it holds for all.
            (Box::new(Claude::new(config, Arc::clone(clock))), None)
        }
        Generation::Devin | Generation::Opencode | Generation::Grok | Generation::Synthetic => {
            return Err(Error::ProviderNotSupported { provider });
        }
    };
    Ok(Ready {
        lane: Lane {
            provider: provider.as_str().to_owned(),
            model: route.model.to_string(),
            account,
        },
        route: route.clone(),
        client,
    })
}

fn read_key(provider: Provider, name: &str, environment: &Environment<'_>) -> Result<Secret, Error> {
    let unavailable = |reason: String| Error::ProviderUnavailable { provider, reason };
    let value = environment(name).ok_or_else(|| {
        unavailable(format!(
            "the environment variable `{name}` that the grant names is not set"
        ))
    })?;
    match value.to_str() {
        Some(key) if !key.trim().is_empty() => Ok(Secret::new(key)),
        Some(_) => Err(unavailable(format!("the environment variable `{name}` is empty"))),
        None => Err(unavailable(format!("the environment variable `{name}` is not UTF-8"))),
    }
}
