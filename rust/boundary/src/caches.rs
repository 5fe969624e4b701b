//! The person's package caches as commands see them with their developer tools: below the private home, read from the real
//! ones, and written to a private layer over them that goes with the boundary. The real ones are never written. Where the
//! kernel stacks no filesystems, links take the place of what they can take the place of, and the rest begins empty; which
//! of the three it was is a value, for the record.

mod links;

use crate::assembly::Act;
use crate::fork::{self, Forked};
use crate::paths::Granted;
use crate::points::Places;
use crate::policy::{Cache, Mode};
use crate::scratch::Entry;
use crate::step::Step;
use crate::system::{self, Called};
use crate::{Error, Private, paths};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

/// Where the layers of a boundary in memory are while its root is assembled. Gone before a command sees it.
const LAYERS: &str = "/run/agent/layers";
/// The same while the kernel is asked: a directory that is always there.
const TRIAL: &std::ffi::CStr = c"/proc";

/// How commands reach one cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheMethod {
    /// A layer of their own over the real cache.
    Overlay,
    /// A cache of their own, made of links to what the real one holds.
    Linked,
    /// A cache of their own that begins empty.
    Private,
}

/// One cache and how commands reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownCache {
    /// The real directory.
    pub path: PathBuf,
    /// Where commands find it.
    pub place: PathBuf,
    /// How.
    pub method: CacheMethod,
}

/// Checked caches: none of them can be turned elsewhere by a command, and each has its method.
#[derive(Debug, Default)]
pub(crate) struct Caches {
    pub(crate) shown: Vec<ShownCache>,
    links: Vec<(PathBuf, PathBuf)>,
    layers: Vec<Layer>,
}

/// What one overlay is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Layer {
    lower: PathBuf,
    upper: PathBuf,
    work: PathBuf,
    at: PathBuf,
}

impl Caches {
    /// Chooses the methods, and makes the layers where they are directories of the scratch.
    pub(crate) fn prepare(
        wanted: &[Cache],
        grants: &[Granted],
        sealed: &[PathBuf],
        places: &Places,
        private: &Private,
    ) -> Result<Self, Error> {
        let mut caches = Self::default();
        let mut usable = Vec::new();
        for cache in wanted {
            if let Some(real) = readable(cache, grants, sealed)? {
                usable.push((cache, real));
            }
        }
        if usable.is_empty() {
            return Ok(caches);
        }
        let layers = private
            .scratch()
            .map_or_else(|| PathBuf::from(LAYERS), |scratch| scratch.path().join("layers"));
        let mut tried = Vec::new();
        for (number, (cache, real)) in usable.iter().enumerate() {
            let own = layers.join(number.to_string());
            let layer = Layer {
                lower: real.clone(),
                upper: own.join("upper"),
                work: own.join("work"),
                at: places.home.join(&cache.place),
            };
            if private.scratch().is_some() {
                for directory in [&layer.upper, &layer.work] {
                    fs::create_dir_all(directory).map_err(Error::file("create", directory))?;
                }
            }
            tried.push(layer);
        }
        let stacks = trial(&tried, private)?;
        for (((cache, real), layer), stacks) in usable.into_iter().zip(tried).zip(stacks) {
            let links = match stacks {
                true => None,
                false => links::of(&real, cache.linked_depth),
            };
            let method = match (stacks, &links) {
                (true, _) => CacheMethod::Overlay,
                (false, Some(_)) => CacheMethod::Linked,
                (false, None) => CacheMethod::Private,
            };
            caches.shown.push(ShownCache {
                path: real,
                place: layer.at.clone(),
                method,
            });
            caches.links.extend(
                links
                    .into_iter()
                    .flatten()
                    .map(|(below, target)| (layer.at.join(below), target)),
            );
            if stacks {
                caches.layers.push(layer);
            }
        }
        Ok(caches)
    }

    /// What has to be in the private home before anything is stacked: directories and links.
    pub(crate) fn entries(&self, private: &Private) -> BTreeMap<PathBuf, Entry> {
        let mut entries = BTreeMap::new();
        if self.shown.is_empty() {
            return entries;
        }
        if private.scratch().is_none() && !self.layers.is_empty() {
            entries.insert(PathBuf::from(LAYERS), Entry::Directory);
        }
        for cache in &self.shown {
            entries.insert(cache.place.clone(), Entry::Directory);
        }
        for (place, target) in &self.links {
            entries.insert(place.clone(), Entry::Link(target.clone()));
        }
        entries
    }

