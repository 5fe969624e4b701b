//! How a boundary's files are laid out: in a root assembled from what was granted, or, where that is not to be had, in the
//! host's own root. Makes everything ready that the children need for it.

use crate::assembly::{self, Act, Ingredients};
use crate::caches::{Caches, ShownCache};
use crate::confinement::Files;
use crate::filter::Profile;
use crate::paths::Granted;
use crate::points::Places;
use crate::policy::{Network, Permission, Policy};
use crate::rights::Rights;
use crate::unrooted::{self, Open, Plain};
use crate::{Error, Layer, Private};
use std::path::PathBuf;

/// One layout.
#[derive(Debug)]
pub(crate) struct Laid {
    pub(crate) acts: Vec<Act>,
    pub(crate) files: Files,
    /// The trees of the host that commands see.
    pub(crate) visible: Vec<PathBuf>,
    /// What Git obeys and nothing holds in place.
    pub(crate) unheld: Vec<PathBuf>,
    pub(crate) places: Places,
    pub(crate) caches: Vec<ShownCache>,
    /// Landlock's.
    pub(crate) abi: u32,
}

/// What the filter is for, and whether what is asked of it can be allowed.
pub(crate) fn profile(policy: &Policy) -> Result<Profile, Error> {
    let needs = |asked, layer: Layer| match policy.ground.gives(layer) {
        true => Ok(()),
        false => Err(Error::NeedsLayer { asked, layer }),
    };
    if let Network::Allow(_) = policy.network {
        needs("a list of hosts", Layer::NetworkNamespace)?;
    }
    if policy.debugger == Permission::Allowed {
        needs("a debugger", Layer::ProcessNamespace)?;
    }
    if policy.nested_namespaces == Permission::Allowed {
        needs("nested user namespaces", Layer::UserNamespace)?;
        needs("nested user namespaces", Layer::AssembledRoot)?;
        if rustix::process::geteuid().is_root() {
            return Err(Error::NestedForRoot);
        }
    }
    Ok(Profile {
        debugger: policy.debugger,
        nested_namespaces: policy.nested_namespaces,
        ..policy.ground.profile(&policy.network)
    })
}

impl Laid {
    /// In a root of its own.
    pub(crate) fn assembled(
        policy: &Policy,
        private: &Private,
        grants: &[Granted],
        sealed: &[PathBuf],
        profile: Profile,
    ) -> Result<Self, Error> {
        let mut places = Places::beside(grants);
        if !policy.caches.is_empty() {
            places = places.with_whole_home(grants);
        }
        let caches = Caches::prepare(&policy.caches, grants, sealed, &places, private)?;
        let mut rights = Rights::new(policy.ground, profile)?;
        let ingredients = Ingredients {
            grants,
            sealed,
            places: &places,
            private,
            network: &policy.network,
            caches: &caches,
            nested: policy.nested_namespaces,
            memory: policy.resources.private_bytes(),
        };
        let assembly = assembly::assemble(ingredients, &mut rights)?;
        Ok(Self {
            acts: assembly.acts,
            abi: rights.abi(),
            files: Files::Assembled(rights),
            visible: assembly.visible,
            unheld: Vec::new(),
            places,
            caches: caches.shown,
        })
    }

    /// In the host's root. The private places cannot be memory there: they are the host's.
    pub(crate) fn in_the_hosts_root(
        policy: &Policy,
        private: &Private,
        grants: &[Granted],
        sealed: &[PathBuf],
        profile: Profile,
    ) -> Result<Self, Error> {
        let scratch = private.scratch().ok_or(Error::NeedsLayer {
            asked: "a private home in memory",
            layer: Layer::AssembledRoot,
        })?;
        let places = unrooted::places(scratch);
        if !policy.ground.gives(Layer::Landlock) {
            return Ok(Self {
                acts: Vec::new(),
                files: Files::Unheld,
                visible: vec![PathBuf::from("/")],
                unheld: unrooted::unheld(grants),
                places,
                caches: Vec::new(),
                abi: 0,
            });
        }
        let mut rights = Rights::new(policy.ground, profile)?;
        let plain = Plain {
            grants,
            sealed,
            places: &places,
            network: &policy.network,
        };
        let (ruleset, Open { visible, unheld }) = plain.ruleset(&mut rights)?;
        Ok(Self {
            acts: Vec::new(),
            abi: rights.abi(),
            files: Files::Host { ruleset, rights },
            visible,
            unheld,
            places,
            caches: Vec::new(),
        })
    }
}