    /// The acts that stack the layers, once the real caches are shown and the home can be written.
    pub(crate) fn acts(&self, private: &Private, memory: Option<u64>) -> Result<Vec<Act>, Error> {
        let mut acts = Vec::new();
        let in_memory = private.scratch().is_none();
        if self.layers.is_empty() {
            return Ok(acts);
        }
        let mut push = |step, words: String| acts.push(Act { step, words });
        if in_memory {
            let size = memory.map_or_else(|| "mode=0700".to_owned(), |bytes| format!("mode=0700,size={bytes}"));
            let step = Step::Filesystem {
                kind: c"tmpfs",
                at: inside(Path::new(LAYERS))?,
                flags: libc::MS_NOSUID | libc::MS_NODEV,
                options: text(Path::new(&size))?,
            };
            push(step, "make room for the layers of caches".to_owned());
        }
        for layer in &self.layers {
            let words = format!("stack a layer over {}", layer.lower.display());
            let mut own = layer.clone();
            if in_memory {
                for directory in [layer.upper.parent().unwrap_or(&layer.upper), &layer.upper, &layer.work] {
                    let path = inside(directory)?;
                    push(Step::Directory { path }, words.clone());
                }
                own.upper = relative(&layer.upper);
                own.work = relative(&layer.work);
            }
            // As it is shown: what lies there was looked at when it was mounted, and no link leads to it.
            own.lower = relative(&layer.lower);
            let step = Step::Overlay {
                layers: own.parts()?,
                at: inside(&layer.at)?,
            };
            push(step, words);
        }
        if in_memory {
            let at = inside(Path::new(LAYERS))?;
            push(Step::Detach { at }, "put the layers of caches out of sight".to_owned());
        }
        Ok(acts)
    }
}

impl Layer {
    fn parts(&self) -> Result<system::Overlay, Error> {
        Ok(system::Overlay {
            lower: text(&self.lower)?,
            upper: text(&self.upper)?,
            work: text(&self.work)?,
        })
    }
}

/// The real directory, if commands can read it as a whole and cannot change what is found at its path.
fn readable(cache: &Cache, grants: &[Granted], sealed: &[PathBuf]) -> Result<Option<PathBuf>, Error> {
    let plain = cache
        .place
        .components()
        .all(|component| matches!(component, Component::Normal(_)));
    if !plain || cache.place.as_os_str().is_empty() {
        return Err(Error::CachePlace {
            path: cache.place.clone(),
        });
    }
    let real = paths::resolve("cache", &cache.path)?;
    let read = grants.iter().any(|granted| real.starts_with(&granted.path));
    let written = grants.iter().any(|granted| {
        granted.mode == Mode::Write && (real.starts_with(&granted.path) || granted.path.starts_with(&real))
    });
    // A layer shows what is beneath a cover.
    let covered = sealed.iter().any(|sealed| sealed.starts_with(&real));
    Ok((real.is_dir() && read && !written && !covered).then_some(real))
}

/// Whether each could be stacked, found by doing it where nobody sees it.
fn trial(layers: &[Layer], private: &Private) -> Result<Vec<bool>, Error> {
    let failed = |act| {
        move |errno| Error::File {
            act,
            path: "trial of the caches' layers".into(),
            source: std::io::Error::from_raw_os_error(errno),
        }
    };
    let maps = crate::boundary::id_maps(crate::layers::LayerSet::EMPTY.with(crate::Layer::UserNamespace));
    let in_memory = private.scratch().is_none();
    let mut prepared = Vec::new();
    for (layer, number) in layers.iter().zip(0..=u8::MAX) {
        let mut tried = layer.clone();
        if in_memory {
            tried.upper = PathBuf::from(format!("{number}u"));
            tried.work = PathBuf::from(format!("{number}w"));
        }
        // The kernel reads these as separators.
        let separators = |path: &Path| path.as_os_str().as_bytes().iter().any(|byte| b",:\\".contains(byte));
        if ![&tried.lower, &tried.upper, &tried.work]
            .into_iter()
            .any(|path| separators(path))
        {
            prepared.push((number, tried.parts()?));
        }
    }
    let (reading, writing) = fork::pipe().map_err(failed("make a pipe for the"))?;
    let child = match fork::fork().map_err(failed("make a process for the"))? {
        Forked::Child => {
            let ready = fork::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS)
                .and_then(|()| maps.iter().try_for_each(|act| act.step.perform()))
                .and_then(|()| Step::Private.perform())
                .and_then(|()| if in_memory { room_in_memory() } else { Ok(()) });
            if ready.is_ok() {
                for (number, parts) in &prepared {
                    let made = if in_memory { parts.make_directories() } else { Ok(()) };
                    if made.and_then(|()| system::new_overlay(parts).map(drop)).is_ok() {
                        fork::write_record(&writing, (*number, 0));
                    }
                }
            }
            fork::exit_now()
        }
        Forked::Parent(child) => child,
    };
    drop(writing);
    let mut stacks = vec![false; layers.len()];
    while let Ok(Some((number, _))) = fork::read_record(&reading) {
        if let Some(stacked) = stacks.get_mut(usize::from(number)) {
            *stacked = true;
        }
    }
    fork::wait_for(child);
    Ok(stacks)
}

fn room_in_memory() -> Called<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV;
    system::mount(Some(c"tmpfs"), TRIAL, Some(c"tmpfs"), flags, None)?;
    system::change_directory(TRIAL)
}

fn text(path: &Path) -> Result<CString, Error> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::Nul { value: path.into() })
}

/// A path of the new root while that is the current directory.
fn relative(path: &Path) -> PathBuf {
    path.strip_prefix("/").unwrap_or(path).to_owned()
}

fn inside(path: &Path) -> Result<CString, Error> {
    text(&relative(path))
}

#[cfg(test)]
#[path = "caches_tests.rs"]
mod tests;
